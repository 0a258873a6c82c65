// order_by below take(n), with nothing in between that drops rows, keeps the best n rows only: O(rows) time and O(n) memory
// instead of a sort.
#include "planner/rules/limits.hpp"

namespace query::planner::rules {

void top_k(rewriting& r) {
  const edge_index edges(r.graph);
  for (auto& v : r.graph.vertices) {
    if (!v->node || v->node->what != detail::verb::order_by) continue;
    const wanted_rows wanted = rows_wanted(r, edges, *v);
    if (wanted.first >= v->limit) continue;
    v->limit = wanted.first;
    note(r, v.get(),
         "top_k: " + verb_at(*wanted.because) + " over " + verb_at(*v->node) + ", the best " + std::to_string(v->limit) + " rows are kept");
  }
}

}  // namespace query::planner::rules
