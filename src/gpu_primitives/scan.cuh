// Running totals: what lies before each row (exclusive) or up to it (inclusive), for any associative operation, in one pass.
//
// One launch of any number of blocks of Policy::threads threads (scan_blocks gives a good one). Rows are read and written coalesced and pass
// through shared memory, where each thread takes a run of them; the tiles' totals travel by look-back (look_back.cuh).
//
//   extern "C" __global__ void offsets(const u32* sizes, u64 n, void* temp, u64* out, u64* total) {
//     exclusive_scan<scan_policy<u64>, u64>(n, temp, u64(0), [=](u64 i) -> u64 { return sizes[i]; },
//         [](u64 a, u64 b) { return a + b; }, [=](u64 i, u64 before) { out[i] = before; }, [=](u64 sum) { *total = sum; });
//   }
#pragma once

#include "gpu_primitives/look_back.cuh"
#include "gpu_primitives/types.cuh"

namespace query::gpu {

// The rows of a thread are odd in number, so that its run starts in a memory bank of its own.
template <class T>
struct scan_policy {
  static constexpr u32 threads = 256;
  static constexpr u32 ahead = 1;
  static constexpr u32 items = sizeof(T) <= 4 ? 23 : sizeof(T) <= 8 ? 15 : sizeof(T) <= 16 ? 7 : sizeof(T) <= 32 ? 3 : 1;
};

template <class Policy>
QUERY_GPU_BOTH constexpr u64 scan_tiles(u64 n) {
  return divide_up(n, u64(Policy::threads) * Policy::items);
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
  constexpr u32 threads = Policy::threads;
  constexpr u32 warps = threads / warp_size;
  constexpr u32 items = Policy::items;
  constexpr u32 warp_items = items * warp_size;
  using messages = tile_messages<T>;
  static_assert(sizeof(T) * threads * items + 256 + sizeof(T) * (warps + 1) <= 48 * 1024, "scan: the value is too large for shared memory");
  __shared__ alignas(16) u8 raw[sizeof(T) * threads * items];
  __shared__ alignas(16) u8 raw_totals[sizeof(T) * (warps + 1)];
  __shared__ u64 shared_tile;

  u64* counter = static_cast<u64*>(temp);
  void* states = static_cast<u8*>(temp) + 128;
  const u64 tiles = scan_tiles<Policy>(n);
  const u32 lane = lane_id();
  const u32 warp = threadIdx.x / warp_size;
  T* staged = reinterpret_cast<T*>(raw) + warp * warp_items;
  T* totals = reinterpret_cast<T*>(raw_totals);
  T* before_tile = totals + warps;

  if (n == 0 && blockIdx.x == 0 && threadIdx.x == 0) finish(identity);
  if (threadIdx.x == 0) shared_tile = atomicAdd(counter, u64(1));
  __syncthreads();
  u64 tile = shared_tile;
  while (tile < tiles) {
    const u64 first = tile * (u64(threads) * items) + warp * warp_items + lane;
    const bool full = (tile + 1) * (u64(threads) * items) <= n;
    T item[items];
    if (full) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) item[j] = load(first + j * warp_size);
    } else {
#pragma unroll
      for (u32 j = 0; j < items; ++j) item[j] = first + j * warp_size < n ? load(first + j * warp_size) : identity;
    }
    __syncwarp();  // this warp has written its rows of the tile before
#pragma unroll
    for (u32 j = 0; j < items; ++j) staged[j * warp_size + lane] = item[j];
    __syncwarp();
#pragma unroll
    for (u32 j = 0; j < items; ++j) item[j] = staged[lane * items + j];

    T sum = item[0];
#pragma unroll
    for (u32 j = 1; j < items; ++j) sum = combine(sum, item[j]);
#pragma unroll
    for (u32 d = 1; d < warp_size; d *= 2) {
      const T nearer = shuffle_up(sum, d);
      if (lane >= d) sum = combine(nearer, sum);
    }
    if (lane == warp_size - 1) totals[warp] = sum;
    T before = shuffle_up(sum, 1);
    if (lane == 0) before = identity;
    __syncthreads();

    T before_warp = identity, total = identity;
#pragma unroll
    for (u32 w = 0; w < warps; ++w) {
      if (w == warp) before_warp = total;
      total = combine(total, totals[w]);
    }
    if (warp == 0) {
      if (lane == 0) messages::publish(states, tiles, tile, tile == 0 ? tile_flag::inclusive : tile_flag::partial, total);
      __syncwarp();
      const T earlier = look_back<messages, Policy::ahead>(states, tiles, tile, identity, combine);
      if (lane == 0) {
        const T through = combine(earlier, total);
        if (tile != 0) messages::publish(states, tiles, tile, tile_flag::inclusive, through);
        if (tile + 1 == tiles) finish(through);
        *before_tile = earlier;
      }
    }
    __syncthreads();

    before = combine(combine(*before_tile, before_warp), before);
    u64 next = 0;  // on its way while results leave
    if (threadIdx.x == 0 && gridDim.x < tiles) next = atomicAdd(counter, u64(1));
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const T through = combine(before, item[j]);
      staged[lane * items + j] = Inclusive ? through : before;
      before = through;
    }
    __syncwarp();
    if (full) {
#pragma unroll
      for (u32 j = 0; j < items; ++j) write(first + j * warp_size, staged[j * warp_size + lane]);
    } else {
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        if (first + j * warp_size < n) write(first + j * warp_size, staged[j * warp_size + lane]);
      }
    }
    if (gridDim.x >= tiles) return;  // every block has had its tile
    if (threadIdx.x == 0) shared_tile = next;
    __syncthreads();
    tile = shared_tile;
  }
}

}  // namespace detail

// load(i) -> T reads row i, once. write(i, value) gets the combination of rows [0, i) - inclusive_scan: [0, i] - of every row i; it may
// overwrite row i. finish(total) is called once, by one thread, with the combination of all rows. combine(a, b) is associative, need not
// commute, and leaves the other operand as it is when one is `identity`.
template <class Policy, class T, class Load, class Combine, class Write, class Finish>
__device__ __forceinline__ void exclusive_scan(u64 n, void* temp, const T& identity, Load load, Combine combine, Write write, Finish finish) {
  detail::scan<Policy, T, false>(n, temp, identity, load, combine, write, finish);
}

template <class Policy, class T, class Load, class Combine, class Write, class Finish>
__device__ __forceinline__ void inclusive_scan(u64 n, void* temp, const T& identity, Load load, Combine combine, Write write, Finish finish) {
  detail::scan<Policy, T, true>(n, temp, identity, load, combine, write, finish);
}

#endif

}  // namespace query::gpu
