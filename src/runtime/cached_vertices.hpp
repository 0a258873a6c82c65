// Finds the rows of cached() that the session has when a run begins. They are read, and vertices that only they were made of do not run.
//
//   const cached_vertices cached = find_cached_vertices(graph, session, 0, others_have);
//   if (!cached.spared.contains(v)) run(*v);
#pragma once

#include <cstdint>
#include <unordered_map>
#include <unordered_set>

#include <query/detail/function_ref.hpp>

#include "planner/machine_graph.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

struct cached_vertices {
  std::unordered_map<const planner::vertex*, session_state::cached_rows> found;
  std::unordered_set<const planner::vertex*> spared;  // read by no vertex that still has to run
  std::unordered_set<const planner::vertex*> anew;    // of several partitions, of which some have no rows: all compute them
};

bool is_cached(const planner::vertex& v);  // the session keeps its rows, which depend on no loop variable
cached_part part_of(const planner::vertex& v, std::uint32_t partition);  // of the rows of all partitions that run v
// others_have: have all the others of v's partitions theirs?
cached_vertices find_cached_vertices(const planner::machine_graph& graph, session_state& session, std::uint32_t partition,
                                     function_ref<bool(const planner::vertex&)> others_have);

}  // namespace query::runtime
