// The output of a hash join with repeated build keys, by tiles of equal work. Build rows lie grouped by key (grouper.cuh); probe rows
// are taken in blocks, and the path through all blocks (each block's rows, then its outputs) is cut into equal tiles, as merge path does
// (Green, McColl, Bader, "GPU Merge Path", 2012): a probe row with 50,000 partners is written by many tiles, and a tile passes over a few
// blocks of rows without partners. No list of probe rows is written: a tile finds places in a block again, from numbers of groups.
//
//   find_partners      probe row -> number of group or no_id                             several rows a thread under way at once
//   count_partners     block of probe rows -> outputs                                    once the groups' offsets are known
//   exclusive_scan     starts[b]: outputs before block b, starts[blocks]: all            scan.cuh
//   expand_partners    tile of the path -> emit(at, probe_row, build_row)
//
// Number, emit, kinds and order are those of join_expand.cuh, which lists probe rows with output instead.
#pragma once

#include "gpu_primitives/join_expand.cuh"

namespace query::gpu {

inline constexpr u32 partner_threads = 256;     // of either kernel
inline constexpr u32 partner_rows = 1024;       // probe rows of a block: a tile of the path reads as many numbers of groups again
inline constexpr u32 partner_path = 4096;       // rows and outputs of a tile

QUERY_GPU_BOTH constexpr u64 partner_blocks(u64 n) { return divide_up(n, partner_rows); }
QUERY_GPU_BOTH constexpr u64 partner_tiles(u64 n, u64 outputs) {
  return divide_up(partner_blocks(n) * partner_rows + outputs, partner_path);
}
// Shared memory that expand_partners has of its own.
inline constexpr u64 partner_shared_bytes = partner_rows * 12 + 256;

#if QUERY_GPU_DEVICE_CODE

namespace detail {

// The ids of Items keys; their probes travel together. For kernels that run after all insertions: slots are read through the L1 cache,
// since a key that many rows look for would have them queue up at one place of the L2 cache.
template <int Items, class Keys>
__device__ __forceinline__ void find_ids(const table_of_ids<Keys>& t, const Keys& keys, const typename Keys::key_type (&key)[Items],
                                         const bool (&valid)[Items], u32 (&id)[Items]) {
  bool found[Items];
  find_payloads(t.table, keys, key, valid, id, found, [](u64) {});
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    if (!found[j]) id[j] = no_id;
  }
}

}  // namespace detail

// Kernel body: partner_blocks(n) blocks of partner_threads. group_of[i] = the build group of probe row i or no_id. `asked` (or null): a
// byte a build group, zeroed by the host. No key of the table was refused.
template <class Keys, class Row>
__device__ __forceinline__ void find_partners(u64 n, const table_of_ids<Keys>& t, u32* group_of, u8* asked, const Keys& keys,
                                              const Row& key_of) {
  constexpr int items = partner_rows / partner_threads;
  const u64 first = u64(blockIdx.x) * partner_rows + threadIdx.x;
  typename Keys::key_type key[items];
  bool valid[items];
  u32 id[items];
#pragma unroll
  for (u32 j = 0; j < items; ++j) {
    const u64 i = first + j * partner_threads;
    valid[j] = i < n && key_of(i, key[j]);
  }
  detail::find_ids<items>(t, keys, key, valid, id);
#pragma unroll
  for (u32 j = 0; j < items; ++j) {
    const u64 i = first + j * partner_threads;
    if (i < n) group_of[i] = id[j];
    if (asked && id[j] != no_id) asked[id[j]] = 1;
  }
}

// Kernel body: partner_blocks(n) blocks of partner_threads. sums[b]: outputs of block b.
template <join_kind Kind>
__device__ __forceinline__ void count_partners(const match_source& s, u64* sums) {
  __shared__ u64 warp_sums[partner_threads / warp_size];
  u64 outputs = 0, first;
#pragma unroll
  for (u32 j = 0; j < partner_rows; j += partner_threads)
    outputs += detail::outputs_of<Kind>(s, u64(blockIdx.x) * partner_rows + j + threadIdx.x, first);
#pragma unroll
  for (u32 d = warp_size / 2; d; d /= 2) outputs += __shfl_down_sync(all_lanes, outputs, d);
  if (lane_id() == 0) warp_sums[threadIdx.x / warp_size] = outputs;
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (u32 w = 1; w < partner_threads / warp_size; ++w) outputs += warp_sums[w];
    sums[blockIdx.x] = outputs;
  }
}

namespace detail {

// The block of probe rows at place `at` of the path. Called by all threads.
__device__ __forceinline__ u64 block_on_path(const u64* starts, u64 blocks, u64 at) {
  u64 low = 0, count = blocks;  // it is one of these, and block `low` begins at or before `at`
  while (count > 1) {
    const u64 step = divide_up(count, partner_threads), mine = threadIdx.x * step;
    const u32 before =
        static_cast<u32>(__syncthreads_count(mine < count && (low + mine) * partner_rows + starts[low + mine] <= at)) - 1;
    low += before * step;
    count = smaller(step, count - before * step);
  }
  return low;
}

// Rows of the output that a thread makes before it writes any: what they read is under way at once.
template <u64 Bytes>
inline constexpr u32 rows_in_flight = Bytes <= 32 ? 4 : 2;

}  // namespace detail

// Kernel body: partner_tiles(n, outputs) blocks of partner_threads; starts as scanned, one more than blocks. `build_rows`: an array of the
// build rows' numbers by group, or positions_in_groups. `emit` may be one of whole_warp_rows.
template <join_kind Kind, class Rows, class Emit>
__device__ __forceinline__ void expand_partners(const match_source& s, const u64* starts, const Rows& build_rows, const Emit& emit) {
  constexpr u32 items = partner_rows / partner_threads, warps = partner_threads / warp_size;
  // Of each row of a block: twice the place of its first output behind `low`, and one more if that has no partner; the place of its
  // partners in build_rows, less that of the first output.
  __shared__ u32 row_starts[partner_rows];
  __shared__ u64 row_bases[partner_rows];
  __shared__ u64 warp_sums[warps];
  const u64 blocks = partner_blocks(s.n), begin = u64(blockIdx.x) * partner_path, end = begin + partner_path;
  for (u64 b = detail::block_on_path(starts, blocks, begin); b < blocks; ++b) {
    const u64 at = starts[b], behind_rows = (b + 1) * partner_rows + at;
    if (behind_rows >= end) return;
    const u64 low = begin > behind_rows ? begin - behind_rows : 0, high = smaller(starts[b + 1] - at, end - behind_rows);
    if (low >= high) continue;

    u64 first[items], outputs[items], sum = 0;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      outputs[j] = detail::outputs_of<Kind>(s, b * partner_rows + threadIdx.x * items + j, first[j]);
      sum += outputs[j];
    }
    u64 before = sum;
#pragma unroll
    for (u32 d = 1; d < warp_size; d *= 2) {
      const u64 other = __shfl_up_sync(all_lanes, before, d);
      if (lane_id() >= d) before += other;
    }
    __syncthreads();  // the block before is done with shared memory
    if (lane_id() == warp_size - 1) warp_sums[threadIdx.x / warp_size] = before;
    __syncthreads();
    before -= sum;
#pragma unroll
    for (u32 w = 0; w < warps; ++w) {
      if (w < threadIdx.x / warp_size) before += warp_sums[w];
    }
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const u32 row = threadIdx.x * items + j;
      const u64 start = before <= low ? 0 : smaller(before - low, u64(partner_path));
      row_starts[row] = static_cast<u32>(start) * 2 + (Kind == join_kind::left && outputs[j] && first[j] == no_row);
      row_bases[row] = first[j] + low - before;
      before += outputs[j];
    }
    __syncthreads();

    const u32 count = static_cast<u32>(high - low);
    const auto find = [&](u32 x, u64& probe_row, u64& build_row) {
      u32 row = 0;  // the last that begins at or before x; those without output begin where the next one does
#pragma unroll
      for (u32 step = partner_rows / 2; step; step /= 2) {
        if (row_starts[row + step] <= 2 * x + 1) row += step;
      }
      probe_row = b * partner_rows + row;
      build_row = no_row;
      if (Kind != join_kind::left || !(row_starts[row] & 1)) build_row = build_rows[row_bases[row] + x];
    };
    if constexpr (takes_whole_warps<Emit>) {
      using row_type = typename Emit::row_type;
      constexpr u32 flight = detail::rows_in_flight<sizeof(row_type)>;
      for (u32 x = threadIdx.x; x - threadIdx.x < count; x += flight * partner_threads) {
        row_type made[flight];
        u64 probe_row[flight], build_row[flight];
#pragma unroll
        for (u32 j = 0; j < flight; ++j) find(smaller(x + j * partner_threads, count - 1), probe_row[j], build_row[j]);
#pragma unroll
        for (u32 j = 0; j < flight; ++j) made[j] = emit.make(at, probe_row[j], build_row[j]);
#pragma unroll
        for (u32 j = 0; j < flight; ++j) {
          const u32 mine = x + j * partner_threads;
          emit.put(mine < count, at + low + mine, made[j]);
        }
      }
    } else {
      for (u32 x = threadIdx.x; x < count; x += partner_threads) {
        u64 probe_row, build_row;
        find(x, probe_row, build_row);
        emit(at + low + x, probe_row, build_row);
      }
    }
  }
}

#endif

}  // namespace query::gpu
