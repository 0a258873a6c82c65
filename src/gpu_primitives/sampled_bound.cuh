// A bound below which the first rows of an order lie, from a sample of them: what lets a sort look at a few rows instead of all.
//
// The sample is one row of each of as many equal runs of rows, at a place of the run that is drawn from its number: rows that lie in an
// order, or in a pattern, are met as fairly as others. The bound is a key and a row number: rows of equal key are cut where they lie, so
// that few rows are below the bound however many keys are equal. If the row at place r of the sample is the bound, about
// r * n / samples rows are not above it.
//
//   extern "C" __global__ void look(const double* x, u64 n, u64* keys, u8* counts) {
//     sample_keys(n, samples, keys, counts, [=](u64 i, u64& key) { key = sort_key(x[i]); return true; });
//   }
//   using policy = sampled_bound_policy;
//   extern "C" __global__ __launch_bounds__(policy::threads) void choose(u64 n, const u64* keys, const u8* counts, u64* bound) {
//     sampled_bound<policy>(n, samples, place, true, keys, counts, bound);
//   }
//   // row i comes no later than the bound: key < bound[0] || (key == bound[0] && i <= bound[1])
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// One block; a sample is at most threads * items rows.
struct sampled_bound_policy {
  static constexpr u32 threads = 1024;
  static constexpr u32 items = 16;
  static constexpr u32 most = threads * items;
};

// Number j of a sample of 1 to n rows. Ascending.
QUERY_GPU_BOTH constexpr u64 sampled_row(u32 j, u32 samples, u64 n) {
  const u64 width = n / samples, wider = n % samples;  // the first runs have one row more
  u64 drawn = (u64(j) + 1) * 0x9E3779B97F4A7C15ull;
  drawn = (drawn ^ (drawn >> 30)) * 0xBF58476D1CE4E5B9ull;
  drawn = (drawn ^ (drawn >> 27)) * 0x94D049BB133111EBull;
  drawn ^= drawn >> 31;
  return j * width + smaller(u64(j), wider) + drawn % (width + (j < wider ? 1 : 0));
}

#if QUERY_GPU_DEVICE_CODE

// key_of(i, key) -> bool: false if row i does not count, as it is filtered out. Any number of blocks and threads; keys and counts have a
// place for each row of the sample.
template <class KeyOf>
__device__ __forceinline__ void sample_keys(u64 n, u32 samples, u64* keys, u8* counts, KeyOf key_of) {
  for (u32 j = blockIdx.x * blockDim.x + threadIdx.x; j < samples; j += gridDim.x * blockDim.x) {
    u64 key = 0;
    const bool does = key_of(sampled_row(j, samples, n), key);
    keys[j] = key;
    counts[j] = does ? 1 : 0;
  }
}

// The bound is the row at `place`, from 1, of the sample in the order of keys and rows. Without `by_row` it includes all rows of its key:
// the key is the beginning of a longer one. Where fewer rows of the sample count, all rows are below it: both words are all ones.
template <class Policy>
__device__ __forceinline__ void sampled_bound(u64 n, u32 samples, u32 place, bool by_row, const u64* keys, const u8* counts, u64* bound) {
  constexpr u32 threads = Policy::threads;
  constexpr u32 items = Policy::items;
  constexpr u32 bins = 256, bins_of_lane = bins / warp_size, of_key = 8, none = ~0u;
  static_assert(threads >= bins && items <= 32 && Policy::most <= 1u << 16, "sampled_bound: a sample has 2^16 rows at most");
  __shared__ u32 in_bin[bins];
  __shared__ u32 found_bin, found_place;

  u64 key[items];
  u32 candidates = 0;  // of this thread's rows, those that agree with the bound so far
#pragma unroll
  for (u32 j = 0; j < items; ++j) {
    const u32 at = j * threads + threadIdx.x;
    key[j] = at < samples ? keys[at] : 0;
    candidates |= u32(at < samples && counts[at] != 0) << j;
  }
  const auto digit_of = [&](u32 j, u32 pass) {
    const u32 at = j * threads + threadIdx.x;
    return pass < of_key ? u32(key[j] >> (56 - 8 * pass)) & (bins - 1) : at >> (8 * (of_key + 1 - pass)) & (bins - 1);
  };
  // Digit by digit, the highest first: those of the key, then those of the place in the sample, whose order is that of the rows.
  u64 bound_key = 0;
  u32 bound_at = 0;
  const u32 passes = by_row ? of_key + 2 : of_key;
#pragma unroll 1
  for (u32 pass = 0; pass < passes; ++pass) {
    if (threadIdx.x < bins) in_bin[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      if ((candidates >> j & 1) != 0) atomicAdd(&in_bin[digit_of(j, pass)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < warp_size) {
      u32 own[bins_of_lane], through = 0;
#pragma unroll
      for (u32 b = 0; b < bins_of_lane; ++b) through += own[b] = in_bin[threadIdx.x * bins_of_lane + b];
      const u32 sum = through;
#pragma unroll
      for (u32 d = 1; d < warp_size; d *= 2) {
        const u32 nearer = __shfl_up_sync(all_lanes, through, d);
        if (threadIdx.x >= d) through += nearer;
      }
      u32 before = through - sum;
      if (before < place && place <= through) {
#pragma unroll
        for (u32 b = 0; b < bins_of_lane; ++b) {
          if (before < place && place <= before + own[b]) {
            found_bin = threadIdx.x * bins_of_lane + b;
            found_place = place - before;
          }
          before += own[b];
        }
      }
      if (threadIdx.x == warp_size - 1 && through < place) found_bin = none;
    }
    __syncthreads();
    const u32 digit = found_bin;
    if (digit == none) {
      if (threadIdx.x == 0) bound[0] = bound[1] = ~u64(0);
      return;
    }
    place = found_place;
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      if (digit_of(j, pass) != digit) candidates &= ~(1u << j);
    }
    if (pass < of_key) bound_key = bound_key << 8 | digit;
    else bound_at = bound_at << 8 | digit;
  }
  if (threadIdx.x != 0) return;
  bound[0] = bound_key;
  bound[1] = by_row ? sampled_row(bound_at, samples, n) : ~u64(0);
}

#endif

}  // namespace query::gpu
