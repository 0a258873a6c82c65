// Output of a filtering kernel in the order of its input, in one pass: tiles take tickets, count what they keep, and learn where to write
// by decoupled look-back (Merrill and Garland, "Single-pass parallel prefix scan with decoupled look-back", 2016).
//
//   ordered_append a{ticket, states, total};           // zeroed by the host: 1, append_states(tiles) and 1 words
//   u64 tile = a.take_tile();                          // block-uniform
//   u64 first = a.publish(tile, kept_in_tile);         // block-uniform; tiles before it are already being worked on, so it ends
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

QUERY_GPU_BOTH constexpr u64 append_states(u64 tiles) { return larger<u64>(tiles, 1); }

#if QUERY_GPU_DEVICE_CODE

// A state is 0 (nothing known), count << 2 | 1 (of the tile alone) or count << 2 | 2 (of the tile and all before).
struct ordered_append {
  u64* ticket;
  u64* states;
  u64* total;  // what the last tile writes: the size of the output

  __device__ __forceinline__ u64 take_tile() const {
    __shared__ u64 taken;
    __syncthreads();
    if (threadIdx.x == 0) taken = atomicAdd(ticket, 1ull);
    __syncthreads();
    return taken;
  }

  // Says how many the tile keeps; any time later `resolve` finds where they go. A block announces a tile before it waits for another.
  __device__ __forceinline__ void announce(u64 tile, u64 count) const {
    if (threadIdx.x == 0) store_relaxed(&states[tile], count << 2 | (tile == 0 ? 2 : 1));
  }

  // `last` says that no tile follows. Block-uniform.
  __device__ __forceinline__ u64 resolve(u64 tile, u64 count, bool last) const {
    __shared__ u64 first;
    if (threadIdx.x < warp_size) {
      u64 before = 0;
      if (tile != 0) {
        // 32 tiles at a time, the nearest in lane 0.
        for (u64 nearest = tile;; nearest -= warp_size) {
          u64 state = 2;
          if (nearest > lane_id()) {
            do state = load_relaxed(&states[nearest - 1 - lane_id()]);
            while (state == 0);
          }
          const u32 prefixes = __ballot_sync(all_lanes, (state & 2) != 0);
          const u32 stop = prefixes ? static_cast<u32>(__ffs(static_cast<int>(prefixes))) - 1 : warp_size;
          u64 part = lane_id() <= stop ? state >> 2 : 0;
#pragma unroll
          for (u32 d = warp_size / 2; d; d /= 2) part += __shfl_down_sync(all_lanes, part, d);
          before += __shfl_sync(all_lanes, part, 0);
          if (prefixes) break;
        }
        if (lane_id() == 0) store_relaxed(&states[tile], (before + count) << 2 | 2);
      }
      if (lane_id() == 0) {
        first = before;
        if (last) *total = before + count;
      }
    }
    __syncthreads();
    return first;
  }

  __device__ __forceinline__ u64 publish(u64 tile, u64 count, bool last) const {
    announce(tile, count);
    return resolve(tile, count, last);
  }
};

// The same without order: one atomic a tile. `total` is zeroed by the host; tiles go by block.
struct unordered_append {
  u64* total;

  __device__ __forceinline__ u64 take_tile() const { return blockIdx.x; }
  __device__ __forceinline__ u64 publish(u64, u64 count, bool) const {
    __shared__ u64 first;
    if (threadIdx.x == 0) first = atomicAdd(total, count);
    __syncthreads();
    return first;
  }
};

#endif

}  // namespace query::gpu
