// Which vertex writes to each edge of a graph, and which one reads it: exactly one each.
//
//   const edge_ends ends(plan);   // user_error for a graph that is not whole
//   plan.vertices[ends.reader[e]].name
#pragma once

#include <cstddef>
#include <vector>

#include <query/detail/dataflow_plan.hpp>

namespace query::runtime {

// The edges that a receiving port reads, those of its parts too.
std::vector<std::size_t> edges_of(const detail::flow_source& s);

struct edge_ends {
  explicit edge_ends(const detail::flow_plan& plan);
  std::vector<std::size_t> writer, reader;  // by edge
};

}  // namespace query::runtime
