// Keeps the rows that pass a test, in their order, and writes what is projected of them: filter, projection and loads in one pass.
//
// One launch of any number of blocks of Policy::threads threads (compact_blocks gives a good one). A tile's survivors gather in shared
// memory, each warp's in its own part, and leave in order; the tiles' places come from look-back (look_back.cuh).
//
//   struct row { double x; u32 id; };
//   extern "C" __global__ void positive(const double* x, u64 n, void* temp, u64* count, double* out_x, u32* out_id) {
//     compact<compact_policy<row>, row>(n, temp, count,
//         [=](u64 i, row& r) { r.x = x[i]; r.id = u32(i); return r.x > 0; },
//         [=](u64 at, const row& r) { out_x[at] = r.x; out_id[at] = r.id; });
//   }
#pragma once

#include "gpu_primitives/look_back.cuh"
#include "gpu_primitives/types.cuh"

namespace query::gpu {

// A tile's items take at most 32 KiB of shared memory, so that several blocks share a multiprocessor. Items of more than 1 KiB do not fit.
template <class Item>
struct compact_policy {
  static constexpr u32 threads = 256;
  static constexpr u32 ahead = 1;
  static constexpr u32 items = sizeof(Item) >= 128 ? 1 : sizeof(Item) <= 8 ? 16 : 128 / u32(sizeof(Item));
};

template <class Policy>
QUERY_GPU_BOTH constexpr u64 compact_tiles(u64 n) {
  return divide_up(n, u64(Policy::threads) * Policy::items);
}

// Blocks to launch on a card that holds `resident` of them at once (multiprocessors times blocks per multiprocessor). At least one.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 compact_blocks(u64 n, u64 resident) {
  return larger(smaller(compact_tiles<Policy>(n), resident), u64(1));
}

// Bytes of temporary storage, aligned to 128; all of it must be zero before each launch.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 compact_temp_bytes(u64 n) {
  return 128 + tile_counts::bytes(compact_tiles<Policy>(n));
}

#if QUERY_GPU_DEVICE_CODE

// keep(i, item) -> bool loads and tests row i and projects it into `item` (which need not be set when the row is dropped); it is called once
// a row. write(at, item) stores the at-th row kept. *count becomes the number of rows kept, also for n = 0.
template <class Policy, class Item, class Keep, class Write>
__device__ __forceinline__ void compact(u64 n, void* temp, u64* count, Keep keep, Write write) {
  constexpr u32 threads = Policy::threads;
  constexpr u32 warps = threads / warp_size;
  constexpr u32 items = Policy::items;
  constexpr u32 warp_items = items * warp_size;
  static_assert(sizeof(Item) * threads * items + 256 <= 48 * 1024, "compact: an item is too large for shared memory; write row ids");
  __shared__ alignas(16) u8 raw[sizeof(Item) * threads * items];
  __shared__ u32 kept_by_warp[warps];
  __shared__ u64 shared_tile;
  __shared__ u64 shared_before;

  u64* counter = static_cast<u64*>(temp);
  void* states = static_cast<u8*>(temp) + 128;
  const u64 tiles = compact_tiles<Policy>(n);
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;
  const u32 below = lanes_below();
  Item* staged = reinterpret_cast<Item*>(raw) + warp * warp_items;

  if (n == 0 && blockIdx.x == 0 && threadIdx.x == 0) *count = 0;
  if (threadIdx.x == 0) shared_tile = atomicAdd(counter, u64(1));
  __syncthreads();
  u64 tile = shared_tile;
  while (tile < tiles) {
    const u64 first = tile * (u64(threads) * items) + warp * warp_items + lane;
    Item item[items];
    u32 kept_bits = 0;
    if ((tile + 1) * (u64(threads) * items) <= n) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) kept_bits |= u32(keep(first + j * warp_size, item[j])) << j;
    } else {
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        if (first + j * warp_size < n) kept_bits |= u32(keep(first + j * warp_size, item[j])) << j;
      }
    }
    __syncwarp();  // this warp has written its rows of the tile before
    u32 kept = 0;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const bool keeps = (kept_bits >> j & 1) != 0;
      const u32 keepers = __ballot_sync(all_lanes, keeps);
      if (keeps) staged[kept + __popc(keepers & below)] = item[j];
      kept += __popc(keepers);
    }
    if (lane == 0) kept_by_warp[warp] = kept;
    __syncthreads();

    u32 before_warp = 0, total = 0;
#pragma unroll
    for (u32 w = 0; w < warps; ++w) {
      if (w == warp) before_warp = total;
      total += kept_by_warp[w];
    }
    if (warp == 0) {
      if (lane == 0) tile_counts::publish(states, tiles, tile, tile == 0 ? tile_flag::inclusive : tile_flag::partial, total);
      const u64 before = look_back<tile_counts, Policy::ahead>(states, tiles, tile, u64(0), [](u64 a, u64 b) { return a + b; });
      if (lane == 0) {
        if (tile != 0) tile_counts::publish(states, tiles, tile, tile_flag::inclusive, before + total);
        if (tile + 1 == tiles) *count = before + total;
        shared_before = before;
      }
    }
    __syncthreads();

    u64 next = 0;  // on its way while survivors leave
    if (threadIdx.x == 0 && gridDim.x < tiles) next = atomicAdd(counter, u64(1));
    const u64 at = shared_before + before_warp;
#pragma unroll 4
    for (u32 k = lane; k < kept; k += warp_size) write(at + k, staged[k]);
    if (gridDim.x >= tiles) return;  // every block has had its tile
    if (threadIdx.x == 0) shared_tile = next;
    __syncthreads();
    tile = shared_tile;
  }
}

#endif

}  // namespace query::gpu
