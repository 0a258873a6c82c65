// The device headers of this library, carried in it as text for the run-time compiler: src/gpu_primitives/*.cuh and
// src/gpu_engine/device/*.cuh. Generated at build time by cmake/embed_sources.cmake.
//
//   kernel_cache kernels({.headers = embedded_sources()});   // sources say: #include "gpu_primitives/reduce.cuh"
#pragma once

#include <span>

#include "gpu_engine/named_source.hpp"

namespace query::gpu_engine {

// In the order of their names; each text is followed by a '\0' that does not count. Empty if there are no such files.
std::span<const named_source> embedded_sources();

}  // namespace query::gpu_engine
