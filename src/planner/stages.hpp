// The stages of a cluster graph: vertices that run in the same partitions with no exchange between them. What they send to each other goes
// through exchanges, each of which belongs to the stage that computes its rows.
//
//   const cluster_stages stages(graph);
//   stages.of(vertex)                       // 0, 1, ...: in the order in which they begin
#pragma once

#include <cstddef>
#include <unordered_map>

#include "planner/machine_graph.hpp"

namespace query::planner {

class cluster_stages {
 public:
  explicit cluster_stages(const machine_graph& g);
  std::size_t count() const { return count_; }
  std::size_t of(const vertex& v) const { return numbers_.at(&v); }
  std::size_t of_result() const { return numbers_.at(nullptr); }

 private:
  std::unordered_map<const vertex*, std::size_t> numbers_;  // null: the result
  std::size_t count_ = 0;
};

// Calls f(table) for each table that the vertex reads: streamed, as a hash table, captured, or as what a round of it gives. Of the result:
// each_table_of(graph, f).
template <class F> void each_table_of(const branch& b, F&& f) {
  if (b.table) f(*b.table);
  for (const stage& s : b.stages)
    if (s.build) f(*s.build);
}
template <class F> void each_table_of(const vertex& v, F&& f) {
  for (const branch& b : v.inputs) each_table_of(b, f);
  for (const binding& c : v.captures)
    if (c.table) f(*c.table);
  each_table_of(v.body_result, f);
  each_table_of(v.test_result, f);
}
template <class F> void each_table_of(const machine_graph& g, F&& f) {
  each_table_of(g.result, f);
  for (const binding& c : g.captures)
    if (c.table) f(*c.table);
}

}  // namespace query::planner
