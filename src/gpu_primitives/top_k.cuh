// The k first rows by key, in order, for k up to 1024: one read of the rows.
//
// One launch of top_k_blocks<Policy> blocks of Policy::threads threads. A block keeps its best k rows in shared memory; a row that beats
// the worst of them joins a buffer, which is sorted and cut to k when it is full. The block that finishes last does the same with the rows
// that the blocks kept. Rows of equal key come in their order, so the result is that of a stable sort cut to k.
//
//   #include "gpu_primitives/sort_keys.cuh"   // sort_key
//   extern "C" __global__ void ten_cheapest(const float* price, u64 n, void* temp, u64* rows) {
//     top_k<top_k_policy>(n, 10, temp, [=](u64 i) -> u64 { return sort_key(price[i]); },
//                         [=](u32 at, u64 key, u64 row) { rows[at] = row; });
//   }
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// `buffer` rows are a power of two, and at least `most` + threads.
struct top_k_policy {
  static constexpr u32 threads = 512;
  static constexpr u32 items = 8;
  static constexpr u32 buffer = 2048;
  static constexpr u32 most = 1024;
};

// Blocks to launch on a card that holds `resident` of them at once. At least one.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 top_k_blocks(u64 n, u64 resident) {
  return larger(smaller(divide_up(n, 16 * u64(Policy::threads) * Policy::items), resident), u64(1));
}

// Bytes of temporary storage, aligned to 128, for a launch of that many blocks. Its first 128 bytes must be zero before the first launch; a
// finished launch leaves them so.
QUERY_GPU_BOTH constexpr u64 top_k_temp_bytes(u64 blocks, u32 k) { return 128 + blocks * k * 16; }

#if QUERY_GPU_DEVICE_CODE

namespace detail {

// Rows by (key, row); shared memory holds the two words apart, so that neighbours do not share a bank.
template <class Policy>
struct best_rows {
  u64 keys[Policy::buffer];
  u64 rows[Policy::buffer];
  u32 count;

  __device__ __forceinline__ static bool before(u64 a_key, u64 a_row, u64 b_key, u64 b_row) {
    return a_key < b_key || (a_key == b_key && a_row < b_row);
  }

  // Bitonic sort of the buffer, then all but the first k are dropped. Every thread of the block calls it, between barriers.
  __device__ __forceinline__ void cut(u32 k) {
    __syncthreads();
    for (u32 i = count + threadIdx.x; i < Policy::buffer; i += Policy::threads) keys[i] = rows[i] = ~u64(0);
    u32 used = 2;
    while (used < count) used *= 2;
    __syncthreads();
    for (u32 run = 2; run <= used; run *= 2) {
      for (u32 step = run / 2; step > 0; step /= 2) {
        for (u32 pair = threadIdx.x; pair < used / 2; pair += Policy::threads) {
          const u32 a = 2 * pair - (pair & (step - 1));
          const u32 b = a + step;
          const bool up = (a & run) == 0;
          if (before(keys[b], rows[b], keys[a], rows[a]) == up) {
            const u64 key = keys[a], row = rows[a];
            keys[a] = keys[b];
            rows[a] = rows[b];
            keys[b] = key;
            rows[b] = row;
          }
        }
        __syncthreads();
      }
    }
    if (threadIdx.x == 0) count = smaller(count, k);
    __syncthreads();
  }
};

}  // namespace detail

// key_of(i) -> u64 whose numeric order is the order wanted (sort_keys.cuh). write(at, key, row) gets the row at place `at` of the result,
// for at < min(k, n), once each, from any thread. 1 <= k <= Policy::most.
template <class Policy, class KeyOf, class Write>
__device__ __forceinline__ void top_k(u64 n, u32 k, void* temp, KeyOf key_of, Write write) {
  constexpr u32 threads = Policy::threads;
  constexpr u32 items = Policy::items;
  static_assert(Policy::most + threads <= Policy::buffer && (Policy::buffer & (Policy::buffer - 1)) == 0, "top_k: the buffer is too small");
  __shared__ detail::best_rows<Policy> best;
  __shared__ u32 is_last;
  if (threadIdx.x == 0) best.count = 0;
  __syncthreads();

  // The buffer's first k rows are sorted only after a cut, so until then nothing is turned away and the limit is none.
  u64 limit_key = ~u64(0), limit_row = ~u64(0);
  constexpr u64 tile = u64(threads) * items;
  for (u64 begin = blockIdx.x * tile; begin < n; begin += gridDim.x * tile) {
    u64 key[items];
    bool any = false;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const u64 i = begin + j * threads + threadIdx.x;
      key[j] = i < n ? key_of(i) : ~u64(0);
      any = any || (i < n && detail::best_rows<Policy>::before(key[j], i, limit_key, limit_row));
    }
    if (__syncthreads_or(any) == 0) continue;
#pragma unroll 1
    for (u32 j = 0; j < items; ++j) {
      const u64 i = begin + j * threads + threadIdx.x;
      u64 own = key[0];
#pragma unroll
      for (u32 o = 1; o < items; ++o) own = o == j ? key[o] : own;
      if (best.count + threads > Policy::buffer) {
        best.cut(k);
        if (best.count == k) {
          limit_key = best.keys[k - 1];
          limit_row = best.rows[k - 1];
        }
      }
      __syncthreads();
      if (i < n && detail::best_rows<Policy>::before(own, i, limit_key, limit_row)) {
        const u32 at = atomicAdd(&best.count, 1u);
        best.keys[at] = own;
        best.rows[at] = i;
      }
      __syncthreads();
    }
  }
  best.cut(k);

  u64* kept = reinterpret_cast<u64*>(static_cast<u8*>(temp) + 128);  // the j-th row of block b at [j * blocks + b]
  if (gridDim.x > 1) {
    for (u32 j = threadIdx.x; j < k; j += threads) {
      const u64 at = 2 * (u64(j) * gridDim.x + blockIdx.x);
      kept[at] = best.keys[j];
      kept[at + 1] = best.rows[j];
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) is_last = atomicInc(static_cast<u32*>(temp), gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (is_last == 0) return;
    __threadfence();
    if (threadIdx.x == 0) best.count = 0;
    limit_key = limit_row = ~u64(0);
    __syncthreads();
    // Places in turn, all blocks' rows of one place together: the first turn in which no row is good enough is the last.
    for (u32 j = 0; j < k; ++j) {
      bool any = false;
      for (u64 first = 0; first < gridDim.x; first += threads) {
        const u64 b = first + threadIdx.x;
        if (best.count + threads > Policy::buffer) {
          best.cut(k);
          if (best.count == k) {
            limit_key = best.keys[k - 1];
            limit_row = best.rows[k - 1];
          }
        }
        __syncthreads();
        if (b < gridDim.x) {
          const u64 at = 2 * (u64(j) * gridDim.x + b);
          const u64 key = kept[at], row = kept[at + 1];
          if (detail::best_rows<Policy>::before(key, row, limit_key, limit_row)) {
            any = true;
            const u32 place = atomicAdd(&best.count, 1u);
            best.keys[place] = key;
            best.rows[place] = row;
          }
        }
        __syncthreads();
      }
      if (__syncthreads_or(any) == 0) break;
    }
    best.cut(k);
  }
  for (u32 j = threadIdx.x; j < best.count; j += threads) write(j, best.keys[j], best.rows[j]);
}

#endif

}  // namespace query::gpu
