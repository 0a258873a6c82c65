// One row for each key, the first to appear: distinct, union, intersect, except. One table of the keys of the rows that may stay; a
// slot's payload becomes the least number of a row with that key.
//
//   first_rows       rows -> table                             repeat with a larger table where `full` is set; unions: once an input
//   present_keys     rows of another input -> present[slot]    intersect and except only
//   flag_rows        table -> flags[row] = 1
//   <compaction>     the rows with a flag, in order            (compact.cuh)
//
//   bool key_of(u64 i, Key& key)    row functor: loads, filters and keys row i
//
//   using table = hash_table_ref<bitwise_keys<u64>, u32>;
//   extern "C" __global__ void first(u64 n, table t, u32* full, const u64* keys) {
//     first_rows(n, 0, t, full, bitwise_keys<u64>{}, [=](u64 i, u64& key) { key = keys[i]; return true; });
//   }
//   extern "C" __global__ void flag(table t, u8* flags, u64* count) { flag_rows(t, nullptr, true, flags, count); }
//
// The host fills the table with bytes 0xff, `present` and `flags` with zero. Number: u32 or u64, as rows are numbered.
#pragma once

#include "gpu_primitives/hash_table.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

// Kernel body. Row i has number `from + i`. Ends early when the table is full.
template <class Keys, class Number, class Row>
__device__ __forceinline__ void first_rows(u64 n, u64 from, const hash_table_ref<Keys, Number>& t, u32* full, const Keys& keys,
                                           const Row& key_of) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    if (load_relaxed(full)) return;
    typename Keys::key_type key;
    if (!key_of(i, key)) continue;
    bool fresh;
    const u64 at = find_or_claim(t, keys, key, keys.hash(key), fresh);
    if (at == no_slot) {
      store_relaxed(full, 1u);
      return;
    }
    // A fresh slot has the number that is greater than any.
    Number* least = &t.slots[at].payload;
    const Number number = static_cast<Number>(from + i);
    if (load_relaxed(least) > number) atomicMin(least, number);
  }
}

// Kernel body: present[slot] = 1 for the keys of the rows that the table has.
template <class Keys, class Number, class Row>
__device__ __forceinline__ void present_keys(u64 n, const hash_table_ref<Keys, Number>& t, u8* present, const Keys& keys,
                                             const Row& key_of) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    typename Keys::key_type key;
    if (!key_of(i, key)) continue;
    const u64 at = find_slot(t, keys, key, keys.hash(key));
    if (at != no_slot && !present[at]) present[at] = 1;
  }
}

// Kernel body: flags[row] = 1 for the first row of every key; where `present` is not null, of those keys alone for which it is `wanted`.
// *count grows by their number. Blocks of whole warps.
template <class Keys, class Number>
__device__ __forceinline__ void flag_rows(const hash_table_ref<Keys, Number>& t, const u8* present, bool wanted, u8* flags, u64* count) {
  const u64 slots = table_slots(t.bits);
  u64 flagged = 0;
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < slots; at += u64(gridDim.x) * blockDim.x) {
    if (!slot_taken(t, at) || (present && (present[at] != 0) != wanted)) continue;
    flags[t.slots[at].payload] = 1;
    ++flagged;
  }
#pragma unroll
  for (u32 d = warp_size / 2; d; d /= 2) flagged += __shfl_down_sync(all_lanes, flagged, d);
  if (lane_id() == 0 && flagged) atomicAdd(count, flagged);
}

#endif

}  // namespace query::gpu
