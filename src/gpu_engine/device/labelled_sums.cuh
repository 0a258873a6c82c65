// Sums of arrays by small numbers: rows have a label below `labels`, and each label has a state. For spread_sums
// (group_shared.cuh) of more groups than a block has room for states of.
//
// A block takes a stretch of rows, sorts their places by label in shared memory (a counting sort), and then its warps
// read the rows label by label: a lane an element, the sum in registers, one atomic addition to the state in global
// memory a label and warp. The rows of a stretch lie close together, so reading them in another order costs nothing.
//
//   extern __shared__ ...; sum_by_label<Aggregates>(n, labels, stretch, row, states, counts, shared);
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

inline constexpr u32 labelled_threads = 512;

QUERY_GPU_BOTH constexpr u32 labelled_shared_bytes(u32 labels, u32 stretch) {
  return static_cast<u32>(round_up(u64(labels) * 4, 16) + round_up(u64(stretch) * 2, 16));
}

#if QUERY_GPU_DEVICE_CODE

// row(i, label, args) -> bool: false if row i does not count. counts[label] rows, states[label] their sums; both begin
// as they are.
template <class Aggregates, class Row>
__device__ void sum_by_label(u64 n, u32 labels, u32 stretch, const Row& row, typename Aggregates::State* states,
                             u32* counts, unsigned char* shared) {
  constexpr u32 elements = Aggregates::elements;
  constexpr u32 width = elements > 16 ? 32 : elements > 8 ? 16 : 8;  // lanes a row
  constexpr u32 turns = elements > 128 ? 4 : (elements + width - 1) / width, ahead = turns >= 4 ? 4 : 8;
  constexpr u32 walkers = labelled_threads / width;
  auto* const ends = reinterpret_cast<u32*>(shared);
  auto* const order = reinterpret_cast<u16*>(shared + round_up(u64(labels) * 4, 16));
  __shared__ u32 warp_sums[labelled_threads / warp_size];
  const u64 begin = blockIdx.x * u64(stretch);
  const u32 size = static_cast<u32>(smaller<u64>(stretch, n - begin));
  const u32 lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;

  for (u32 l = threadIdx.x; l < labels; l += labelled_threads) ends[l] = 0;
  __syncthreads();
  for (u32 i = threadIdx.x; i < size; i += labelled_threads) {
    u32 label;
    typename Aggregates::Args args;
    if (row(begin + i, label, args)) atomicAdd(ends + label, 1u);
  }
  __syncthreads();
  // The counts become where each label begins.
  const u32 share = (labels + labelled_threads - 1) / labelled_threads, from = smaller(threadIdx.x * share, labels),
            to = smaller(from + share, labels);
  u32 sum = 0;
  for (u32 l = from; l < to; ++l) {
    if (ends[l]) atomicAdd(counts + l, ends[l]);
    sum += ends[l];
  }
  u32 before = sum;
#pragma unroll
  for (u32 d = 1; d < warp_size; d *= 2) {
    const u32 x = __shfl_up_sync(all_lanes, before, d);
    if (lane >= d) before += x;
  }
  if (lane == warp_size - 1) warp_sums[warp] = before;
  __syncthreads();
  before -= sum;
  u32 total = 0;
  for (u32 w = 0; w < labelled_threads / warp_size; ++w) {
    if (w < warp) before += warp_sums[w];
    total += warp_sums[w];
  }
  for (u32 l = from; l < to; ++l) {
    const u32 c = ends[l];
    ends[l] = before;
    before += c;
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < size; i += labelled_threads) {
    u32 label;
    typename Aggregates::Args args;
    if (row(begin + i, label, args)) order[atomicAdd(ends + label, 1u)] = static_cast<u16>(i);
  }
  __syncthreads();  // now ends[l] is where label l ends

  const u32 part = (total + walkers - 1) / walkers, walker = threadIdx.x / width, e0 = threadIdx.x % width;
  const u32 first = smaller(walker * part, total), last = smaller(first + part, total);
  if (first == last) return;
  const auto numbers = [&](u32 at) {
    u32 label;
    typename Aggregates::Args args;
    row(begin + order[at], label, args);
    return Aggregates::array_of(args);
  };
  u32 first_label = 0;
  for (u32 low = 0, high = labels; low < high;) {
    const u32 middle = (low + high) / 2;
    if (ends[middle] > first)
      high = first_label = middle;
    else
      low = middle + 1;
  }
#pragma unroll 1
  for (u32 base = 0; base < elements; base += width * turns) {
    u32 label = first_label, run = first;
    double sums[turns] = {};
    const auto give = [&](u32 until) {
      typename Aggregates::State& s = states[label];
#pragma unroll
      for (u32 t = 0; t < turns; ++t) {
        const u32 e = base + t * width + e0;
        if (e < elements) Aggregates::add_element_atomic(s, e, sums[t]);
        sums[t] = 0;
      }
      if (base == 0 && e0 == 0) Aggregates::add_rows_atomic(s, until - run);
      run = until;
    };
    u32 end = ends[label];
#pragma unroll 1
    for (u32 at = first; at < last; at += ahead) {
      decltype(+*Aggregates::array_of(typename Aggregates::Args{})) v[ahead][turns];
#pragma unroll
      for (u32 a = 0; a < ahead; ++a) {
        const auto x = numbers(smaller(at + a, last - 1));
#pragma unroll
        for (u32 t = 0; t < turns; ++t) {
          const u32 e = base + t * width + e0;
          v[a][t] = e < elements ? x[e] : 0;
        }
      }
#pragma unroll
      for (u32 a = 0; a < ahead; ++a) {
        if (at + a >= last) break;
        if (at + a == end) {
          give(at + a);
          do end = ends[++label];
          while (end == at + a);
        }
#pragma unroll
        for (u32 t = 0; t < turns; ++t) sums[t] += static_cast<double>(v[a][t]);
      }
    }
    give(last);
  }
}

#endif

}  // namespace query::gpu
