// Runs a machine graph: its vertices in order, each on its engine, loops round by round.
#pragma once

#include <memory>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// Names the engine of every vertex, by asking the session's engines in their order, and why.
void place(planner::machine_graph& g, const session_state& session);

class executor {
 public:
  executor(const planner::machine_graph& g, session_state& session, run_context& context) : graph_(&g), session_(&session), context_(&context) {}
  void run_vertices();  // all but the terminal

 private:
  void run(const planner::vertex& v);
  detail::table compute(const planner::vertex& v);
  detail::table run_on(engine& e, const planner::vertex& v);
  detail::table run_loop(const planner::vertex& v);

  const planner::machine_graph* graph_;
  session_state* session_;
  run_context* context_;
};

}  // namespace query::runtime
