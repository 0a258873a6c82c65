// Keeps the rows that pass a test, in their order, and writes what is projected of them: filter, projection and loads in one pass.
//
// One launch of any number of blocks of Policy::threads threads (compact_blocks gives a good one). The last warp of a block coordinates,
// the others work; a block always has two tiles under way. While the workers load and test tile n, the coordinator finds the place of
// tile t before it by look-back (look_back.cuh); then the workers write t's survivors from shared memory and put n's there, while the
// coordinator publishes n's count and takes the next tile.
//
//   struct row { double x; u32 id; };
//   extern "C" __global__ void positive(const double* x, u64 n, void* temp, u64* count, double* out_x, u32* out_id) {
//     compact<compact_policy<row>, row>(n, temp, count,
//         [=](u64 i, row& r) { r.x = x[i]; r.id = u32(i); return r.x > 0; },
//         [=](u64 at, const row& r) { out_x[at] = r.x; out_id[at] = r.id; });
//   }
#pragma once

#include "gpu_primitives/look_back.cuh"
#include "gpu_primitives/row_writes.cuh"
#include "gpu_primitives/types.cuh"

namespace query::gpu {

// A tile is (threads - 32) * items rows and at most 46 KiB of shared memory: items of more than 144 bytes do not fit, write row ids
// instead. `blocks` belongs into the kernel's __launch_bounds__(threads, blocks): with more registers fewer blocks share a multiprocessor.
template <class Item>
struct compact_policy {
  static constexpr bool is_narrow = sizeof(Item) <= 4;
  static constexpr u32 threads = is_narrow ? 288 : 352;
  static constexpr u32 items = is_narrow ? 32 : sizeof(Item) <= 8 ? 18 : sizeof(Item) >= 144 ? 1 : 144 / u32(sizeof(Item));
  static constexpr u32 blocks = is_narrow ? 4 : 3;
  static constexpr u32 unrolled = items;
};

// For rows that take loops of their own: keep() is in the kernel once and can be inlined.
template <class Item>
struct compact_loops_policy : compact_policy<Item> {
  static constexpr u32 unrolled = 1;
};

// Rows of one tile.
template <class Policy>
QUERY_GPU_BOTH constexpr u32 compact_tile() {
  return (Policy::threads - warp_size) * Policy::items;
}

template <class Policy>
QUERY_GPU_BOTH constexpr u64 compact_tiles(u64 n) {
  return divide_up(n, compact_tile<Policy>());
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

// keep(i, item) -> bool loads and tests row i and projects it into `item` (which need not be set when the row is dropped); it is called
// once a row. write(at, item) stores the at-th row kept, or is rows_as_they_lie (row_writes.cuh). *count becomes the
// number of rows kept, also for n = 0.
template <class Policy, class Item, class Keep, class Write>
__device__ __forceinline__ void compact(u64 n, void* temp, u64* count, Keep keep, Write write) {
  constexpr u32 workers = Policy::threads / warp_size - 1;  // warps
  constexpr u32 items = Policy::items;
  constexpr u32 warp_items = items * warp_size;
  constexpr u32 tile_rows = compact_tile<Policy>();
  static_assert(workers >= 1 && workers <= warp_size && items <= 32, "compact: 2 to 33 warps, at most 32 items a thread");
  static_assert(sizeof(Item) * tile_rows + 512 <= 48 * 1024, "compact: an item is too large for shared memory; write row ids");
  __shared__ alignas(16) u8 raw[sizeof(Item) * tile_rows];
  __shared__ u32 kept_by_warp[warp_size];
  __shared__ u64 place_by_warp[warp_size];  // where each warp's survivors of tile t go
  __shared__ u64 shared_tile;

  u64* counter = static_cast<u64*>(temp);
  void* states = static_cast<u8*>(temp) + 128;
  const u64 tiles = compact_tiles<Policy>(n);
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;

  if (n == 0 && blockIdx.x == 0 && threadIdx.x == 0) *count = 0;
  if (threadIdx.x == 0) shared_tile = atomicAdd(counter, u64(1));
  __syncthreads();
  u64 tile = shared_tile;  // n above; t is the one before it, if any
  if (tile >= tiles) return;

  if (warp == workers) {
    u64 previous = ~u64(0);
    u32 kept_in_warp = 0, kept_through_warp = 0;  // of tile t, in the lane of each worker
    while (true) {
      if (previous != ~u64(0)) {
        const u64 before = look_back<tile_counts>(states, tiles, previous, u64(0), [](u64 a, u64 b) { return a + b; });
        const u64 through = before + shuffle_from(kept_through_warp, warp_size - 1);
        if (lane == 0 && previous != 0) tile_counts::publish(states, tiles, previous, tile_flag::inclusive, through);
        if (lane == 0 && previous + 1 == tiles) *count = through;
        place_by_warp[lane] = before + kept_through_warp - kept_in_warp;
      }
      __syncthreads();  // A: t has its place, n is loaded
      if (tile >= tiles) return;
      kept_in_warp = lane < workers ? kept_by_warp[lane] : 0;
      kept_through_warp = kept_in_warp;
#pragma unroll
      for (u32 d = 1; d < warp_size; d *= 2) {
        const u32 nearer = __shfl_up_sync(all_lanes, kept_through_warp, d);
        if (lane >= d) kept_through_warp += nearer;
      }
      if (lane == warp_size - 1) {
        tile_counts::publish(states, tiles, tile, tile == 0 ? tile_flag::inclusive : tile_flag::partial, kept_through_warp);
        shared_tile = atomicAdd(counter, u64(1));
      }
      previous = tile;
      __syncthreads();  // B: n is in shared memory, the tile after it is known
      tile = shared_tile;
    }
  }

  const u32 below = lanes_below();
  Item* staged = reinterpret_cast<Item*>(raw) + warp * warp_items;
  u32 kept = 0;  // of tile t, in this warp
  while (true) {
    Item item[items];
    u32 kept_bits = 0;
    const u64 first = tile * tile_rows + warp * warp_items + lane;
    if (Policy::unrolled > 1 && tile < tiles && (tile + 1) * tile_rows <= n) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) kept_bits |= u32(keep(first + j * warp_size, item[j])) << j;
    } else if (tile < tiles) {
#pragma unroll Policy::unrolled
      for (u32 j = 0; j < items; ++j) {
        if (first + j * warp_size < n) kept_bits |= u32(keep(first + j * warp_size, item[j])) << j;
      }
    }
    const u32 kept_next = __reduce_add_sync(all_lanes, __popc(kept_bits));
    if (lane == 0) kept_by_warp[warp] = kept_next;
    __syncthreads();  // A
    const u64 at = place_by_warp[warp];
    if constexpr (copies_rows<Write>) {
      write.copy(at, staged, kept);
    } else {
#pragma unroll 4
      for (u32 k = lane; k < kept; k += warp_size) write(at + k, staged[k]);
    }
    if (tile >= tiles) return;
    __syncwarp();
    kept = 0;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const bool keeps = (kept_bits >> j & 1) != 0;
      const u32 keepers = __ballot_sync(all_lanes, keeps);
      if (keeps) staged[kept + __popc(keepers & below)] = item[j];
      kept += __popc(keepers);
    }
    __syncthreads();  // B
    tile = shared_tile;
  }
}

#endif

}  // namespace query::gpu
