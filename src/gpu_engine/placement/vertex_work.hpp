// How much work a vertex is, judged from the plan before anything runs: rows of its sources, what filters and groups are
// expected to leave of them, bytes that cross the bus, operations of its expressions.
//
//   if (const auto w = work_of(vertex)) ...    // nothing where it is not known how many rows there will be, and in loops: a
//                                              // loop whose vertices are apart moves rows each round, and cannot be repeated
#pragma once

#include <optional>

#include "gpu_engine/placement/costs.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

// Half of the rows pass a filter, one in eight is a group of its own: guesses, where the plan does not say.
inline constexpr double rows_that_pass = 0.5, rows_a_group = 8, elements_looked_through = 16;

std::optional<work> work_of(const planner::vertex& v);
std::optional<work> work_of_fold(const planner::branch& b, bool counts);

}  // namespace query::gpu_engine
