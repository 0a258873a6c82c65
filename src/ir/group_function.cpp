#include <ir/group_function.hpp>

#include <cstring>
#include <iterator>
#include <mutex>
#include <utility>

#include <query/detail/group_trace.hpp>

#include <ir/analysis.hpp>
#include <ir/visit.hpp>

namespace query::ir {

std::string_view name_of(aggregate_kind k) {
  constexpr std::string_view names[] = {"count",          "count_if", "sum",     "mean",     "min",  "max", "arg_min",
                                        "arg_max",        "variance", "stddev",  "first",    "last", "any", "all",
                                        "count_distinct", "quantile", "collect", "aggregate"};
  static_assert(std::size(names) == static_cast<std::size_t>(aggregate_kind::custom) + 1);
  return names[static_cast<std::size_t>(k)];
}

bool fixed_state(aggregate_kind k) {
  return k != aggregate_kind::count_distinct && k != aggregate_kind::quantile && k != aggregate_kind::collect;
}

bool needs_order(aggregate_kind k) {
  switch (k) {
    case aggregate_kind::arg_min:
    case aggregate_kind::arg_max:
    case aggregate_kind::first:
    case aggregate_kind::last:
    case aggregate_kind::collect:
    case aggregate_kind::custom: return true;
    default: return false;
  }
}

kind kind_of_sum(kind of) {
  if (is_floating(of)) return kind::f64;
  return is_integer(of) && !is_signed_integer(of) ? kind::u64 : kind::i64;
}
kind kind_of_mean_sum(kind of) { return of == kind::i64 || of == kind::u64 ? kind::f64 : kind_of_sum(of); }

namespace {

// std::int64_t has two names in C++, with a description each.
bool same(const type* a, const type* b) {
  return a == b || (a && b && is_arithmetic(a->k) && a->k == b->k && a->is_enum == b->is_enum && a->counts == b->counts);
}

// Is `result` what `plain` describes, or an optional of it where values may be missing?
template <class Test> bool is_perhaps(const type* result, bool nullable, Test plain) {
  if (!nullable) return plain(result);
  return result->k == kind::optional && plain(result->element);
}

bool is_array_of_numbers(const type* t) { return t->k == kind::array && is_arithmetic(t->element->k); }

// Does the compiled aggregate, whose result has the type of the node, work on the type that the trace found?
bool fits(const aggregate_call& c) {
  const type *result = c.source->type, *value = c.value;
  const auto of_kind = [](kind k) { return [k](const type* t) { return t->k == k; }; };
  switch (c.what) {
    case aggregate_kind::count: return result->k == kind::i64;
    case aggregate_kind::count_if: return result->k == kind::i64 && (c.nullable || is_arithmetic(value->k));
    case aggregate_kind::count_distinct: return result->k == kind::i64;
    case aggregate_kind::any:
    case aggregate_kind::all: return result->k == kind::boolean && !c.nullable && is_arithmetic(value->k);
    case aggregate_kind::sum:
      if (is_arithmetic(value->k)) return result->k == kind_of_sum(value->k);
      return is_array_of_numbers(value) && result->k == kind::array && result->count == value->count &&
             result->element->k == kind_of_sum(value->element->k);
    case aggregate_kind::mean:
      if (is_arithmetic(value->k)) return is_perhaps(result, c.nullable, of_kind(kind::f64));
      return is_array_of_numbers(value) && is_perhaps(result, c.nullable, [&](const type* t) {
               return t->k == kind::array && t->count == value->count &&
                      t->element->k == (value->element->k == kind::f32 ? kind::f32 : kind::f64);
             });
    case aggregate_kind::min:
    case aggregate_kind::max: return is_perhaps(result, c.nullable, [&](const type* t) { return same(t, value); });
    case aggregate_kind::arg_min:
    case aggregate_kind::arg_max: return !c.nullable || result->k == kind::optional;
    case aggregate_kind::variance:
    case aggregate_kind::stddev: return is_arithmetic(value->k) && result->k == kind::optional && result->element->k == kind::f64;
    case aggregate_kind::quantile: return is_arithmetic(value->k) && is_perhaps(result, c.nullable, of_kind(kind::f64));
    case aggregate_kind::first:
    case aggregate_kind::last: return same(result, c.argument->type);
    case aggregate_kind::collect: return result->k == kind::list && same(result->element, c.argument->type);
    case aggregate_kind::custom:
      return same(c.update->type, c.seed->type) && same(c.combine->type, c.seed->type) && same(c.finish->type, result);
  }
  return false;
}

// What there is no way to do without the compiled function; empty where there is one.
std::string beyond_expressions(const aggregate_call& c) {
  const auto copies = [](const type* t) { return t->trivial || (t->life.copy && t->life.copy_assign); };
  const type* result = c.source->type;
  switch (c.what) {
    case aggregate_kind::min:
    case aggregate_kind::max:
    case aggregate_kind::arg_min:
    case aggregate_kind::arg_max:
      if (!is_arithmetic(c.value->k) && c.value->k != kind::string)
        return "values of " + std::string(c.value->name) + " have an operator < of their own";
      break;
    default: break;
  }
  if (!copies(result) || (c.argument && !copies(c.argument->type))) return "its values cannot be copied";
  if (result->k == kind::optional && !result->get.emplace) return "its values have no default";
  if (c.what == aggregate_kind::collect && (!result->get.resize || !copies(result->element))) return "its values have no default";
  return {};
}

std::optional<aggregate_kind> kind_of(const node* n) {
  if (n->text == "median") return aggregate_kind::quantile;
  for (std::size_t k = 0; k <= static_cast<std::size_t>(aggregate_kind::custom); ++k)
    if (n->text == name_of(static_cast<aggregate_kind>(k))) return static_cast<aggregate_kind>(k);
  return std::nullopt;
}

// Aggregates whose states have no form as expressions (include/query/sketches.hpp).
bool is_sketch(std::string_view name) { return name == "approx_count_distinct" || name == "approx_quantile" || name == "top_k_frequent"; }

// Fills the call; gives the reason where it cannot.
std::string read_call(arena& a, const node* n, aggregate_call& c) {
  const auto what = kind_of(n);
  if (is_sketch(n->text)) return n->text + ": only compiled code keeps sketches";
  if (!what) return "an unknown aggregate: " + n->text;
  c.what = *what;
  c.source = n;
  if (c.what == aggregate_kind::custom) {
    if (n->kids.size() != 4) return "a user-defined aggregate without its parts";
    // Nodes are added to the trace, which shares of a vertex plan from at once.
    static std::mutex adding;
    const std::lock_guard hold(adding);
    // States are traced as rows n->id and n->id + 1, so that they are told from the row and from elements of lists.
    c.seed = n->kids[0];
    c.update = renumber_row(a, n->kids[1], n->id, 1);
    c.combine = renumber_row(a, renumber_row(a, n->kids[2], n->id, 0), n->id + 1, 1);
    c.finish = renumber_row(a, n->kids[3], n->id, 0);
  } else if (c.what != aggregate_kind::count) {
    if (n->kids.empty()) return n->text + " without an expression";
    c.argument = n->kids[0];
    c.nullable = c.argument->type->k == kind::optional;
    c.value = c.nullable ? c.argument->type->element : c.argument->type;
    if (n->kids.size() > 1 && n->kids[1]->what == op::literal && n->kids[1]->type->k == kind::f64)
      std::memcpy(&c.rank, &n->kids[1]->bits, sizeof c.rank);
  }
  if (fits(c)) {
    const std::string why = beyond_expressions(c);
    return why.empty() ? why : n->text + ": " + why;
  }
  std::string why = n->text + ": its expression, traced, is of another type than in C++";
  if (c.argument) why += " (" + std::string(c.argument->type->name) + ")";
  return why;
}

}  // namespace

group_analysis plan_group_function(const traced& function, const type* key, const type* result) {
  group_analysis out;
  const auto none = [&](std::string why) {
    out.reason = std::move(why);
    return out;
  };
  if (!function) return none(function.reason);
  if (!same(function.root->type, result))
    return none("its results differ in type: natively " + std::string(result->name) + ", traced " + std::string(function.root->type->name));

  group_plan p;
  p.owner = function.owner;
  p.finish = function.root;
  // What lies below an aggregate belongs to its rows, not to the finishing expression.
  std::vector<const node*> found;
  each_node(p.finish, [&](const node* n) {
    if (n->what == op::key) p.key = n;
    if (n->what == op::aggregate) found.push_back(n);
  });
  if (p.key && key && !same(p.key->type, key)) return none("its key, traced, is of another type than in C++");
  for (const node* n : found) {
    aggregate_call c;
    if (std::string why = read_call(*p.owner, n, c); !why.empty()) return none(std::move(why));
    p.calls.push_back(c);
  }
  out.plan = std::move(p);
  return out;
}

}  // namespace query::ir

namespace query::agg {

const ir::node* aggregate_node(const ir::type* t, const char* name, const ir::node* of, std::span<const ir::node* const> more) {
  ir::node n;
  n.what = ir::op::aggregate;
  n.type = t;
  if (of) n.kids.push_back(of);
  n.kids.insert(n.kids.end(), more.begin(), more.end());
  n.text = name;
  return ir::current_arena().put(std::move(n));
}

}  // namespace query::agg
