#include "runtime/placement/vertex_work.hpp"

#include <algorithm>
#include <unordered_set>

#include "ir/analysis.hpp"
#include "ir/group_function.hpp"
#include "ir/visit.hpp"
#include "planner/partitions.hpp"

namespace query::runtime {

namespace {

using detail::verb;
using planner::branch;
using planner::stage;
using planner::vertex;

constexpr double operations_of_a_call = 8;  // sqrt, exp, ...
constexpr double operations_of_a_fold = 2;
constexpr double operations_of_an_aggregate = 4;  // beside the first of a group, which the rate of groups has
constexpr double operations_of_a_look = 6;  // of the first rows of an order
// What the search on tensor cores takes for a row and an element, and for each coordinate of them, in operations of the plain kernels:
// from runs on an H200 (bench/results).
constexpr double operations_of_a_pair = 3.8, operations_of_a_coordinate = 0.042;
constexpr double least_searched = 512, least_elements = 16;  // smaller tables are looked through by plain kernels (operators/nearest.cpp)

// Operations of an expression; the bodies of nested computations count for each element that they look through.
class expression_cost {
 public:
  expression_cost(const row_counts& rows, const std::vector<planner::binding>& captures) : rows_(rows), captures_(captures) {}

  double of(const ir::node* n) {
    if (!n || !seen_.insert(n).second) return 0;
    double below = 0, repeated = 0;
    for (std::size_t i = 0; i < n->kids.size(); ++i) (i && n->what == ir::op::nested ? repeated : below) += of(n->kids[i]);
    if (n->what == ir::op::loop) std::swap(below, repeated);
    const double own = ir::costs_nothing(n->what) ? 0 : n->what == ir::op::call && !ir::narrowed_part(n) ? of_call(*n) : 1;
    if (n->what != ir::op::nested) return own + below + repeated * elements_looked_through;
    searches |= n->text == "arg_min" && n->kids[0]->what == ir::op::collection;
    return own + below + repeated * elements_of(*n);
  }

  bool searches = false;  // is there what may be a search for the nearest row?

 private:
  // Of arrays, one for each element.
  static double of_call(const ir::node& n) {
    const auto array = std::find_if(n.kids.begin(), n.kids.end(), [](const ir::node* k) { return k->type->k == ir::kind::array; });
    return array == n.kids.end() ? operations_of_a_call : 3.0 * static_cast<double>((*array)->type->count);
  }
  double elements_of(const ir::node& n) const {
    if (n.kids.empty() || n.kids[0]->what != ir::op::collection || n.text == "at" || n.text == "size") return elements_looked_through;
    return rows_.of_captured(n.kids[0]->bits, captures_).value_or(elements_looked_through);
  }

  const row_counts& rows_;
  const std::vector<planner::binding>& captures_;
  std::unordered_set<const ir::node*> seen_;
};

double bytes_of(const ir::type* t) { return t ? static_cast<double>(t->size) : 0; }

// Bytes of a row that crosses the bus; texts and lists are packed, and made anew, one by one.
constexpr double bytes_of_a_text = 300;
double bytes_moved(const ir::type* t) {
  if (!t) return 0;
  double n = bytes_of(t);
  if (t->k == ir::kind::string || t->k == ir::kind::list) n += bytes_of_a_text;
  if (t->k == ir::kind::optional) n += bytes_moved(t->element) - bytes_of(t->element);
  if (t->k == ir::kind::record)
    for (const auto& f : t->field_list) n += bytes_moved(f.of) - bytes_of(f.of);
  return n;
}

// Bytes that are read of a source's row.
template <class Bytes = double (*)(const ir::type*)>
double bytes_wanted(const ir::type* row, const std::vector<bool>& wanted, Bytes bytes = bytes_of) {
  if (row->k != ir::kind::record || wanted.size() != row->field_list.size()) return bytes(row);
  double n = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) n += bytes(row->field_list[i].of);
  return std::max(n, 1.0);
}

// Of columns. Of rows in one piece the CPU reads whatever lies between, and so does the host's side of the way to the device.
const std::vector<bool>& columns_wanted(const branch& b) {
  static const std::vector<bool> all;
  return b.source && b.source->what == verb::source_columns ? b.wanted : all;
}

const ir::type* source_row(const branch& b) { return b.table ? b.table->row() : b.source->row; }

// Is `b` the same rows in every round, as they lie?
bool stays(const branch& b) {
  if (!b.stages.empty() || !b.prefilters.empty()) return false;
  return b.table ? b.table->slots.empty() : b.source && b.source->view && b.source->what != verb::placeholder;
}

// Rounds may change what a captured collection holds: a table is not kept then.
bool reads_collections(const detail::logical& join) {
  return std::any_of(join.functions.begin(), join.functions.end(), [](const detail::user_function& f) {
    const ir::traced t = f.trace();
    bool reads = false;
    if (t) ir::each_node(t.root, [&](const ir::node* n) { reads = reads || n->what == ir::op::collection; });
    return reads;
  });
}

// One row out for each row in.
bool known_count(const branch& b) {
  return b.prefilters.empty() &&
         std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.native && s.native->keeps_position(); });
}

class counting {
 public:
  counting(const surroundings& s, const std::vector<planner::binding>& captures) : s_(s), rows_counts_(*s.rows), captures_(captures) {
    for (const planner::binding& c : captures) (void)rows_counts_.of(*c.table);
  }

  // `kept`: the breaker makes in the first round what it needs of these rows.
  bool take(const branch& b, const detail::logical* breaker, bool kept = false) {
    const auto n = rows_counts_.of_source(b);
    if (!n) return false;
    bring(b, *n);
    const ir::type* row = source_row(b);
    const double operations = operations_of(b, *n, breaker);
    part(kept).steps.push_back({operation::row_wise, *n, *n * bytes_wanted(row, columns_wanted(b)), operations});
    for (std::size_t i = 0; i < b.stages.size(); ++i) {
      const stage& s = b.stages[i];
      if (s.what != stage::kind::probe) continue;
      const auto probes = rows_counts_.behind(b, i);
      const auto built = s.build ? rows_counts_.of(*s.build) : std::nullopt;
      if (!probes || !built) return false;
      const double build_bytes = *built * bytes_of(s.build->row());
      bring(*s.build, build_bytes);
      add_join({operation::join, *probes, *probes * (bytes_of(s.in) + bytes_of(s.out))}, {operation::join, *built, build_bytes},
               s_.keeps_builds && s.build->slots.empty() && !reads_collections(*s.join));
    }
    rows_ = rows_counts_.behind(b).value_or(0);
    return true;
  }
  void bring_captures() {
    for (const planner::binding& c : captures_)
      if (const auto n = rows_counts_.of(*c.table)) bring(*c.table, *n * bytes_of(c.table->row()));
  }
  void add(step s) { total_.each.steps.push_back(s); }
  // `kept`: the build side counts in the first round alone.
  void add_join(step probe, const step& build, bool kept) {
    if (kept) {
      total_.once.steps.push_back(build);
    } else {
      probe.rows += build.rows;
      probe.bytes += build.bytes;
    }
    add(probe);
  }
  // Does a join that is a vertex keep what it makes of its right input?
  bool keeps_right(const vertex& v) const {
    const bool joins = v.node && (v.node->what == verb::join || v.node->what == verb::group_join) && v.inputs.size() == 2;
    return joins && s_.keeps_builds && stays(v.inputs[1]) && !reads_collections(*v.node);
  }
  // What aggregates do beside finding each row's group. Medians and the like have the values of a group sorted.
  void add_aggregates(const vertex& v, double rows) {
    if (v.node->functions.empty()) return;
    const ir::traced t = v.node->functions.back().trace();
    if (!t) return;
    const ir::group_analysis groups = ir::plan_group_function(t, v.node->what == verb::group_by ? v.node->key : nullptr, v.node->row);
    if (!groups.plan) return;  // rows of groups as they are
    double operations = 0;
    bool sorts = false;
    expression_cost cost(rows_counts_, captures_);
    for (const ir::aggregate_call& c : groups.plan->calls) {
      operations += cost.of(c.argument) + (&c == groups.plan->calls.data() ? 0 : operations_of_an_aggregate);
      sorts = sorts || !ir::fixed_state(c.what);
    }
    if (operations > 0) add({operation::row_wise, rows, 0, operations});
    if (sorts) add({operation::sort, rows, 0});
  }
  // A part of what was taken is wanted.
  void scale(double part) {
    // What lies on the device would be fetched as a whole.
    for (work* w : {&total_.each, &total_.once})
      for (double* x : {&w->up, &w->on_host, &w->for_device}) *x *= part;
    for (step& s : total_.each.steps)
      for (double* x : {&s.rows, &s.bytes}) *x *= part;
  }
  double rows() const { return rows_; }  // behind the input taken last
  work& total() { return total_.each; }
  round_work take_all() { return std::move(total_); }

 private:
  work& part(bool stays) { return stays ? total_.once : total_.each; }

  void bring(const vertex& table, double bytes) {
    branch b;
    b.table = const_cast<vertex*>(&table);
    work& w = part(s_.stays && s_.stays(b));
    (s_.on_device(table) ? w.on_device : w.up) += bytes;
  }
  void bring(const branch& b, double n) {
    const ir::type* row = source_row(b);
    const double wanted = bytes_wanted(row, columns_wanted(b), bytes_moved);
    if (!b.table && is_counted(*b.source)) return;  // made where they are read
    work& w = part(s_.stays && s_.stays(b));
    const bool there = b.table ? s_.on_device(*b.table) : b.source->what == verb::placeholder && s_.variable_on_device;
    if (there) {
      w.on_device += n * bytes_moved(row);
      return;
    }
    w.up += n * wanted;
    if (b.table && b.table->cut_off) w.for_device += n * bytes_of(row);
    w.on_host += n * (b.source && b.source->what == verb::source_columns ? wanted : bytes_of(row));
  }

  double operations_of(const detail::user_function& f, bool& searches) {
    for (const auto& c : f.captures)
      if (c->owner) rows_counts_.captured(c->slot, c->size);
    const ir::traced t = f.trace();
    if (!t) return operations_of_a_call;  // the user's device code: unknown
    expression_cost cost(rows_counts_, captures_);
    const double n = 1 + cost.of(t.root);
    searches |= cost.searches;
    return n;
  }
  double operations_of(const branch& b, double rows, const detail::logical* breaker) {
    double n = 0;
    bool searches = false;
    for (const planner::prefilter& p : b.prefilters) n += 1 + expression_cost(rows_counts_, captures_).of(p.expression.root);
    for (const stage& s : b.stages)
      for (const detail::logical* v : s.nodes)
        if (!v->functions.empty()) n += operations_of(v->functions.front(), searches);
    // Keys that are fields cost nothing, others are computed.
    const bool keyed = breaker && breaker->what == verb::group_by && !breaker->functions.empty();
    if (keyed) n += operations_of(breaker->functions.front(), searches) - 1;
    if (searches) n = std::max(0.0, n - search(b, rows, keyed ? breaker : nullptr));
    return n;
  }
  // Adds the search for nearest rows, where there is one: operations that are no longer row-wise.
  double search(const branch& b, double rows, const detail::logical* keyed) {
    const auto found = s_.there ? s_.there->search(b, keyed) : std::nullopt;
    if (!found) return 0;
    const double elements = rows_counts_.of_captured(found->slot, captures_).value_or(elements_looked_through), dims = found->dims;
    if (elements < least_elements || elements * dims < least_searched) return 0;
    expression_cost cost(rows_counts_, captures_);
    const double operations = operations_of_a_pair / dims + operations_of_a_coordinate;
    add({operation::nearest, rows * elements * dims, rows * (dims * 4 + 8), operations, 0, rows});
    return cost.of(found->arg_min);
  }

  const surroundings& s_;
  row_counts& rows_counts_;
  const std::vector<planner::binding>& captures_;
  round_work total_;
  double rows_ = 0;
};

}  // namespace

std::optional<round_work> work_among(const vertex& v, const surroundings& s) {
  if (v.folds) {
    auto w = fold_among(v.inputs.front(), v.captures, *v.folds == detail::fold_kind::count, s);
    return w ? std::optional(round_work{std::move(*w), {}}) : std::nullopt;
  }
  counting c(s, v.captures);
  const bool keeps_right = c.keeps_right(v);
  double rows = 0;
  for (const branch& b : v.inputs) {
    const bool kept = keeps_right && &b == &v.inputs[1];
    if (!c.take(b, v.node, kept)) return std::nullopt;
    rows += c.rows();
  }
  c.bring_captures();
  const auto result = s.rows->of(v);
  if (v.inputs.empty() || !result) return std::nullopt;
  double in = v.inputs.front().row ? rows * bytes_of(v.inputs.front().row) : 0;
  const double out = *result * bytes_of(v.row());
  operation what = operation::collect;
  if (v.node) switch (v.node->what) {
      case verb::aggregate:
      case verb::group_by:
        what = *result <= few_groups ? operation::group_few : operation::group;
        c.add_aggregates(v, rows);
        break;
      case verb::order_by:
        what = operation::sort;
        break;
      case verb::join:
      case verb::group_join:
        what = operation::join;
        break;
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except:
        what = operation::distinct;
        break;
      // By hash each row finds its place, as a join's probe does; runs are rows as they lie.
      case verb::partition:
        if (const auto way = static_cast<planner::partition_way>(v.node->step); way != planner::partition_way::runs)
          what = way == planner::partition_way::range ? operation::sort : operation::join;
        break;
      case verb::cross_join:
        rows = *result;
        break;
      // The first rows of those that all go through; of filtered ones nobody knows how many must be looked at.
      case verb::take:
      case verb::take_last:
        if (known_count(v.inputs.front())) c.scale(std::min(1.0, *result / std::max(rows, 1.0)));
        rows = *result;
        in = out;
        break;
      // What the function does nobody knows: on the CPU one thread reads and writes its rows.
      case verb::apply:
        c.total().one_thread = in + out;
        break;
      default:  // rows that are moved as they are
        break;
    }
  // The first few of many rows: the CPU looks at each once. So does a GPU, which reads them anyway.
  if (what == operation::sort && *result < rows / 16) {
    c.add({operation::row_wise, rows, 0, operations_of_a_look, 0, 0, true});
    rows = *result;
  }
  if (keeps_right) {
    const double built = c.rows(), built_bytes = built * bytes_of(v.inputs.front().row);
    c.add_join({what, rows - built, in - built_bytes + out, 0, out}, {what, built, built_bytes}, true);
  } else {
    c.add({what, rows, in + out, 0, out});
  }
  c.total().down = out;
  return c.take_all();
}

std::optional<work> work_of(const vertex& v, const engine* by) {
  // What is cached is for queries to come.
  if (!v.slots.empty() || (v.node && v.node->what == verb::cached)) return std::nullopt;
  row_counts rows;
  const auto there = [by](const vertex& w) { return by && w.engine == by->name(); };
  auto w = work_among(v, {by ? by->costs() : nullptr, &rows, there, {}, false, false});
  // Its rows are for an apply: whether they must come to the host for it is known when that has been placed (together.cpp).
  if (w && v.node && v.node->what == verb::partition) w->each.down = 0;
  // Without the cut the CPU would hand its rows on without a table.
  if (w && v.cut_off) {
    w->each.for_device += w->each.down;
    for (step& x : w->each.steps) x.result = 0;
  }
  return w ? std::optional(std::move(w->each)) : std::nullopt;
}

double operations_in(const vertex& v, const cost_model* there) {
  row_counts rows;
  const auto w = work_among(v, {there, &rows, [](const vertex&) { return false; }, {}, false, false});
  double n = 0;
  for (const step& x : w ? w->each.steps : std::vector<step>())
    if (x.what == operation::row_wise) n += x.rows * x.operations;
    else if (x.what == operation::nearest) n += x.rows * 3;
  return n;
}

std::optional<work> fold_among(const branch& b, const std::vector<planner::binding>& captures, bool counts, const surroundings& s) {
  counting c(s, captures);
  if (!c.take(b, nullptr)) return std::nullopt;
  c.bring_captures();
  for (step& x : c.total().steps)
    if (x.what == operation::row_wise) x.operations += counts ? 1 : operations_of_a_fold;
  c.add({operation::collect, 1, 0, 0});  // one row: the state
  return c.total();
}

}  // namespace query::runtime
