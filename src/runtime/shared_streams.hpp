// A generator that several queries of one run read (query::run_all): it runs once, and each of them gets its rows from the first on.
//
// Rows that one branch has taken are kept until all others have passed them. So a generator that counts in somebody else's variables, or
// takes rows from a channel, gives all queries the same rows, and one without an end runs no further than the query that goes furthest.
//
//   share_streams(graph, pool);   // before the run: the branches' sources are such readers from now on
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::runtime {

void share_streams(planner::machine_graph& g, buffer_pool& pool);

}  // namespace query::runtime
