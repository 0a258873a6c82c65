// Concatenations whose rows stay in the partitions of a cluster graph where those of their inputs are. Partitions one after the other then
// have these rows in another order: of each input a part, so only readers that give the same in any order, but for the last bits of
// sums, take them so.
//
//   for (const vertex* v : concats_in_any_order(graph)) ...
#pragma once

#include <unordered_set>

#include "planner/machine_graph.hpp"

namespace query::planner {

std::unordered_set<const vertex*> concats_in_any_order(machine_graph& g);

}  // namespace query::planner
