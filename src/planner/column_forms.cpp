#include "planner/column_forms.hpp"

#include <algorithm>

#include "planner/rules/edges.hpp"

namespace query::planner {

using detail::join_kind;
using detail::verb;

column_schema source_schema(const branch& b) {
  if (b.source && b.source->what == verb::source_columns) return column_schema::of_fields(b.source->row, b.wanted);
  return column_schema::of_rows(b.table ? b.table->row() : b.source->row);
}

// The rows of a columnar source as they are: a stage without a verb.
static bool makes_records(const stage& s) { return s.what == stage::kind::rowwise && s.nodes.empty(); }

bool is_bare_source(const vertex& v) {
  return !v.node && v.inputs.size() == 1 && v.limit == ~0ull && v.engine == "cpu" && v.inputs.front().source &&
         v.inputs.front().source->view && v.inputs.front().prefilters.empty() &&
         std::all_of(v.inputs.front().stages.begin(), v.inputs.front().stages.end(), makes_records);
}

namespace {

bool is_columnar(const branch& b) { return b.source && b.source->what == verb::source_columns; }

bool can_be_stored(const ir::type* t) { return t->trivial || (t->life.copy_assign && t->life.construct); }

// What running the first stages of a branch over columns would be.
class walk {
 public:
  explicit walk(const branch& b) : branch_(&b), now_(source_schema(b)), costly_(is_columnar(b) || !row_of(b)->trivial) {}

  // The number of stages, from the first on, that can.
  std::size_t stages() {
    for (const prefilter& f : branch_->prefilters)
      if (f.expression ? !readable(f.expression.root, now_) : !evaluate(*f.function, now_)) return 0;
    const ir::type* row = row_of(*branch_);
    std::size_t n = 0;
    for (const stage& s : branch_->stages) {
      if (!can_be_stored(row) || !(s.what == stage::kind::probe ? probe(s) : rowwise(s, row))) break;
      row = s.out;
      ++n;
    }
    return n;
  }
  bool pays() const { return pays_; }  // of those stages

 private:
  static const ir::type* row_of(const branch& b) { return b.table ? b.table->row() : b.source->row; }

  bool rowwise(const stage& s, const ir::type* row) {
    if (makes_records(s)) return true;
    column_schema next = now_;
    for (const logical* n : s.nodes) {
      const detail::user_function& f = n->functions.front();
      if (f.row != row) return false;
      if (n->what == verb::where && f.native.filter) {
        if (!evaluate(f, next)) return false;
      } else if (n->what == verb::select && f.native.map) {
        const auto p = project(f, next);
        if (!p || !can_be_stored(n->row)) return false;
        next = p->schema();
      } else {
        return false;
      }
      row = n->row;
    }
    now_ = std::move(next);
    return true;
  }

  bool probe(const stage& s) {
    const logical& join = *s.join;
    if (join.has_own_equality() || join.inputs.empty()) return false;
    const column_schema build = is_bare_source(*s.build) ? source_schema(s.build->inputs.front()) : column_schema::of_rows(s.build->row());
    const bool left_built = s.build_left;
    if (!evaluate(join.functions[left_built ? 1 : 0], now_) || !evaluate(join.functions[left_built ? 0 : 1], build)) return false;
    if (join.join == join_kind::semi || join.join == join_kind::anti) return !left_built;
    if (join.join != join_kind::inner) return false;
    const auto p = left_built ? project(join.functions[2], build, &now_) : project(join.functions[2], now_, &build);
    if (!p || !can_be_stored(join.row)) return false;
    const bool costly = costly_ || !s.build->row()->trivial || (is_bare_source(*s.build) && is_columnar(s.build->inputs.front()));
    pays_ = pays_ || (costly && p->renames());
    costly_ = costly;
    now_ = p->schema();
    return true;
  }

  const branch* branch_;
  column_schema now_;
  bool costly_;        // records of these rows would be put together out of columns, or copied with what they own
  bool pays_ = false;  // a join gives columns of both sides, which records would copy
};

}  // namespace

void choose_columns(machine_graph& g, bool to_columns) {
  const rules::edge_index edges(g);
  rules::each_branch(g, [&](branch& b, vertex* reader) {
    if (reader ? reader->engine != "cpu" || !reader->shares.empty() : g.result_engine != "cpu") return;
    if (!b.table && !b.source->view && b.source->what != verb::placeholder) return;  // streams begin with records
    if (b.table && b.table->streamed) return;
    walk w(b);
    const std::size_t n = w.stages();
    if (!w.pays() && !(to_columns && !reader && is_columnar(b))) return;
    for (std::size_t i = 0; i < n; ++i) {
      stage& s = b.stages[i];
      s.how = form::columns;
      if (s.what != stage::kind::probe || !is_bare_source(*s.build)) continue;
      const rules::edge only = edges.only_reader(*s.build);
      s.build->in_place = only.how == rules::edge::kind::build && only.through == &b;
    }
  });
}

}  // namespace query::planner
