// Values that view memory, gathered into one heap: before they are fetched, or where a result would keep too many heaps.
//
//   repacked r = repack(gpu, type, rows.address(), n, s, context);   // r.values view r.heap alone
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/codegen/kernel_source.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "runtime/run_context.hpp"

namespace query::gpu_engine {

struct repacked {
  device_buffer values, heap;
  std::uint64_t heap_bytes = 0;
  std::shared_ptr<const kernel> made_by;  // runs yet
};

// n values of type t in the device's layout, side by side. Waits for the sizes; what it returns is ready in the order of `s`.
repacked repack(gpu_session& gpu, const ir::type* t, device_address values, std::uint64_t n, const stream& s,
                runtime::run_context& context);

}  // namespace query::gpu_engine
