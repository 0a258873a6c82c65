#include "runtime/terminal_plan.hpp"

#include <algorithm>
#include <string>

#include <query/detail/failure.hpp>

namespace query::runtime {

using detail::fold_kind;
using planner::reading;

namespace {

enum class ending : std::uint8_t {
  rows,       // all of them, in order
  on_demand,  // as far as the reader goes
  whole,      // side by side
  columns,
  first, last, two,
  fold,
  value,      // the one row of an aggregate
};
struct terminal_verb {
  std::string_view name;
  ending how;
  const char* argument = nullptr;  // what it cannot do without
  fold_kind fold = fold_kind::count;
};

constexpr const char* function = "its function: explain(\"min_by\", f)";
constexpr const char* number = "the row's number: explain(\"element_at\", 5)";
constexpr const char* group_function =
    "its aggregates: explain(\"aggregate\", sum(f), count()) of functions in query::aggregates; a function of the group has a verb of its "
    "own: "
    "aggregate(f).explain()";
constexpr terminal_verb verbs[] = {
    {"to_vector", ending::rows}, {"to_columns", ending::columns}, {"to_vectors", ending::rows},
    {"to_map", ending::rows}, {"to_lookup", ending::rows, function}, {"to_set", ending::rows},
    {"for_each", ending::rows}, {"begin", ending::on_demand}, {"table", ending::rows}, {"print", ending::rows}, {"write_csv", ending::rows},
    {"write_binary", ending::rows}, {"write_json_lines", ending::rows},
    {"describe", ending::whole}, {"sequence_equal", ending::on_demand},
    {"first", ending::first}, {"first_or_none", ending::first}, {"first_or_default", ending::first}, {"any", ending::first},
    {"all", ending::first, function}, {"contains", ending::first, "the value: explain(\"contains\", value)"},
    {"last", ending::last}, {"last_or_none", ending::last}, {"last_or_default", ending::last},
    {"single", ending::two}, {"single_or_default", ending::two},
    {"element_at", ending::first, number}, {"element_at_or_default", ending::first, number},
    {"count", ending::fold}, {"sum", ending::fold, nullptr, fold_kind::sum}, {"average", ending::fold, nullptr, fold_kind::average},
    {"mean", ending::fold, nullptr, fold_kind::average}, {"min", ending::fold, nullptr, fold_kind::min},
    {"max", ending::fold, nullptr, fold_kind::max},
    {"min_by", ending::value, function}, {"max_by", ending::value, function},
    {"approx_count_distinct", ending::value, function}, {"approx_quantile", ending::value, function},
    {"top_k_frequent", ending::value, function},
    {"reduce", ending::value, group_function}, {"aggregate", ending::value, group_function},
};

const terminal_verb* find(std::string_view name) {
  const auto* v = std::find_if(std::begin(verbs), std::end(verbs), [&](const terminal_verb& t) { return t.name == name; });
  return v == std::end(verbs) ? nullptr : v;
}
[[noreturn]] void unknown(std::string_view name, detail::call_site at) {
  std::string known;
  for (const terminal_verb& v : verbs) known += (known.empty() ? "" : ", ") + std::string(v.name);
  detail::fail("explain", "there is no terminal verb '" + std::string(name) + "'; there are " + known, at);
}

bool may_be_added(detail::verb v) {
  switch (v) {
    case detail::verb::where:
    case detail::verb::select:
    case detail::verb::take:
    case detail::verb::take_last:
    case detail::verb::skip:
    case detail::verb::aggregate: return true;
    default: return false;
  }
}

// What first() and the like take of the rows, as their own code writes it (verbs/terminals.hpp).
detail::pipe taken(const detail::pipe& rows, detail::verb what, const char* verb, std::uint64_t n, std::string_view terminal,
                   detail::call_site at) {
  auto node = std::make_shared<detail::logical>();
  node->what = what;
  node->label = terminal;
  node->part = std::string(verb) + "(" + std::to_string(n) + ")";
  node->inputs.push_back(rows);
  node->row = rows.node->row;
  node->where = at;
  node->count = n;
  node->accelerated = rows.node->accelerated;
  node->gpu_required = rows.node->gpu_required;
  return {std::move(node), nullptr};
}

}  // namespace

terminal_plan terminal_plan_of(const detail::pipe& rows, std::string_view terminal, detail::call_site at) {
  if (terminal.empty()) return {rows};
  const terminal_verb* v = find(terminal);
  if (!v) unknown(terminal, at);
  if (v->argument && rows.node->label != terminal) detail::fail("explain", std::string(terminal) + " needs " + v->argument, at);
  switch (v->how) {
    case ending::rows: return {rows};
    case ending::on_demand: return {rows, reading::on_demand};
    case ending::whole: return {rows, reading::whole};
    case ending::columns: return {rows, reading::columns};
    case ending::first: return {taken(rows, detail::verb::take, "take", 1, terminal, at), reading::on_demand};
    case ending::last: return {taken(rows, detail::verb::take_last, "take_last", 1, terminal, at)};
    case ending::two: return {taken(rows, detail::verb::take, "take", 2, terminal, at)};
    case ending::value: return {rows, reading::whole};
    case ending::fold: break;
  }
  // min of texts, for one, is an aggregate (verbs/explained.hpp).
  if (rows.node->what == detail::verb::aggregate && rows.node->label == terminal) return {rows, reading::whole};
  if (v->fold != fold_kind::count && !ir::is_arithmetic(rows.node->row->k))
    detail::fail("explain", std::string(terminal) + " needs numbers; say which: explain(\"" + std::string(terminal) + "\", f)", at);
  return {v->fold == fold_kind::count ? rows_to_count(rows) : rows, reading::folded, v->fold};
}

detail::pipe rows_to_count(const detail::pipe& rows) {
  const detail::logical& n = *rows.node;
  if (rows.native || n.what != detail::verb::window || !n.all || n.step != 1) return rows;
  auto skip = std::make_shared<detail::logical>(n);
  skip->what = detail::verb::skip;
  skip->count = n.count - 1;
  skip->part = "skip(" + std::to_string(skip->count) + ")";
  skip->row = n.inputs.front().node->row;
  skip->functions.clear();
  skip->rows_call = nullptr;
  skip->all = false;
  return {std::move(skip), nullptr};
}

user_query user_query_of(const detail::logical& last) {
  user_query q{&last, {}};
  while (may_be_added(q.last->what) && find(q.last->label)) {
    if (!q.added.ends_with(q.last->label)) q.added += " " + q.last->label;
    q.last = q.last->inputs.front().node.get();
  }
  return q;
}

void refuse_argument(std::string_view terminal, detail::call_site at) {
  const terminal_verb* v = find(terminal);
  if (!v) unknown(terminal, at);
  const std::string fix = v->argument ? std::string("it needs ") + v->argument : "write explain(\"" + std::string(terminal) + "\")";
  detail::fail("explain", std::string(terminal) + " does not take this argument; " + fix, at);
}

}  // namespace query::runtime
