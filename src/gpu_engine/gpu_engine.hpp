// The GPU engine: vertices whose functions all trace run as generated kernels; their results stay on the device until
// another vertex or the caller reads them.
//
//   session.add_engine(make_engine(*device::first(), {.memory = 8ull << 30}, kernels));   // sessions do this by themselves
#pragma once

#include <functional>
#include <memory>

#include "gpu_engine/gpu_session.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

// An engine on a device of the caller's choice; device and kernels outlive it. For tests, `block_rows`: every vertex runs in
// blocks of so many rows, as if more did not fit.
std::shared_ptr<runtime::engine> make_engine(const device& d, const runtime::gpu_limits& limits, kernel_cache& kernels,
                                             std::size_t block_rows = 0);

// The same on several; a device may be opened twice (device::find). At least one. For tests, `share_rows`: rows are divided over
// as many devices as get so many each, however few bytes these are.
std::shared_ptr<runtime::engine> make_engine(std::vector<const device*> devices, const runtime::gpu_limits& limits, kernel_cache& kernels,
                                             std::size_t block_rows = 0, std::size_t share_rows = 0);

// The same on `n` devices, each opened by `open(number)` when it is first wanted.
std::shared_ptr<runtime::engine> make_engine(std::function<const device*(std::size_t)> open, std::size_t n,
                                             const runtime::gpu_limits& limits, kernel_cache& kernels);

// What such an engine has of its devices, and of the first: counters, for tests and figures.
class gpu_set;
gpu_set& gpus_of(runtime::engine& e);
gpu_session& session_of(runtime::engine& e);

}  // namespace query::gpu_engine
