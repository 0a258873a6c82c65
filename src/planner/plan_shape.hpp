// What a machine graph is but for the values in it: two plans of one shape differ in literals, in where rows lie and how many they are, and
// nowhere else. What functions capture by reference may change a plan from one run to the next; its shape tells.
//
//   if (plan_shape(*graph) == shape_of_last_run) ...the same engines can run it...
#pragma once

#include <cstdint>

#include "planner/machine_graph.hpp"

namespace query::planner {

// A hash, of this process. Before vertices are placed, which may cut them. Functions are traced, if they were not in this execution.
std::uint64_t plan_shape(const machine_graph& g);

}  // namespace query::planner
