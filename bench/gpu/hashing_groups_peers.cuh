// How others group u32 keys with f64 values: CUB's radix sort over the bits that the keys have and reduce-by-key; a hash table with
// atomics. Each gives its median time in ms and the groups that it found.
#pragma once

#include "hashing_groups_input.cuh"

namespace hashing_bench {

template <class A> struct peer_groups {
  float ms = 0;
  bool right = false;
};

// For A = sum_only, sum_count, statistics.
template <class A> peer_groups<A> group_by_sort(const group_input& in, int key_bits);
// in_blocks: a table a block in shared memory first, for at most 1024 groups.
template <class A> peer_groups<A> group_by_atomics(const group_input& in, bool in_blocks);

}  // namespace hashing_bench
