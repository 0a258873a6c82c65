// What planning asks of a session's GPU engine beyond what all engines do.
#pragma once

#include <string>

#include "runtime/local_engine.hpp"
#include "runtime/scheduler.hpp"

namespace query::runtime {

class session_state;

// The rates of both are found or measured when the first vertex is weighed. `threads` outlives them. Defined by src/gpu_engine.
void weigh_against_cpu(engine& gpu, local_engine& cpu, scheduler& threads);

// The session's GPU for what is planned now: null where there is none, or none any more.
engine* gpu_to_plan_for(const session_state& session);
// Why there is none; "" if there is one. One that was lost: "the GPU was lost: ...".
std::string gpu_status(const session_state& session);
bool gpu_is_lost(const session_state& session);

}  // namespace query::runtime
