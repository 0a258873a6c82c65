// A query whose engine was lost together with rows that it alone had runs again, from its sources, on the CPU.
//
//   catch (const rows_lost& lost) { if (!prepare_second_run(graph, session, context, lost)) throw; }   // else run the vertices again
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// Forgets what has been computed, cached rows that are lost among it, and gives the engine's vertices to the CPU, which explain() will
// say. False, and nothing is changed, where a verb demands the engine or a source may not be read twice.
bool prepare_second_run(planner::machine_graph& g, session_state& session, run_context& context, const rows_lost& lost);

}  // namespace query::runtime
