// Folds all rows into one value: sum, min, max, several aggregates at once, any operation with an identity.
//
// One launch of reduce_blocks<Policy>(n) blocks of Policy::threads threads. Which rows meet in which order depends on n and the policy
// alone, never on the card or on timing, so floating-point results repeat bit for bit. Each block folds one run of rows; the block that
// finishes last folds the blocks' results, in the order of the blocks.
//
//   extern "C" __global__ void total(const double* x, u64 n, void* temp, double* out) {
//     reduce<reduce_policy<double>>(n, 0.0, [=](u64 i, double& into) { into += x[i]; },
//                                   [](double a, double b) { return a + b; }, temp, [=](double sum) { *out = sum; });
//   }
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// `items` rows of a thread are in flight together, folded into `accumulators` independent values.
template <class T>
struct reduce_policy {
  static constexpr u32 threads = 256;
  static constexpr u32 items = 8;
  static constexpr u32 accumulators = sizeof(T) <= 8 ? 4 : sizeof(T) <= 16 ? 2 : 1;
  static constexpr u32 most_blocks = 4224;
};

// For rows that take loops of their own: one at a time, so that load() is in the kernel once and can be inlined.
template <class T>
struct reduce_loops_policy : reduce_policy<T> {
  static constexpr u32 items = 1;
  static constexpr u32 accumulators = 1;
};

// Rows in the run of one block; a multiple of the rows that a block has in flight.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 reduce_rows_per_block(u64 n) {
  constexpr u64 tile = u64(Policy::threads) * Policy::items;
  return larger(round_up(divide_up(n, Policy::most_blocks), tile), tile);
}

// Blocks to launch; at least one, so that a reduction of nothing yields the identity.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 reduce_blocks(u64 n) {
  return larger(divide_up(n, reduce_rows_per_block<Policy>(n)), u64(1));
}

// Bytes of temporary storage, aligned to 128. Its first 128 bytes must be zero before the first launch; a finished launch leaves them so.
template <class Policy, class T>
QUERY_GPU_BOTH constexpr u64 reduce_temp_bytes(u64 n) {
  return 128 + reduce_blocks<Policy>(n) * sizeof(T);
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

// Folds one value of every thread; the result is valid in thread 0. Ends with a barrier, so that `shared` may be reused. Loops: a block
// does it once or twice, and unrolled it was a quarter of what a small kernel takes to compile.
template <u32 Threads, class T, class Combine>
__device__ __forceinline__ T reduce_block(T value, T* shared, Combine combine) {
#pragma unroll 1
  for (u32 d = 1; d < warp_size; d *= 2) value = combine(value, shuffle_down(value, d));
  if (lane_id() == 0) shared[threadIdx.x / warp_size] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll 1
    for (u32 w = 1; w < Threads / warp_size; ++w) value = combine(value, shared[w]);
  }
  __syncthreads();
  return value;
}

}  // namespace detail

// load(i, into) folds row i into `into`; rows of one thread come in increasing order. It may treat i as the index of a group of rows
// (a 16-byte load, say) if n counts groups. combine(a, b) must be associative and commutative up to rounding. finish(total) is called
// once, by one thread, when all rows are folded.
template <class Policy, class T, class Load, class Combine, class Finish>
__device__ __forceinline__ void reduce(u64 n, const T& identity, Load load, Combine combine, void* temp, Finish finish) {
  constexpr u32 threads = Policy::threads;
  constexpr u32 items = Policy::items;
  constexpr u32 accumulators = Policy::accumulators;
  __shared__ alignas(16) u8 raw[sizeof(T) * (threads / warp_size)];
  __shared__ u32 is_last;
  T* shared = reinterpret_cast<T*>(raw);

  T sums[accumulators];
#pragma unroll
  for (u32 a = 0; a < accumulators; ++a) sums[a] = identity;

  const u64 rows = reduce_rows_per_block<Policy>(n);
  const u64 begin = blockIdx.x * rows;
  const u64 end = smaller(begin + rows, n);
  u64 i = begin + threadIdx.x;
  for (; i + u64(items - 1) * threads < end; i += u64(items) * threads) {
#pragma unroll
    for (u32 j = 0; j < items; ++j) load(i + j * threads, sums[j % accumulators]);
  }
  if constexpr (items > 1) {
#pragma unroll 1
    for (; i < end; i += threads) load(i, sums[0]);
  }
#pragma unroll
  for (u32 a = 1; a < accumulators; ++a) sums[0] = combine(sums[0], sums[a]);

  // Twice for the block that finishes last: its own rows, then the blocks' results.
  u32* finished_blocks = static_cast<u32*>(temp);
  T* partials = reinterpret_cast<T*>(static_cast<u8*>(temp) + 128);
  T total = sums[0];
  bool done = gridDim.x == 1;
#pragma unroll 1
  while (true) {
    total = detail::reduce_block<threads>(total, shared, combine);
    if (done) break;
    if (threadIdx.x == 0) {
      partials[blockIdx.x] = total;
      __threadfence();
      is_last = atomicInc(finished_blocks, gridDim.x - 1) == gridDim.x - 1;  // wraps to zero for the next launch
    }
    __syncthreads();
    if (is_last == 0) return;
    __threadfence();
    total = identity;
#pragma unroll 4
    for (u32 b = threadIdx.x; b < gridDim.x; b += threads) total = combine(total, partials[b]);
    done = true;
  }
  if (threadIdx.x == 0) finish(total);
}

#endif

}  // namespace query::gpu
