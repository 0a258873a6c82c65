// Measures what both engines reckon with, once for each device, driver, host and number of threads; the figures are kept in the
// folder of the compiled kernels.
//
//   const std::optional<rates> r = calibrated(gpu_session, threads, disk_cache(disk_cache::default_folder()));
#pragma once

#include <optional>
#include <string>

#include "gpu_engine/disk_cache.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/costs/rates.hpp"
#include "runtime/scheduler.hpp"

namespace query::gpu_engine {

// Found in `files`, or measured now and stored there. Nothing where measuring fails (no memory left on
// the device) or gives no sensible figures.
std::optional<rates> calibrated(gpu_session& gpu, runtime::scheduler& threads, const disk_cache& files);

// Under which name the figures are kept: all that they depend on.
std::string calibration_key(const device& d, int threads);

// The device's: up, up_thread, down, device_memory, device_operations, launch. Throws what the driver's failures throw.
void measure_device(rates& r, gpu_session& gpu, runtime::scheduler& threads);

}  // namespace query::gpu_engine
