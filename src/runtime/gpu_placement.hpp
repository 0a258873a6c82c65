// Tells a session's GPU engine to take what is expected to cost less there than on the CPU, instead of all that it can.
#pragma once

#include "runtime/engine.hpp"
#include "runtime/scheduler.hpp"

namespace query::runtime {

// The rates are found or measured when the first vertex is weighed. `threads` outlives the engine. Defined by src/gpu_engine.
void weigh_against_cpu(engine& gpu, scheduler& threads);

}  // namespace query::runtime
