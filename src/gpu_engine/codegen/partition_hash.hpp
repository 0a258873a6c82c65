// The hash that decides which partition a row is in: the CPU engine's, of keys of any type that has a form on the device.
//
//   const std::string hash = generate_partition_hash(k, trades_symbol);   // the name of `u64 hash(const K&)`
#pragma once

#include <string>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

// Throws not_generated for keys that have no form on the device.
std::string generate_partition_hash(kernel_source& k, const ir::type* key);

}  // namespace query::gpu_engine
