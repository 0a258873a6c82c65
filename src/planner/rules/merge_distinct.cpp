// A distinct of whole rows is left out where the rows are distinct already (it reads another distinct, a set verb, or groups
// with their keys), or where the verb above makes them distinct anyway.
#include <algorithm>

#include "ir/visit.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool makes_rows_distinct(rewriting& r, const logical& n) {
  const bool set = n.what == verb::distinct || n.what == verb::union_with || n.what == verb::intersect || n.what == verb::except;
  return set && !n.keys.equal && is_whole_row(r.trace(n.functions.front()));
}

// One row a group, with the whole key in it.
bool gives_keys(rewriting& r, const logical& n) {
  if (n.what != verb::group_by || n.keys.equal) return false;
  const ir::traced& t = r.trace(n.functions.back());
  if (!t) return false;
  const auto is_key = [](const ir::node* x) { return x->what == ir::op::key; };
  if (is_key(t.root)) return true;
  if (t.root->what != ir::op::make) return false;
  const auto fields = t.root->type->fields();
  for (std::size_t i = 0; i < t.root->kids.size() && i < fields.size(); ++i)
    if (is_key(t.root->kids[i]) && t.root->kids[i]->type == fields[i].of) return true;
  return false;
}

bool only_filters_between(const branch& b) {
  return b.prefilters.empty() && std::all_of(b.stages.begin(), b.stages.end(),
                                             [](const stage& s) { return only_filters(s) && !(s.native && s.native->needs_position()); });
}

// Leaves `v`, a distinct, out if what it reads or what reads it makes up for it.
void leave_out(rewriting& r, const edge_index& edges, vertex& v) {
  const edge above = edges.only_reader(v);
  const branch& rows = v.inputs.front();
  if (rows.table && rows.table->node && only_filters_between(rows)) {
    const logical& below = *rows.table->node;
    const bool order_kept = !v.node->ordered || below.ordered;
    if (order_kept && (makes_rows_distinct(r, below) || gives_keys(r, below))) {
      const std::string text = "merge_distinct: " + verb_at(*v.node) + " is left out, rows of " + verb_at(below) + " are distinct";
      note(r, rows.table, text);
      if (above.how == edge::kind::rows) drop_verb(r, v, above);
      else v.node = nullptr;
      return;
    }
  }
  if (above.how != edge::kind::rows || !above.reader || !above.reader->node) return;
  // A test in between might tell apart what is equal as a row: -0.0 and 0.0.
  if (!makes_rows_distinct(r, *above.reader->node) || !above.through->stages.empty()) return;
  note(r, above.reader,
       "merge_distinct: " + verb_at(*v.node) + " is left out, " + verb_at(*above.reader->node) + " makes the rows distinct");
  drop_verb(r, v, above);
}

}  // namespace

void merge_distinct(rewriting& r) {
  const edge_index edges(r.graph);
  for (auto& v : r.graph.vertices)
    if (v->node && v->node->what == verb::distinct && makes_rows_distinct(r, *v->node)) leave_out(r, edges, *v);
  remove_dropped(r);
}

}  // namespace query::planner::rules
