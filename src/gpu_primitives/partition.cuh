// Moves rows into at most 256 partitions - by hash, range, or any function of the row - keeping their order within each.
//
// It is one pass of the radix sort (radix_sort.cuh) whose digit is the partition. For more partitions sort by the partition's number.
// Launches: partition_count, then partition_move, in one stream; shapes, temporary and shared memory are those of the sort:
// radix_histogram_blocks, radix_sweep_blocks, radix_temp_bytes, radix_shared_bytes, with Key = u8.
//
//   using policy = partition_policy<u32>;
//   extern "C" __global__ void count(const u64* hash, u64 n, void* temp, u64* starts) {
//     partition_count<policy>(n, temp, [=](u64 i) { return u32(hash[i] >> 58); }, 64, starts);
//   }
//   extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void move(const u64* hash, u64 n, void* temp, u32* row_ids) {
//     extern __shared__ __align__(16) u8 shared[];   // radix_shared_bytes<policy, u8, u32>() of them
//     partition_move<policy, u32, u32>(n, temp, shared, [=](u64 i) { return u32(hash[i] >> 58); }, [](u64 i) { return u32(i); },
//         [=](u64 at, u32 row) { row_ids[at] = row; });
//   }
#pragma once

#include "gpu_primitives/radix_sort.cuh"

namespace query::gpu {

template <class Value>
using partition_policy = radix_policy<u8, Value>;

#if QUERY_GPU_DEVICE_CODE

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
