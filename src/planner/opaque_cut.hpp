// A vertex whose rows come through a function that nobody can look into runs on the CPU, whatever its verb is: the function is
// fused with it. Cut behind that function, and before it, the parts may run elsewhere; tables lie between them:
//
//   group_by <- [ trades | select, where (opaque), where ]       one vertex, on the CPU
//   collect  <- [ trades | select ]                              the front of a cut before it, for another engine
//   collect  <- [ that front | where (opaque) ]                  the front of a cut behind it, on the CPU
//   group_by <- [ this front | where ]                           the rest, for another engine
//
// For placing vertices (runtime/placement/place.cpp): parts are offered to the engine that refused the vertex, and cuts made where it takes
// them; or as verbs are ordered to the GPU.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "planner/machine_graph.hpp"

namespace query::planner {

struct opaque_cut {
  std::vector<std::unique_ptr<vertex>> fronts;
  vertex rest;  // the vertex as it would be, reading them
};

// Of each input that has an opaque function, what comes up to the last of them. Nothing where no input has one, where the verb's own
// functions are opaque, where rows could not be numbered as before, where rows come one by one from a source without a known end, or where
// nothing is left to do behind it. `whole`: all rows are wanted, though the vertex has no verb that needs them (read_whole).
std::optional<opaque_cut> cut_behind_opaque(const vertex& v, bool whole);
// Of one input, what comes before the first of its opaque functions, or before the verb's own, if that is any work. For vertices that
// read all of their rows.
std::optional<opaque_cut> cut_before_opaque(const vertex& v, std::size_t input);

// Makes the cut in the graph: `v` becomes the rest; the fronts run right before it, or last if v is not in the graph.
void make_cut(machine_graph& g, vertex& v, opaque_cut cut);

// Cuts `v` so that what is ordered to the GPU stands apart from opaque functions. False: it is not, or cannot be.
bool cut_as_ordered(machine_graph& g, vertex& v, bool whole);

// The vertices without a verb all of whose rows are wanted, and that may be cut for it: who reads them needs all, and no round of a loop
// makes them.
std::set<const vertex*> read_whole(const machine_graph& g, reading how);
// Will the verb read all rows, whoever reads its own?
bool reads_all(const vertex& v);

// The rows that the last vertex collects are read from its input instead, its stages being the result's.
void drop_last(machine_graph& g);

}  // namespace query::planner
