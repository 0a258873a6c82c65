// Rates for tests of what the cost model says: the same on every machine.
#pragma once

#include "gpu_engine/placement/costs.hpp"

namespace query::gpu_engine {

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

}  // namespace query::gpu_engine
