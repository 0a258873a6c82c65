// Hash join with repeated build keys: the build rows are grouped by key (grouper.cuh: ids, offsets, row ids by group), the probe rows
// look up their group, and the output is cut into equal tiles, so that a probe row with 50,000 partners is written by many threads.
//
//   lookup_groups       probe row -> group id                                 kept in an array, so that each probe row searches once
//   count_matches       per block of probe rows: entries and outputs          then an exclusive scan of both (scan.cuh, scan_blocks)
//   list_matches        probe rows with output, in order: {row, first, at}    the compact list that output tiles search
//   expand_matches      output tile -> emit(at, probe_row, build_row)         each thread one output at a time, found by binary search
//   unmatched_groups    build rows of groups that nobody asked for            right and full joins
//
// Number: u32 or u64, as the build rows are numbered.
//
//   void emit(u64 at, u64 probe_row, u64 build_row)     build_row = no_row for a left join's row without partner
//
// Output is in the order of probe rows, and of build rows as the grouper has them.
//
//   extern "C" __global__ void list(match_source s, const u64* entries, const u64* outputs, match_entry* matches) {
//     list_matches<join_kind::inner>(s, entries, outputs, matches);
//   }
//   extern "C" __global__ void expand(u64 outputs, const match_entry* matches, u64 entries, const u32* rows, u64* probes, u64* builds) {
//     expand_matches(outputs, matches, entries, rows, [=](u64 at, u64 p, u64 b) { probes[at] = p; builds[at] = b; });
//   }
#pragma once

#include "gpu_primitives/grouper.cuh"
#include "gpu_primitives/join_unique.cuh"

namespace query::gpu {

inline constexpr u64 no_row = ~0ull;

// Threads and rows of a block of count_matches and list_matches, and outputs of a block of expand_matches.
inline constexpr u32 match_threads = 256;
inline constexpr u32 match_rows = 2048;
inline constexpr u32 expand_threads = 256;
inline constexpr u32 expand_outputs = 1024;

QUERY_GPU_BOTH constexpr u64 match_blocks(u64 n) { return divide_up(n, match_rows); }
QUERY_GPU_BOTH constexpr u64 expand_blocks(u64 outputs) { return divide_up(outputs, expand_outputs); }

// A probe row with output: its partners are build_rows[first ...] (no_row: none, one output), its output starts at `at`.
struct match_entry {
  u64 probe_row;
  u64 first;
  u64 at;
};

#if QUERY_GPU_DEVICE_CODE

// Kernel body: group_of[i] = the build group of probe row i or no_id (also for rows the filter drops; then live[i] = 0, where `live` is
// not null). `asked` (or null): a byte a build group, zeroed by the host.
template <class Keys, class Row>
__device__ __forceinline__ void lookup_groups(u64 n, const table_of_ids<Keys>& t, u32* group_of, u8* live, u8* asked, const Keys& keys,
                                              const Row& key_of) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    typename Keys::key_type key;
    const bool valid = key_of(i, key);
    const u32 group = valid ? find_id(t, keys, key) : no_id;
    group_of[i] = group;
    if (live) live[i] = valid;
    if (asked && group != no_id) asked[group] = 1;
  }
}

// The probe side as count_matches and list_matches read it. offsets: of the build groups, one more than there are. live: as above, for left
// joins alone (null: every row is live).
struct match_source {
  u64 n;
  const u32* group_of;
  const u8* live;
  const u64* offsets;
};

namespace detail {

template <join_kind Kind>
__device__ __forceinline__ u64 outputs_of(const match_source& s, u64 i, u64& first) {
  first = no_row;
  if (i >= s.n) return 0;
  const u32 group = s.group_of[i];
  if (group == no_id) return Kind == join_kind::left && (!s.live || s.live[i]) ? 1 : 0;
  first = s.offsets[group];
  return s.offsets[group + 1] - first;
}

}  // namespace detail

// Kernel body: match_blocks(n) blocks of match_threads. entries[b] and outputs[b] of block b.
template <join_kind Kind>
__device__ __forceinline__ void count_matches(const match_source& s, u64* entries, u64* outputs) {
  __shared__ u64 sums[2][match_threads / warp_size];
  u64 rows = 0, out = 0, first;
  for (u32 j = 0; j < match_rows / match_threads; ++j) {
    const u64 mine = detail::outputs_of<Kind>(s, u64(blockIdx.x) * match_rows + j * match_threads + threadIdx.x, first);
    rows += mine != 0;
    out += mine;
  }
#pragma unroll
  for (u32 d = warp_size / 2; d; d /= 2) {
    rows += __shfl_down_sync(all_lanes, rows, d);
    out += __shfl_down_sync(all_lanes, out, d);
  }
  if (lane_id() == 0) {
    sums[0][threadIdx.x / warp_size] = rows;
    sums[1][threadIdx.x / warp_size] = out;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (u32 w = 1; w < match_threads / warp_size; ++w) {
      rows += sums[0][w];
      out += sums[1][w];
    }
    entries[blockIdx.x] = rows;
    outputs[blockIdx.x] = out;
  }
}

// Kernel body: one block of up to 1024 threads; values[i] becomes the sum of those before it, values[n] the sum of all. For the few
// words of count_matches; longer arrays: scan.cuh.
__device__ __forceinline__ void scan_blocks(u64 n, u64* values) {
  __shared__ u64 warp_sums[warp_size];
  u64 before = 0;
  for (u64 base = 0; base < n; base += blockDim.x) {
    const u64 i = base + threadIdx.x;
    const u64 mine = i < n ? values[i] : 0;
    u64 sum = mine;
#pragma unroll
    for (u32 d = 1; d < warp_size; d *= 2) {
      const u64 other = __shfl_up_sync(all_lanes, sum, d);
      if (lane_id() >= d) sum += other;
    }
    if (lane_id() == warp_size - 1) warp_sums[threadIdx.x / warp_size] = sum;
    __syncthreads();
    u64 total = 0;
    for (u32 w = 0; w < blockDim.x / warp_size; ++w) {
      if (w == threadIdx.x / warp_size) sum += total;
      total += warp_sums[w];
    }
    if (i < n) values[i] = before + sum - mine;
    before += total;
    __syncthreads();
  }
  if (threadIdx.x == 0) values[n] = before;
}

// Kernel body: match_blocks(n) blocks of match_threads; entries and outputs as scanned. list: as many as entries[match_blocks(n)].
template <join_kind Kind>
__device__ __forceinline__ void list_matches(const match_source& s, const u64* entries, const u64* outputs, match_entry* list) {
  constexpr u32 warps = match_threads / warp_size;
  __shared__ u64 warp_outputs[warps];
  __shared__ u32 warp_rows[warps];
  u64 entry = entries[blockIdx.x], at = outputs[blockIdx.x];
  for (u32 j = 0; j < match_rows / match_threads; ++j) {
    const u64 i = u64(blockIdx.x) * match_rows + j * match_threads + threadIdx.x;
    u64 first;
    const u64 mine = detail::outputs_of<Kind>(s, i, first);
    const u32 lanes = __ballot_sync(all_lanes, mine != 0);
    u64 sum = mine;
#pragma unroll
    for (u32 d = 1; d < warp_size; d *= 2) {
      const u64 other = __shfl_up_sync(all_lanes, sum, d);
      if (lane_id() >= d) sum += other;
    }
    if (lane_id() == warp_size - 1) {
      warp_outputs[threadIdx.x / warp_size] = sum;
      warp_rows[threadIdx.x / warp_size] = static_cast<u32>(__popc(static_cast<int>(lanes)));
    }
    __syncthreads();
    u64 my_entry = entry, my_at = at;
#pragma unroll
    for (u32 w = 0; w < warps; ++w) {
      if (w < threadIdx.x / warp_size) {
        my_entry += warp_rows[w];
        my_at += warp_outputs[w];
      }
      entry += warp_rows[w];
      at += warp_outputs[w];
    }
    if (mine) {
      list[my_entry + static_cast<u64>(__popc(static_cast<int>(lanes & lanes_below())))] = match_entry{i, first, my_at + sum - mine};
    }
    __syncthreads();
  }
}

namespace detail {
// The last of list[0, count) that starts at or before `at`; list[0] does.
__device__ __forceinline__ u64 entry_of(const match_entry* list, u64 count, u64 at) {
  u64 low = 0, high = count;
  while (high - low > 1) {
    const u64 middle = low + (high - low) / 2;
    if (list[middle].at <= at) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return low;
}
}  // namespace detail

// Build rows that were gathered by group: results that read each of them often then read neighbours.
struct positions_in_groups {
  __device__ __forceinline__ u64 operator[](u64 at) const { return at; }
};

// Kernel body: expand_blocks(outputs) blocks of expand_threads. A tile of outputs touches at most as many entries: each has an output.
// `build_rows`: an array of the build rows' numbers by group, or positions_in_groups where they lie by group themselves. `emit` may be one
// of whole_warp_rows.
template <class Rows, class Emit>
__device__ __forceinline__ void expand_matches(u64 outputs, const match_entry* list, u64 entries, const Rows& build_rows,
                                               const Emit& emit) {
  __shared__ match_entry tile[expand_outputs];
  __shared__ u64 range[2];
  const u64 begin = u64(blockIdx.x) * expand_outputs;
  const u64 end = smaller(begin + expand_outputs, outputs);
  if (threadIdx.x < 2) range[threadIdx.x] = detail::entry_of(list, entries, threadIdx.x ? end - 1 : begin);
  __syncthreads();
  const u64 first = range[0];
  const u32 count = static_cast<u32>(range[1] - first) + 1;
  for (u32 i = threadIdx.x; i < count; i += expand_threads) tile[i] = list[first + i];
  __syncthreads();
  if constexpr (takes_whole_warps<Emit>) {
    for (u64 base = begin; base < end; base += expand_threads) {
      const u64 at = base + threadIdx.x;
      const bool mine = at < end;
      const match_entry& e = tile[detail::entry_of(tile, count, mine ? at : begin)];
      const u64 build_row = !mine || e.first == no_row ? no_row : build_rows[e.first + (at - e.at)];
      emit(mine, at, e.probe_row, build_row);
    }
  } else {
    for (u64 at = begin + threadIdx.x; at < end; at += expand_threads) {
      const match_entry& e = tile[detail::entry_of(tile, count, at)];
      emit(at, e.probe_row, e.first == no_row ? no_row : build_rows[e.first + (at - e.at)]);
    }
  }
}

// Kernel body: emit(at, build_row) from *count on, for build rows of groups that no probe row asked for. In any order.
template <class Emit>
__device__ __forceinline__ void unmatched_groups(u64 n, const u32* group_of_build, const u8* asked, u64* count, const Emit& emit) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const u32 group = group_of_build[i];
    if (group != no_id && !asked[group]) emit(take_one(count), i);
  }
}

#endif

}  // namespace query::gpu
