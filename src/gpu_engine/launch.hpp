// Gives a kernel to a stream.
//
//   std::uint64_t n = rows; device_address out = buffer.address();
//   launch(*k, {.grid = blocks_for(n, 256), .block = 256}, s, out, n);
#pragma once

#include <cstddef>
#include <type_traits>

#include "gpu_engine/kernel_cache.hpp"

namespace query::gpu_engine {

struct launch_shape {
  unsigned grid = 1;                // blocks; none are launched for 0
  unsigned block = 256;             // threads a block
  std::size_t dynamic_shared = 0;   // bytes a block, beside the static ones; more than 48 KiB is opted in to
};

// Launches with the addresses of the arguments, as cuLaunchKernel takes them. Throws internal_error if the shape does not
// fit the kernel or the device. Returns at once; an error of the kernel shows at the stream's next wait.
void launch_with(const kernel& k, launch_shape shape, const stream& s, void** arguments);

// Launches with arguments by value: their types must be those of the kernel's parameters (device_address for pointers).
template <class... T>
void launch(const kernel& k, launch_shape shape, const stream& s, T... arguments) {
  static_assert((std::is_trivially_copyable_v<T> && ...), "launch: arguments are copied byte by byte: pass trivially copyable values");
  void* addresses[sizeof...(T) + 1] = {static_cast<void*>(&arguments)..., nullptr};
  launch_with(k, shape, s, addresses);
}

// Blocks that run at once on the whole device, for kernels that loop over their input. At least 1.
unsigned resident_blocks(const kernel& k, unsigned block, std::size_t dynamic_shared = 0);

// Blocks of `block` threads that cover n items, one a thread; throws internal_error beyond the driver's limit of 2^31 - 1.
unsigned blocks_for(std::size_t n, unsigned block);

}  // namespace query::gpu_engine
