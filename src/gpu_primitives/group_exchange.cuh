// Groups on their way between devices: (key, state) pairs are put apart by the hash of their key, one contiguous range for each device,
// in two passes over them.
//
//   count_pairs     -> counts[part]                    any grid; counts zeroed by the host
//   scatter_pairs   -> out, part behind part           any grid; cursors zeroed by the host
//
// Ranges are few and pairs are neighbours within a block's turn, so they leave side by side without a stay in shared memory: states may
// be of any size. The order within a part is any.
//
//   using pair = group_partial<u64, State>;
//   extern "C" __global__ void count(const pair* pairs, u64 n, u32 devices, u64* counts) {
//     count_pairs(pairs, n, devices, counts, bitwise_keys<u64>{});
//   }
//   extern "C" __global__ void part(const pair* pairs, u64 n, u32 devices, const u64* counts, u64* cursors, pair* out) {
//     scatter_pairs(pairs, n, devices, counts, cursors, out, bitwise_keys<u64>{});
//   }
#pragma once

#include "gpu_primitives/group_table.cuh"

namespace query::gpu {

inline constexpr u32 most_exchange_parts = 32;

#if QUERY_GPU_DEVICE_CODE

// Other bits of the hash than those that place a key in a table, in a partition of rows or in one of spilled groups.
__device__ __forceinline__ u32 exchange_part(u64 hash, u32 parts) {
  return __umulhi(static_cast<u32>(mix64(hash + 0x9e3779b97f4a7c15ull) >> 32), parts);
}

// Kernel body. Blocks of at least `parts` threads.
template <class Keys, class State>
__device__ __forceinline__ void count_pairs(const group_partial<typename Keys::key_type, State>* pairs, u64 n, u32 parts, u64* counts,
                                            const Keys& keys) {
  __shared__ u32 mine[most_exchange_parts];
  if (threadIdx.x < parts) mine[threadIdx.x] = 0;
  __syncthreads();
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x)
    atomicAdd(&mine[exchange_part(keys.hash(pairs[i].key), parts)], 1u);
  __syncthreads();
  if (threadIdx.x < parts && mine[threadIdx.x]) atomicAdd(&counts[threadIdx.x], u64(mine[threadIdx.x]));
}

// Kernel body. Blocks of at least `parts` threads; `counts` as count_pairs left them.
template <class Keys, class State>
__device__ __forceinline__ void scatter_pairs(const group_partial<typename Keys::key_type, State>* pairs, u64 n, u32 parts,
                                              const u64* counts, u64* cursors, group_partial<typename Keys::key_type, State>* out,
                                              const Keys& keys) {
  constexpr u32 items = 8;
  __shared__ u32 mine[most_exchange_parts];
  __shared__ u64 starts[most_exchange_parts], to[most_exchange_parts];
  if (threadIdx.x == 0) {
    u64 before = 0;
    for (u32 p = 0; p < parts; ++p) {
      starts[p] = before;
      before += counts[p];
    }
  }
  const u64 turn = u64(blockDim.x) * items;
  for (u64 first = blockIdx.x * turn; first < n; first += gridDim.x * turn) {
    if (threadIdx.x < parts) mine[threadIdx.x] = 0;
    __syncthreads();
    u32 part[items], rank[items];
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const u64 i = first + j * blockDim.x + threadIdx.x;
      part[j] = i < n ? exchange_part(keys.hash(pairs[i].key), parts) : parts;
      rank[j] = i < n ? atomicAdd(&mine[part[j]], 1u) : 0;
    }
    __syncthreads();
    if (threadIdx.x < parts)
      to[threadIdx.x] = starts[threadIdx.x] + (mine[threadIdx.x] ? atomicAdd(&cursors[threadIdx.x], u64(mine[threadIdx.x])) : 0);
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      if (part[j] < parts) out[to[part[j]] + rank[j]] = pairs[first + j * blockDim.x + threadIdx.x];
    }
  }
}

#endif

}  // namespace query::gpu
