// Gives the branches of one partition's machine graph their parts of the sources.
//
//   const auto parts = divide_sources(graph, 3, divided::all);   // as long as the graph is used
#pragma once

#include <cstddef>
#include <vector>

#include "planner/machine_graph.hpp"
#include "runtime/row_range.hpp"

namespace query::cluster {

// In another process, sources in memory are its own part of the rows already; ranges and repeated values are sent as a whole.
enum class divided { all, ranges };

std::vector<runtime::row_range> divide_sources(planner::machine_graph& g, std::size_t partition, divided which);

}  // namespace query::cluster
