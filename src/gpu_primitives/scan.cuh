// Running totals: what lies before each row (exclusive) or up to it (inclusive), for any associative operation, in one pass.
//
// One launch of any number of blocks of Policy::threads threads (scan_blocks gives a good one). As in compact.cuh, the last warp of a block
// coordinates and the others have two tiles under way: while they load and add up tile n, the coordinator finds by look-back
// (look_back.cuh) what lies before tile t; then they finish t. Rows are read and written coalesced and pass through shared memory, where
// each thread takes a run of them. How they are read and written is the caller's: numbers of 4 bytes go 6 % faster with __ldcs and __stcs
// on an H200, where nobody comes back for them soon; those of 8 bytes do not.
//
//   extern "C" __global__ void offsets(const u32* sizes, u64 n, void* temp, u64* out, u64* total) {
//     exclusive_scan<scan_policy<u64>, u64>(n, temp, u64(0), [=](u64 i) -> u64 { return sizes[i]; },
//         [](u64 a, u64 b) { return a + b; }, [=](u64 i, u64 before) { out[i] = before; }, [=](u64 sum) { *total = sum; });
//   }
#pragma once

#include "gpu_primitives/look_back.cuh"
#include "gpu_primitives/types.cuh"

namespace query::gpu {

// A tile is (threads - 32) * items rows. The rows of a thread are odd in number, so that its run starts in a memory bank of its own.
// `blocks` belongs into the kernel's __launch_bounds__(threads, blocks).
template <class T>
struct scan_policy {
  static constexpr u32 threads = sizeof(T) <= 4 ? 160 : 96;
  static constexpr u32 items =
      sizeof(T) <= 8 ? 39 : sizeof(T) <= 16 ? 19 : sizeof(T) <= 32 ? 9 : sizeof(T) <= 64 ? 5 : 1;
  static constexpr u32 blocks = 5;
};

// Rows of one tile.
template <class Policy>
QUERY_GPU_BOTH constexpr u32 scan_tile() {
  return (Policy::threads - warp_size) * Policy::items;
}

template <class Policy>
QUERY_GPU_BOTH constexpr u64 scan_tiles(u64 n) {
  return divide_up(n, scan_tile<Policy>());
}

// Blocks to launch on a card that holds `resident` of them at once (multiprocessors times blocks per multiprocessor). At least one.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 scan_blocks(u64 n, u64 resident) {
  return larger(smaller(scan_tiles<Policy>(n), resident), u64(1));
}

// Bytes of temporary storage, aligned to 128; all of it must be zero before each launch.
template <class Policy, class T>
QUERY_GPU_BOTH constexpr u64 scan_temp_bytes(u64 n) {
  return 128 + tile_messages<T>::bytes(scan_tiles<Policy>(n));
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

template <class Policy, class T, bool Inclusive, class Load, class Combine, class Write, class Finish>
__device__ __forceinline__ void scan(u64 n, void* temp, const T& identity, Load load, Combine combine, Write write, Finish finish) {
  constexpr u32 workers = Policy::threads / warp_size - 1;  // warps
  constexpr u32 items = Policy::items;
  constexpr u32 warp_items = items * warp_size;
  constexpr u32 tile_rows = scan_tile<Policy>();
  constexpr u32 in_last_tile = items > 13 ? 13 : items;
  using messages = tile_messages<T>;
  static_assert(workers >= 1 && workers <= warp_size, "scan: 2 to 33 warps");
  static_assert(2 * sizeof(T) * (tile_rows + warp_size) + 16 <= 48 * 1024, "scan: the value is too large for shared memory");
  __shared__ alignas(16) u8 raw[2 * sizeof(T) * tile_rows];
  __shared__ alignas(16) u8 raw_totals[2 * sizeof(T) * warp_size];
  __shared__ u64 shared_tile;

  u64* counter = static_cast<u64*>(temp);
  void* states = static_cast<u8*>(temp) + 128;
  const u64 tiles = scan_tiles<Policy>(n);
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;
  T* total_by_warp = reinterpret_cast<T*>(raw_totals);     // of tile n
  T* before_by_warp = total_by_warp + warp_size;           // what lies before each warp's rows of tile t

  if (n == 0 && blockIdx.x == 0 && threadIdx.x == 0) finish(identity);
  if (threadIdx.x == 0) shared_tile = atomicAdd(counter, u64(1));
  __syncthreads();
  u64 tile = shared_tile;  // n above; t is the one before it, if any
  if (tile >= tiles) return;
  constexpr u64 none = ~u64(0);
  u64 previous = none;

  if (warp == workers) {
    T before_in_tile = identity, total = identity;  // of tile t; the former in the lane of each worker
    while (true) {
      if (previous != none) {
        const T before = look_back<messages>(states, tiles, previous, identity, combine);
        if (lane == 0) {
          const T through = combine(before, total);
          if (previous != 0) messages::publish(states, tiles, previous, tile_flag::inclusive, through);
          if (previous + 1 == tiles) finish(through);
        }
        before_by_warp[lane] = combine(before, before_in_tile);
      }
      __syncthreads();  // A: what lies before t is known, n is loaded and added up
      if (tile >= tiles) return;
      T through = lane < workers ? total_by_warp[lane] : identity;
#pragma unroll
      for (u32 d = 1; d < warp_size; d *= 2) {
        const T nearer = shuffle_up(through, d);
        if (lane >= d) through = combine(nearer, through);
      }
      before_in_tile = shuffle_up(through, 1);
      if (lane == 0) before_in_tile = identity;
      total = shuffle_from(through, warp_size - 1);
      if (lane == 0) {
        messages::publish(states, tiles, tile, tile == 0 ? tile_flag::inclusive : tile_flag::partial, total);
        shared_tile = atomicAdd(counter, u64(1));
      }
      previous = tile;
      __syncthreads();  // B: t is written, the tile after n is known
      tile = shared_tile;
    }
  }

  T* staged = reinterpret_cast<T*>(raw) + warp * warp_items;  // of tile n
  T* staged_previous = staged + tile_rows;                    // of tile t
  T before_thread = identity;  // in the warp's rows of tile t
  while (true) {
    T before_thread_next = identity;
    if (tile < tiles) {
      const u64 first = tile * tile_rows + warp * warp_items + lane;
      if ((tile + 1) * tile_rows <= n) {
        T item[items];
#pragma unroll
        for (u32 j = 0; j < items; ++j) item[j] = load(first + j * warp_size);
#pragma unroll
        for (u32 j = 0; j < items; ++j) staged[j * warp_size + lane] = item[j];
      } else {
        // One tile at most: as many copies of the caller's code as above would only take their time to compile.
#pragma unroll in_last_tile
        for (u32 j = 0; j < items; ++j) staged[j * warp_size + lane] = first + j * warp_size < n ? load(first + j * warp_size) : identity;
      }
      __syncwarp();
      T sum = staged[lane * items];
#pragma unroll
      for (u32 j = 1; j < items; ++j) sum = combine(sum, staged[lane * items + j]);
#pragma unroll
      for (u32 d = 1; d < warp_size; d *= 2) {
        const T nearer = shuffle_up(sum, d);
        if (lane >= d) sum = combine(nearer, sum);
      }
      if (lane == warp_size - 1) total_by_warp[warp] = sum;
      before_thread_next = shuffle_up(sum, 1);
      if (lane == 0) before_thread_next = identity;
    }
    __syncthreads();  // A

    if (previous != none) {
      T before = combine(before_by_warp[warp], before_thread);
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        const T through = combine(before, staged_previous[lane * items + j]);
        staged_previous[lane * items + j] = Inclusive ? through : before;
        before = through;
      }
      __syncwarp();
      const u64 first = previous * tile_rows + warp * warp_items + lane;
      if ((previous + 1) * tile_rows <= n) {
#pragma unroll
        for (u32 j = 0; j < items; ++j) write(first + j * warp_size, staged_previous[j * warp_size + lane]);
      } else {
#pragma unroll in_last_tile
        for (u32 j = 0; j < items; ++j) {
          if (first + j * warp_size < n) write(first + j * warp_size, staged_previous[j * warp_size + lane]);
        }
      }
      __syncwarp();
    }
    if (tile >= tiles) return;
    T* const freed = staged_previous;
    staged_previous = staged;
    staged = freed;
    before_thread = before_thread_next;
    previous = tile;
    __syncthreads();  // B
    tile = shared_tile;
  }
}

}  // namespace detail

// load(i) -> T reads row i, once. write(i, value) gets the combination of rows [0, i) - inclusive_scan: [0, i] - of every row i; it may
// overwrite row i. finish(total) is called once, by one thread, with the combination of all rows. combine(a, b) is associative, need not
// commute, and leaves the other operand as it is when one is `identity`.
template <class Policy, class T, class Load, class Combine, class Write, class Finish>
__device__ __forceinline__ void exclusive_scan(u64 n, void* temp, const T& identity, Load load, Combine combine, Write write,
                                               Finish finish) {
  detail::scan<Policy, T, false>(n, temp, identity, load, combine, write, finish);
}

template <class Policy, class T, class Load, class Combine, class Write, class Finish>
__device__ __forceinline__ void inclusive_scan(u64 n, void* temp, const T& identity, Load load, Combine combine, Write write,
                                               Finish finish) {
  detail::scan<Policy, T, true>(n, temp, identity, load, combine, write, finish);
}

#endif

}  // namespace query::gpu
