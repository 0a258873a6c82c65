// take(n) reaches down through verbs that keep the order: what they read need not give more than the first n rows (or n + k
// below skip(k)), so that files, concatenations and zips end early.
#include <algorithm>

#include "planner/rules/limits.hpp"

namespace query::planner::rules {

using detail::verb;

namespace {

bool gives_rows_in_order(const vertex& v) {
  if (!v.node) return true;
  switch (v.node->what) {
    case verb::source_file:
    case verb::take:
    case verb::skip:
    case verb::take_while:
    case verb::skip_while:
    case verb::skip_last:
    case verb::concat:
    case verb::zip:
    case verb::default_if_empty: return true;
    default: return false;
  }
}

}  // namespace

void limit_pushdown(rewriting& r) {
  const edge_index edges(r.graph);
  for (std::size_t i = r.graph.vertices.size(); i-- > 0;) {
    vertex& v = *r.graph.vertices[i];
    if (!gives_rows_in_order(v)) continue;
    const wanted_rows wanted = rows_wanted(r, edges, v);
    if (wanted.first >= v.limit || (v.node && v.node->what == verb::take && wanted.first >= v.node->count)) continue;
    v.limit = wanted.first;
    r.limited_by[&v] = wanted.because;
    note(r, &v, "limit_pushdown: " + verb_at(*wanted.because) + " wants the first " + std::to_string(v.limit) + " rows only");
  }
}

}  // namespace query::planner::rules
