// What driver::check throws where the device failed, or its context: each later call fails as well, in this process.
//
// Told apart where several devices share a vertex (several/), and by the executor, which runs a query again whose rows lay there.
#pragma once

#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

struct device_lost : runtime::engine_failure {
  using runtime::engine_failure::engine_failure;
};

}  // namespace query::gpu_engine
