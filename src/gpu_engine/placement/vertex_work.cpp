#include "gpu_engine/placement/vertex_work.hpp"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "gpu_engine/codegen/row_function.hpp"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

namespace {

using detail::verb;
using planner::branch;
using planner::stage;
using planner::vertex;
using rows_by_vertex = std::unordered_map<const vertex*, std::optional<double>>;

constexpr double operations_of_a_call = 8;  // sqrt, exp, ...
constexpr double operations_of_a_fold = 2;
constexpr double operations_of_a_look = 6, sorted_bytes = 256;  // of the first rows of an order

// Operations of an expression; the bodies of nested computations count for each element that they look through.
double operations_of(const ir::node* n, std::unordered_set<const ir::node*>& seen) {
  if (!n || !seen.insert(n).second) return 0;
  double below = 0, repeated = 0;
  for (std::size_t i = 0; i < n->kids.size(); ++i) (i && n->what == ir::op::nested ? repeated : below) += operations_of(n->kids[i], seen);
  if (n->what == ir::op::loop) std::swap(below, repeated);
  double own = 1;
  switch (n->what) {
    case ir::op::literal:
    case ir::op::null:
    case ir::op::row:
    case ir::op::field:
    case ir::op::variable:
    case ir::op::key:
    case ir::op::make:
    case ir::op::member:
      own = 0;
      break;
    case ir::op::call:
      own = operations_of_a_call;
      break;
    default:
      break;
  }
  return own + below + repeated * elements_looked_through;
}
double operations_of(const detail::user_function& f) {
  const ir::traced t = f.trace();
  std::unordered_set<const ir::node*> seen;
  return t ? 1 + operations_of(t.root, seen) : operations_of_a_call;  // the user's device code: unknown
}
double operations_of(const branch& b) {
  double n = 0;
  for (const planner::prefilter& p : b.prefilters) {
    std::unordered_set<const ir::node*> seen;
    n += 1 + operations_of(p.expression.root, seen);
  }
  for (const stage& s : b.stages)
    for (const detail::logical* v : s.nodes)
      if (!v->functions.empty()) n += operations_of(v->functions.front());
  return n;
}

// That select_many makes of a row.
double elements_of(const detail::logical& n) {
  const ir::traced t = n.functions.front().trace();
  return t && t.root->type->k == ir::kind::array ? static_cast<double>(t.root->type->count) : elements_looked_through;
}

bool semi(const detail::logical& n) { return n.join == detail::join_kind::semi || n.join == detail::join_kind::anti; }

std::optional<double> rows_of(const vertex& v, rows_by_vertex& known);

std::optional<double> source_rows(const branch& b, rows_by_vertex& known) {
  if (b.table) return rows_of(*b.table, known);
  if (!b.source || !b.source->view) return std::nullopt;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return static_cast<double>(rows.n);
}

// Behind the stages up to `end`.
std::optional<double> rows_behind(const branch& b, std::size_t end, rows_by_vertex& known) {
  std::optional<double> n = source_rows(b, known);
  if (!n) return n;
  if (!b.prefilters.empty()) *n *= rows_that_pass;
  for (std::size_t i = 0; i < end; ++i) {
    const stage& s = b.stages[i];
    if (s.join) {
      if (semi(*s.join)) *n *= rows_that_pass;
      continue;
    }
    // What a predicate pushed down has tested, its where does not drop again.
    for (const detail::logical* w : s.nodes)
      if (w->what == verb::select_many) *n *= elements_of(*w);
      else if (w->what == verb::where && std::none_of(b.prefilters.begin(), b.prefilters.end(), [&](const auto& p) { return p.from == w; }))
        *n *= rows_that_pass;
  }
  return n;
}
std::optional<double> rows_behind(const branch& b, rows_by_vertex& known) { return rows_behind(b, b.stages.size(), known); }

std::optional<double> rows_of(const vertex& v, rows_by_vertex& known) {
  const auto [at, fresh] = known.try_emplace(&v, std::nullopt);
  if (!fresh) return at->second;
  double all = 0, product = 1;
  for (const branch& b : v.inputs) {
    const auto n = rows_behind(b, known);
    if (!n) return std::nullopt;
    all += *n;
    product *= *n;
  }
  if (v.node) switch (v.node->what) {
      case verb::aggregate:
        all = 1;
        break;
      case verb::group_by:
        all = std::max(1.0, all / rows_a_group);
        break;
      case verb::cross_join:
        all = product;
        break;
      case verb::group_join:
        all = rows_behind(v.inputs.front(), known).value_or(0);
        break;
      case verb::take:
      case verb::take_last:
        all = std::min(all, static_cast<double>(v.node->count));
        break;
      case verb::distinct:
      case verb::union_with:
      case verb::intersect:
      case verb::except:
        all = std::max(1.0, all * rows_that_pass);
        break;
      default:
        break;
    }
  if (v.limit != ~0ull) all = std::min(all, static_cast<double>(v.limit));
  return known[&v] = all;
}

double bytes_of(const ir::type* t) { return t ? static_cast<double>(t->size) : 0; }

// Bytes that are read of a source's row.
double bytes_wanted(const ir::type* row, const std::vector<bool>& wanted) {
  if (row->k != ir::kind::record || wanted.size() != row->field_list.size()) return bytes_of(row);
  double n = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i)
    if (wanted[i]) n += bytes_of(row->field_list[i].of);
  return std::max(n, 1.0);
}

// One row out for each row in.
bool known_count(const branch& b) {
  return b.prefilters.empty() &&
         std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.native && s.native->keeps_position(); });
}

bool on_device(const vertex& v) { return v.engine == "gpu"; }

class counting {
 public:
  explicit counting(rows_by_vertex& known) : known_(known) {}

  bool take(const branch& b) {
    const auto n = source_rows(b, known_);
    if (!n) return false;
    const ir::type* row = b.table ? b.table->row() : b.source->row;
    const double wanted = bytes_wanted(row, b.wanted);
    if (b.table && on_device(*b.table)) {
      total_.on_device += *n * bytes_of(row);
    } else {
      total_.up += *n * wanted;
      total_.gathered += *n * (b.source && b.source->what == verb::source_columns ? wanted : bytes_of(row));
    }
    add({operation::row_wise, *n, *n * wanted, operations_of(b)});
    for (std::size_t i = 0; i < b.stages.size(); ++i) {
      const stage& s = b.stages[i];
      if (s.what != stage::kind::probe) continue;
      const auto probes = rows_behind(b, i, known_);
      const auto built = s.build ? rows_of(*s.build, known_) : std::nullopt;
      if (!probes || !built) return false;
      const double build_bytes = *built * bytes_of(s.build->row());
      if (on_device(*s.build)) total_.on_device += build_bytes;
      else total_.up += build_bytes;
      add({operation::join, *probes + *built, *probes * (bytes_of(s.in) + bytes_of(s.out)) + build_bytes, 0});
    }
    rows_ = rows_behind(b, known_).value_or(0);
    return true;
  }
  void add(step s) { total_.steps.push_back(s); }
  // A part of what was taken is wanted.
  void scale(double part) {
    for (double* x : {&total_.up, &total_.gathered}) *x *= part;  // what lies on the device would be fetched as a whole
    for (step& s : total_.steps)
      for (double* x : {&s.rows, &s.bytes}) *x *= part;
  }
  double rows() const { return rows_; }  // behind the input taken last
  work& total() { return total_; }

 private:
  rows_by_vertex& known_;
  work total_;
  double rows_ = 0;
};

}  // namespace

std::optional<work> work_of(const vertex& v) {
  if (!v.slots.empty()) return std::nullopt;
  rows_by_vertex known;
  counting c(known);
  double rows = 0;
  for (const branch& b : v.inputs) {
    if (!c.take(b)) return std::nullopt;
    rows += c.rows();
  }
  const auto result = rows_of(v, known);
  if (v.inputs.empty() || !result) return std::nullopt;
  double in = v.inputs.front().row ? rows * bytes_of(v.inputs.front().row) : 0;
  const double out = *result * bytes_of(v.row());
  operation what = operation::collect;
  if (v.node) switch (v.node->what) {
      case verb::aggregate:
      case verb::group_by:
        what = operation::group;
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
      default:
        return std::nullopt;  // cached(), apply: the user's own choice
    }
  // The first few of many rows: the CPU looks at each once, the GPU sorts them all.
  if (what == operation::sort && *result < rows / 16) {
    c.add({operation::row_wise, rows, sorted_bytes * rows, operations_of_a_look});
    rows = *result;
  }
  c.add({what, rows, in + out, 0});
  c.total().down = out;
  return c.total();
}

std::optional<work> work_of_fold(const branch& b, bool counts) {
  rows_by_vertex known;
  counting c(known);
  if (!c.take(b)) return std::nullopt;
  for (step& s : c.total().steps)
    if (s.what == operation::row_wise) s.operations += counts ? 1 : operations_of_a_fold;
  c.add({operation::collect, 1, 0, 0});  // one row: the state
  return c.total();
}

}  // namespace query::gpu_engine
