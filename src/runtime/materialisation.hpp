// Decides which vertices get a table of their rows, and which leave their rows to the readers, because memory may have no room for a table.
//
//   leave_to_joins(graph, context);                                  // before vertices run
//   if (!left_to_reader(v, session, context)) tables[&v] = run(v);   // before this one does
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// Fills context.left_to_joins with vertices whose rows only the hash table of one join on the CPU reads: that join collects them.
void leave_to_joins(const planner::machine_graph& graph, run_context& context);
// Whether a vertex that may_stream hands its rows on, as a table of them would be too large; explain() will say so.
bool left_to_reader(const planner::vertex& v, session_state& session, run_context& context);

}  // namespace query::runtime
