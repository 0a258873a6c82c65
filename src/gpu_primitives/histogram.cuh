// Counts rows by bin, for up to 8192 bins whose number is computed from the row.
//
// One launch of histogram_blocks<Policy> blocks of Policy::threads threads. A block counts in shared memory, where increments of one bin by
// several lanes are one operation, and adds its counts to the result at its end.
//
//   extern "C" __global__ void ages(const u8* age, u64 n, u64* counts) {   // counts: 256 zeros
//     histogram<histogram_policy, 256>(n, [=](u64 i) { return u32(age[i]); }, counts);
//   }
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

struct histogram_policy {
  static constexpr u32 threads = 512;
  static constexpr u32 items = 8;
};

// Blocks to launch on a card that holds `resident` of them at once. At least one.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 histogram_blocks(u64 n, u64 resident) {
  return larger(smaller(divide_up(n, u64(Policy::threads) * Policy::items), resident), u64(1));
}

#if QUERY_GPU_DEVICE_CODE

// bin_of(i) -> bin of row i; rows whose bin is Bins or more do not count. Adds to `counts`, Bins words. A block may count 2^32 - 1 rows a
// bin.
template <class Policy, u32 Bins, class BinOf>
__device__ __forceinline__ void histogram(u64 n, BinOf bin_of, u64* counts) {
  static_assert(Bins <= 8192, "histogram: more bins than shared memory holds; sort or group instead");
  constexpr u32 threads = Policy::threads;
  constexpr u32 items = Policy::items;
  constexpr u64 tile = u64(threads) * items;
  __shared__ u32 own[Bins];
  for (u32 b = threadIdx.x; b < Bins; b += threads) own[b] = 0;
  __syncthreads();
  for (u64 begin = blockIdx.x * tile; begin < n; begin += gridDim.x * tile) {
    const u64 i = begin + threadIdx.x;
    u32 bin[items];
#pragma unroll
    for (u32 j = 0; j < items; ++j) bin[j] = i + j * threads < n ? bin_of(i + j * threads) : Bins;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      if (bin[j] < Bins) atomicAdd(&own[bin[j]], 1u);
    }
  }
  __syncthreads();
  for (u32 b = threadIdx.x; b < Bins; b += threads) {
    if (own[b] != 0) atomicAdd(&counts[b], u64(own[b]));
  }
}

#endif

}  // namespace query::gpu
