// A vertex whose rows come through a function that nobody can look into runs on the CPU, whatever its verb is: the function is
// fused with it. Cut behind that function, the verb may run elsewhere, on the table that the CPU makes of the function's rows:
//
//   group_by <- [ trades | where, select (opaque), where ]       one vertex, on the CPU
//   collect  <- [ trades | where, select (opaque) ]              the front, on the CPU
//   group_by <- [ the front | where ]                            the rest, for another engine
//
// For placing vertices (src/runtime/executor.cpp): the cut is offered to the engine that refused the vertex, and made if it
// takes the rest.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "planner/machine_graph.hpp"

namespace query::planner {

struct opaque_cut {
  std::vector<std::unique_ptr<vertex>> fronts;  // of each input that has an opaque function, one
  vertex rest;                                  // the vertex as it would be, reading them
};

// Nothing where no input of the verb has an opaque function, where the verb's own functions are opaque, where rows could not be
// numbered as before, or where rows come one by one from a source without a known end.
std::optional<opaque_cut> cut_behind_opaque(const vertex& v);

// Makes the cut in the graph: `v` becomes the rest; the fronts run right before it.
void make_cut(machine_graph& g, vertex& v, opaque_cut cut);

}  // namespace query::planner
