// Vertices that are weighed together, when each has been asked whether it could run on the GPU: those of a loop, which would move rows
// over the bus in each round if they were apart; rows that are cached, with all that reads them.
//
//   for (const opinion& o : together(graph, placement)) ...      // o.v: o.answer, or better on the CPU
#pragma once

#include <vector>

#include "gpu_engine/placement/placement.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

// Rounds of a loop whose condition says when it ends; how often rows are read that are cached: guesses.
inline constexpr double rounds_of_a_loop = 10, readings_of_cached_rows = 8;
// From the third round on kernels are launched as one graph: what is left of the waits between them.
inline constexpr double waits_of_a_graph = 0.15;

// Before any vertex was asked: loops of so little work that the CPU is through with them before their kernels are looked up.
std::vector<runtime::opinion> not_worth_planning(const planner::machine_graph& g, placement& p);
std::vector<runtime::opinion> together(const planner::machine_graph& g, placement& p);

}  // namespace query::gpu_engine
