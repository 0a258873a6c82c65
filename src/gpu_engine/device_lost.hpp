// What driver::check throws where the device failed, or its context: each later call fails as well, in this process. So it is remembered,
// for all sessions of the process: what is planned later does not try that device again.
//
// Told apart where several devices share a vertex (several/), and by the executor, which runs a query again whose rows lay there.
#pragma once

#include <string>

#include "gpu_engine/device.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

struct device_lost : runtime::engine_failure {
  using runtime::engine_failure::engine_failure;
};

// What the first call that found it lost said: "" while the device is there.
std::string loss_of(const device& d);
// For tests, whose drivers can be mended.
void forget_loss(const device& d);

// Of a context of this driver's, for those who do not know the device: driver::check, and scoped_context, which says whose calls
// this thread makes.
void note_loss(const driver& d, const std::string& what);
void forget_loss(const driver& d, context_handle context);
context_handle working_in(context_handle context);  // gives the one before

}  // namespace query::gpu_engine
