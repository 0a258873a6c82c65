// Moves rows into at most 256 partitions - by range, by hash, or by any function of the row - keeping their order within each.
//
//   range_part(key_of, bounds, n)       n bounds in order, n + 1 partitions: that of a row is how many bounds do not come after its key
//   hash_part(key_of, keys, parts)      by the hash of a key, `keys` of hash_keys.cuh
//   hash_part(hash_of, parts)           by a hash of the caller's
//
// make functions of a row. The order of range_part is that of sort_keys.cuh: NaNs are equal and behind every number, so they are in the
// last partition, -0.0 is 0.0. Between two equal bounds no key lies: that partition is empty, as are those that no row is in. A key is in
// one partition however many rows have it; hash_part evens out keys, not rows of one key.
//
// The move is one pass of the radix sort (radix_sort.cuh) whose digit is the partition. For more partitions sort by the partition's number.
// Launches: partition_count, then partition_move, in one stream; shapes, temporary and shared memory are those of the sort:
// radix_histogram_blocks, radix_sweep_blocks, radix_temp_bytes, radix_shared_bytes, with Key = u8.
//
//   using policy = partition_policy<u32>;
//   __device__ auto part_of(const double* price, const double* bounds) {   // 64 of these: price < bounds[0] is in partition 0
//     return range_part([=](u64 i) { return price[i]; }, bounds, 64);
//   }
//   extern "C" __global__ void count(const double* price, const double* bounds, u64 n, void* temp, u64* starts) {
//     partition_count<policy>(n, temp, part_of(price, bounds), 65, starts);
//   }
//   extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void move(const double* price, const double* bounds, u64 n,
//                                                                                      void* temp, u32* row_ids) {
//     extern __shared__ __align__(16) u8 shared[];   // radix_shared_bytes<policy, u8, u32>() of them
//     partition_move<policy, u32, u32>(n, temp, shared, part_of(price, bounds), [](u64 i) { return u32(i); },
//                                      [=](u64 at, u32 row) { row_ids[at] = row; });
//   }
//
// By hash: hash_part([=](u64 i) { return id[i]; }, bitwise_keys<u64>{}, 64) in the place of range_part.
#pragma once

#include "gpu_primitives/hash_keys.cuh"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/sort_keys.cuh"

namespace query::gpu {

template <class Value>
using partition_policy = radix_policy<u8, Value>;

// The order of numbers in sorts.
struct number_order {
  template <class T>
  QUERY_GPU_BOTH bool operator()(T a, T b) const { return sort_key(a) < sort_key(b); }
};

namespace detail {

template <class KeyOf, class Bound, class Before>
struct part_by_range {
  KeyOf key_of;
  const Bound* bounds;
  u32 n;
  Before before;

  QUERY_GPU_BOTH u32 operator()(u64 i) const {
    const auto key = key_of(i);
    u32 from = 0;
    for (u32 to = n; from < to;) {
      const u32 middle = (from + to) / 2;
      if (before(key, bounds[middle])) {
        to = middle;
      } else {
        from = middle + 1;
      }
    }
    return from;
  }
};

}  // namespace detail

// The partition of row i by its key_of(i): n <= 255 bounds, in memory that kernels read, in the order of `before`. before(key, bound) ->
// does the key come before the bound: for keys that are no numbers, and for other orders.
template <class KeyOf, class Bound, class Before = number_order>
QUERY_GPU_BOTH inline detail::part_by_range<KeyOf, Bound, Before> range_part(KeyOf key_of, const Bound* bounds, u32 n, Before before = {}) {
  return {key_of, bounds, n, before};
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

template <class HashOf>
struct part_by_hash {
  HashOf hash_of;
  u32 parts;

  // Other bits than those that place a key in a table, in a partition of groups or on a device: a partition's keys spread over a table.
  __device__ __forceinline__ u32 operator()(u64 i) const {
    return __umulhi(static_cast<u32>(mix64(u64(hash_of(i)) + 0xd1b54a32d192ed03ull) >> 32), parts);
  }
};

template <class KeyOf, class Keys>
struct hash_of_key {
  KeyOf key_of;
  Keys keys;

  __device__ __forceinline__ u64 operator()(u64 i) const { return keys.hash(key_of(i)); }
};

}  // namespace detail

// The partition of row i by its hash_of(i), of 64 bits; any hash is correct, one that tells keys apart spreads them. 1 <= parts <= 256.
template <class HashOf>
__device__ __forceinline__ detail::part_by_hash<HashOf> hash_part(HashOf hash_of, u32 parts) {
  return {hash_of, parts};
}
// The same by the hash that `keys` has of key_of(i): keys that are equal to it are in one partition. Floats: their canonical_bits.
template <class KeyOf, class Keys>
__device__ __forceinline__ detail::part_by_hash<detail::hash_of_key<KeyOf, Keys>> hash_part(KeyOf key_of, Keys keys, u32 parts) {
  return {{key_of, keys}, parts};
}

// part_of(i) -> partition of row i, below 256; it is called again by partition_move. starts[p] becomes the place of partition p's first
// row, for p in [0, parts]; starts[parts] is n. Not written if `starts` is null.
template <class Policy, class PartOf>
__device__ __forceinline__ void partition_count(u64 n, void* temp, PartOf part_of, u32 parts, u64* starts) {
  const bool is_last = radix_histogram<Policy, radix_bits>(n, temp, [=](u64 i) { return u8(part_of(i)); });
  if (!is_last || starts == nullptr) return;
  __syncthreads();
  const u64* bins = reinterpret_cast<const u64*>(static_cast<u8*>(temp) + detail::radix_histograms_at);
  for (u32 p = threadIdx.x; p <= parts; p += Policy::histogram_threads) starts[p] = p < radix_bins ? bins[p] : n;
}

// value_of(i) is what moves of row i, write(at, value) puts it in its place. Count: u32 or u64, see radix_fits_32_bit_counts.
template <class Policy, class Value, class Count, class PartOf, class ValueOf, class Write>
__device__ __forceinline__ void partition_move(u64 n, void* temp, u8* shared, PartOf part_of, ValueOf value_of, Write write) {
  radix_sweep<Policy, radix_bits, u8, Value, Count>(
      0, n, temp, radix_buffers<u8, Value>{}, shared, [=](u64 i) { return u8(part_of(i)); }, value_of, [](u64, u8) {}, write);
}

#endif

}  // namespace query::gpu
