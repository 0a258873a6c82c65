// Rows made contiguous by key, in the manner of Dandelion's grouping: key map (row -> dense group id), sizes of groups, their prefix sum,
// and the shuffle of row ids. Also the build side of a join with repeated keys, `distinct` and the set operations.
//
//   map_keys       row -> group id, unique keys and first claim by the way      (repeat after growing, table_of_ids; ids stay)
//   count_groups   group id -> rows
//   <scan>         sizes -> offsets, exclusive, one entry more than groups      (scan.cuh)
//   shuffle_rows   offsets -> row ids, contiguous by group, in any order within a group; or, where order counts, in place of all three:
//   <radix sort>   of (group id, row id) pairs by the ids' bits: stable         (radix_sort.cuh)
//   offsets_of_sorted   sorted ids -> offsets, the same: no row adds to a counter, for which those of a frequent key would queue up
//
//   bool key_of(u64 i, Key& key)         row functor: loads, filters and keys row i
//   void created(u32 id, u64 i)          a new group, with the row that made it; called once a group
//
// Rows that the filter drops have group no_id.
//
//   using table = table_of_ids<bitwise_keys<u64>>;
//   extern "C" __global__ void map(u64 n, table t, const u64* k, u32* group_of, u64* keys_of_groups) {
//     map_keys(n, t, group_of, bitwise_keys<u64>{}, [=](u64 i, u64& key) { key = k[i]; return true; },
//              [=](u32 id, u64 i) { keys_of_groups[id] = k[i]; });
//   }
//   extern "C" __global__ void count(u64 n, const u32* group_of, u64* sizes) { count_groups(n, group_of, sizes); }
#pragma once

#include "gpu_primitives/hash_table.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

// Kernel body. Idempotent: after `full` the host grows the table (grow_ids) and runs it again over all rows.
template <class Keys, class Row, class Created>
__device__ __forceinline__ void map_keys(u64 n, const table_of_ids<Keys>& t, u32* group_of, const Keys& keys, const Row& key_of,
                                         const Created& created) {
  u32 turn = 0;
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (turn++ % 8 == 0 && load_relaxed(t.full)) return;  // a word that all warps of the device ask for
    typename Keys::key_type key;
    u32 id = no_id;
    if (key_of(i, key)) {
      id = known_id(t, keys, key);
      if (id == no_id) id = find_or_insert_id(t, keys, key, [&](u32 id) { created(id, i); });
    }
    group_of[i] = id;
  }
}

namespace detail {

// Positions for the calling lanes at counters[group], one atomic for the first pending lane's group and one a lane for the others. All
// lanes of the warp call it.
__device__ __forceinline__ u64 take_in_group(bool pending, u32 group, u64* counters) {
  const u32 lanes = __ballot_sync(all_lanes, pending);
  if (lanes == 0) return 0;
  const u32 leader = static_cast<u32>(__ffs(static_cast<int>(lanes))) - 1;
  const u32 first = __shfl_sync(all_lanes, group, static_cast<int>(leader));
  const u32 peers = __ballot_sync(all_lanes, pending && group == first);
  u64 base = 0;
  if (lane_id() == leader) base = atomicAdd(&counters[first], static_cast<u64>(__popc(peers)));
  base = __shfl_sync(all_lanes, base, static_cast<int>(leader));
  if (!pending) return 0;
  if (group == first) return base + static_cast<u64>(__popc(peers & lanes_below()));
  return atomicAdd(&counters[group], 1ull);
}

}  // namespace detail

// Kernel body: sizes[id] += rows of the group; sizes zeroed by the host. Blocks of whole warps.
__device__ __forceinline__ void count_groups(u64 n, const u32* group_of, u64* sizes) {
  const u64 step = u64(gridDim.x) * blockDim.x;
  for (u64 base = u64(blockIdx.x) * blockDim.x; base < n; base += step) {
    const u64 i = base + threadIdx.x;
    const u32 group = i < n ? group_of[i] : no_id;
    detail::take_in_group(group != no_id, group, sizes);
  }
}

// Kernel body: where groups begin in rows that were sorted by their group, one entry more than groups, zeroed by the host. Rows without a
// group have no_id and come last.
__device__ __forceinline__ void offsets_of_sorted(u64 n, const u32* sorted, u64* offsets) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const u32 group = sorted[i];
    if (group == no_id) continue;
    if (i == 0 || sorted[i - 1] != group) offsets[group] = i;
    if (i + 1 == n || sorted[i + 1] == no_id) offsets[group + 1] = i + 1;
  }
}

// Kernel body: rows[cursors[group]++] = row; cursors start as a copy of the offsets. In any order within a group.
__device__ __forceinline__ void shuffle_rows(u64 n, const u32* group_of, u64* cursors, u64* rows) {
  const u64 step = u64(gridDim.x) * blockDim.x;
  for (u64 base = u64(blockIdx.x) * blockDim.x; base < n; base += step) {
    const u64 i = base + threadIdx.x;
    const u32 group = i < n ? group_of[i] : no_id;
    const u64 at = detail::take_in_group(group != no_id, group, cursors);
    if (group != no_id) rows[at] = i;
  }
}

// Kernel body: least row of each group, for `distinct` and unions in order of first appearance; first_rows filled with all ones.
__device__ __forceinline__ void first_rows_of_groups(u64 n, const u32* group_of, u64* first_rows) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    const u32 group = group_of[i];
    if (group != no_id && load_relaxed(&first_rows[group]) > i) atomicMin(&first_rows[group], i);
  }
}

// Kernel body: emit(i) for the rows whose key the table has (wanted) or has not: intersect, except, semi-join and anti-join, unordered and
// with repeats as the rows have them. `emit` is called by single threads, in any order.
template <class Keys, class Row, class Emit>
__device__ __forceinline__ void rows_by_presence(u64 n, const table_of_ids<Keys>& t, bool wanted, const Keys& keys, const Row& key_of,
                                                 const Emit& emit) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    typename Keys::key_type key;
    if (key_of(i, key) && (find_id(t, keys, key) != no_id) == wanted) emit(i);
  }
}

#endif

}  // namespace query::gpu
