// Rates for tests of what the cost model says: the same on every machine.
#pragma once

#include <query/session.hpp>

#include "cpu_engine/costs.hpp"
#include "gpu_engine/costs/gpu_costs.hpp"
#include "runtime/placement/vertex_work.hpp"
#include "runtime/placement/weighing.hpp"
#include "runtime/session_state.hpp"

namespace query::gpu_engine {

using runtime::row_expressions_of, runtime::shown_seconds, runtime::work_of;

// Round figures, near those of a card on a bus of 50 GB/s beside 16 cores.
inline rates fixed_rates() {
  rates r;
  r.up = r.down = 50e9;
  r.up_thread = 10e9;
  r.plain_operation = 0.01e-9;
  r.call = 0.5e-9;
  r.device_memory = 4e12;
  r.device_operations = 4e12;
  r.launch = 20e-6;
  r.host_memory = 100e9;
  r.start = 20e-6;
  r.row = {0.03e-9, 0.02e-9, 2e-9, 5e-9, 0.5e-9, 2e-9, 0.02e-9, 2e-9};
  return r;
}

// What the CPU engine would need, with rows that the device has.
inline double cpu_seconds(const rates& r, const work& w) {
  gpu_costs there;
  there.by(r);
  return runtime::seconds_on_cpu(cpu::cpu_costs([&r] { return &r; }), there, w);
}

// Both engines of a session know their costs by these.
inline void expect_rates(const rates& r, runtime::engine& gpu, const Session& s) {
  costs_of(gpu).by(r);
  s.state()->cpu->expects([r] { return &r; });
}

}  // namespace query::gpu_engine
