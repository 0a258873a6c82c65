// Finds the rows of cached() that the session has when a run begins. They are read, and vertices that only they were made of do not run.
//
//   const cached_vertices cached = find_cached_vertices(graph, session);
//   if (!cached.spared.contains(v)) run(*v);
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

struct cached_vertices {
  std::unordered_map<const planner::vertex*, session_state::cached_rows> found;
  std::unordered_set<const planner::vertex*> spared;  // read by no vertex that still has to run
};

bool is_cached(const planner::vertex& v);  // the session keeps its rows, which depend on no loop variable
cached_vertices find_cached_vertices(const planner::machine_graph& graph, session_state& session);

}  // namespace query::runtime
