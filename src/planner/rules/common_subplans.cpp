// A query that several others grew from is one vertex, run once. The plan is built that way (nodes are shared); this rule says
// so. Two queries that were written twice are two: whether opaque functions are equal cannot be known.
#include "planner/rules/edges.hpp"

namespace query::planner::rules {

void common_subplans(rewriting& r) {
  const edge_index edges(r.graph);
  for (auto& v : r.graph.vertices) {
    const std::size_t readers = edges.readers_of(*v).size();
    if (readers > 1) note(r, v.get(), "common_subplans: computed once for " + std::to_string(readers) + " readers");
  }
}

}  // namespace query::planner::rules
