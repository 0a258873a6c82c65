#include "planner/divided_concat.hpp"

#include <algorithm>

#include "ir/visit.hpp"
#include "planner/rules/edges.hpp"
#include "planner/rules/expressions.hpp"

namespace query::planner {

using detail::verb;

namespace {

bool function_ignores_order(const detail::user_function& of_group) {
  const ir::traced t = of_group.trace();
  if (!t) return false;
  const auto all = rules::aggregates_in(t.root);
  return std::all_of(all.begin(), all.end(),
                     [](const ir::node* n) { return n->text == "sum" || n->text == "mean" || rules::ignores_order(n); });
}

// The key of a group is that of its first row.
bool shows_key(const detail::user_function& of_group) {
  const ir::traced t = of_group.trace();
  bool shows = false;
  ir::each_node(t.root, [&](const ir::node* n) { shows = shows || n->what == ir::op::key; });
  return shows;
}

bool ignores_order(const vertex& v) {
  const logical& n = *v.node;
  if (v.ordered || v.limit != ~0ull || n.has_own_equality()) return false;
  switch (n.what) {
    case verb::aggregate: return function_ignores_order(n.functions.front());
    case verb::group_by:
      return function_ignores_order(n.functions.back()) && (rules::alike_where_equal(n.key) || !shows_key(n.functions.back()));
    case verb::distinct: return rules::is_whole_row(n.functions.front().trace()) && rules::alike_where_equal(n.row);
    default: return false;
  }
}

bool terminal_ignores_order(const machine_graph& g) {
  if (g.terminal == "count" || g.terminal == "sum" || g.terminal == "average") return true;
  return (g.terminal == "min" || g.terminal == "max") && g.result.row && ir::is_integer(g.result.row->k);
}

bool row_wise(const branch& b) {
  return !rules::numbers_rows(b) &&
         std::all_of(b.stages.begin(), b.stages.end(), [](const stage& s) { return s.what == stage::kind::rowwise; });
}

}  // namespace

std::unordered_set<const vertex*> concats_in_any_order(machine_graph& g) {
  std::unordered_set<const vertex*> found;
  const rules::edge_index edges(g);
  for (const auto& v : g.vertices) {
    if (!v->node || v->node->what != verb::concat || v->limit != ~0ull || !v->slots.empty()) continue;
    const rules::edge e = edges.only_reader(*v);
    if (e.how != rules::edge::kind::rows || !row_wise(*e.through)) continue;
    if (std::any_of(v->inputs.begin(), v->inputs.end(), [](const branch& b) { return rules::numbers_rows(b); })) continue;
    if (e.reader ? e.reader->node && ignores_order(*e.reader) : terminal_ignores_order(g)) found.insert(v.get());
  }
  return found;
}

}  // namespace query::planner
