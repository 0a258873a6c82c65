// Launches of the radix sort that a generated program holds: a kernel that counts digits, and one that the passes run.
//
//   radix_launch sort(run, k, *count, *sweep, radix_shape::of<gpu::u64, gpu::u32, gpu::u32>(n), 64);
//   sort.count(inputs, args, temp);                 // the digits of all passes
//   sort.passes(inputs, args, pass);
#pragma once

#include <algorithm>

#include "gpu_engine/vertex_run.hpp"
#include "gpu_primitives/radix_layout.cuh"

namespace query::gpu_engine {

// Numbers that the host needs of the policy for keys and values: no_value for keys alone.
struct radix_shape {
  std::uint64_t rows, threads, histogram_threads, histogram_items, rows_of_tile, temp_bytes, shared;
  template <class Key, class Value, class Count> static radix_shape of(std::uint64_t n) {
    using policy = gpu::radix_policy<Key, Value>;
    return {n,
            policy::threads,
            policy::histogram_threads,
            policy::histogram_items,
            std::uint64_t{policy::threads} * policy::items,
            gpu::radix_temp_bytes<policy, Count>(n),
            gpu::radix_shared_bytes<policy, Key, Value>()};
  }
};

class radix_launch {
 public:
  using inputs = std::span<const device_rows* const>;
  using arguments = std::vector<std::uint64_t>;

  radix_launch(vertex_run& run, const kernel_source& k, const kernel& count, const kernel& sweep, const radix_shape& shape,
               std::uint32_t bits)
      : run_(run), k_(k), count_(count), sweep_(sweep), shape_(shape), bits_(bits), temporary_(run.zeroed(shape.temp_bytes)) {}

  void count(inputs in, arguments& args, std::size_t temp) {
    args[temp] = temporary_.address();
    const std::uint64_t tiles = gpu::divide_up(shape_.rows, shape_.histogram_threads * shape_.histogram_items),
                        most = resident_blocks(count_, static_cast<unsigned>(shape_.histogram_threads), 0);
    run_.launch(k_, count_,
                {static_cast<unsigned>(std::clamp<std::uint64_t>(tiles, 1, most)), static_cast<unsigned>(shape_.histogram_threads), 0}, in,
                args);
  }
  void passes(inputs in, arguments& args, std::size_t pass) {
    for (std::uint32_t p = 0; p < gpu::radix_passes(bits_); ++p) {
      args[pass] = p;
      run_.launch(k_, sweep_,
                  {static_cast<unsigned>(gpu::divide_up(shape_.rows, shape_.rows_of_tile)), static_cast<unsigned>(shape_.threads),
                   static_cast<unsigned>(shape_.shared)},
                  in, args);
    }
  }

 private:
  vertex_run& run_;
  const kernel_source& k_;
  const kernel &count_, &sweep_;
  radix_shape shape_;
  std::uint32_t bits_;
  device_buffer temporary_;
};

}  // namespace query::gpu_engine
