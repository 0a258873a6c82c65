// Merges two sorted runs into one, stably: of equal rows those of run a come first, and each run keeps its order. One read and one write.
//
// The algorithm is merge path (Odeh, Green, Mwassi, Shmueli and Birk, "Merge Path - Parallel Merging Made Simple", 2012; Green, McColl
// and Bader, "GPU Merge Path: A GPU Merging Algorithm", 2012). What comes before place d of the result is some i first rows of a and the
// d - i first rows of b; i is found by bisection, without merging. So merge_split divides the result into tiles, one bisection a tile,
// and merge_runs divides each tile among its threads in the same way, in shared memory; a thread merges a few rows one by one.
// O(na + nb + tiles * log(na + nb)), whatever the keys are and however the rows of one run lie among those of the other.
//
// Launches: merge_split, then merge_runs, in one stream. Shapes: merge_split_blocks, merge_blocks, merge_temp_bytes.
// Of a row only its number among the tile's moves; values are read once their place is known, near each other as their rows are.
//
//   using policy = merge_policy<u64, u32>;
//   struct ascending { __device__ bool operator()(u64 x, u64 y) const { return x < y; } };
//   extern "C" __global__ void split(const u64* a, u64 na, const u64* b, u64 nb, u64* temp) {
//     merge_split<policy>(na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; }, ascending{});
//   }
//   extern "C" __global__ __launch_bounds__(policy::threads, policy::blocks) void merge(
//       const u64* a, const u32* a_rows, u64 na, const u64* b, const u32* b_rows, u64 nb, const u64* temp, u64* keys, u32* rows) {
//     merge_runs<policy, u64, u32>(na, nb, temp, [=](u64 i) { return a[i]; }, [=](u64 i) { return b[i]; },
//                                  [=](u64 i) { return a_rows[i]; }, [=](u64 i) { return b_rows[i]; }, ascending{},
//                                  [=](u64 at, u64 key) { keys[at] = key; }, [=](u64 at, u32 row) { rows[at] = row; });
//   }
//
// Keys are trivially copyable values of any type that `before` orders. Numbers: sort_keys.cuh makes words of them, with NaNs in a place of
// their own, which `<` of floats does not have. Wide keys and strings: let the key be a row's number and `before` look the rows up.
//
// More than two runs: rounds that merge neighbours, each a read and a write of all rows. One launch of each kernel does a round: its
// blockIdx.y is the pair, which picks runs, results and a part of the temporary storage; gridDim.x is that of the longest pair.
#pragma once

#include "gpu_primitives/types.cuh"

namespace query::gpu {

// A tile is threads * items rows, at most 46 KiB of shared memory at sizeof(Key) + 2 bytes each. `blocks` belongs into the
// __launch_bounds__(threads, blocks) of merge_runs. Odd numbers of items spread neighbouring threads over the banks of shared memory.
template <class Key, class Value>
struct merge_policy {
  static constexpr bool is_pair = !__is_empty(Value);
  static constexpr u32 threads = is_pair && sizeof(Key) > 4 && sizeof(Key) <= 8 ? 512 : 256;
  static constexpr u32 items = sizeof(Key) <= 4    ? (is_pair ? 13 : 17)
                               : sizeof(Key) <= 8  ? (is_pair ? 9 : 15)
                               : sizeof(Key) <= 16 ? 7
                               : sizeof(Key) <= 32 ? 5
                               : sizeof(Key) <= 56 ? 3
                                                   : 1;
  static constexpr u32 blocks = sizeof(Key) <= 4    ? (is_pair && sizeof(Value) <= 4 ? 8 : 6)
                                : sizeof(Key) <= 8  ? (is_pair ? 3 : 5)
                                : sizeof(Key) <= 16 ? 6
                                                    : 4;
  static constexpr u32 split_threads = 128;
};

// Rows of one tile.
template <class Policy>
QUERY_GPU_BOTH constexpr u32 merge_tile() {
  return Policy::threads * Policy::items;
}

// For n = na + nb rows.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 merge_tiles(u64 n) {
  return divide_up(n, merge_tile<Policy>());
}

// Blocks of Policy::split_threads threads for merge_split, of Policy::threads for merge_runs; both are correct with any number of blocks.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 merge_split_blocks(u64 n) {
  return smaller(divide_up(merge_tiles<Policy>(n) + 1, u64(Policy::split_threads)), u64(0x7fffffff));
}
template <class Policy>
QUERY_GPU_BOTH constexpr u64 merge_blocks(u64 n) {
  return larger(smaller(merge_tiles<Policy>(n), u64(0x7fffffff)), u64(1));
}

// Bytes of temporary storage, aligned to 8, which need not be cleared.
template <class Policy>
QUERY_GPU_BOTH constexpr u64 merge_temp_bytes(u64 n) {
  return (merge_tiles<Policy>(n) + 1) * sizeof(u64);
}

// How many of the first `rows` rows of the merged runs are rows of a; rows <= na + nb. The host may call it too, to cut a merge into parts.
template <class Index, class KeyA, class KeyB, class Before>
QUERY_GPU_BOTH inline Index merge_path(Index rows, Index na, Index nb, const KeyA& key_a, const KeyB& key_b, const Before& before) {
  Index least = rows > nb ? rows - nb : Index(0);
  Index most = smaller(rows, na);
  while (least < most) {
    const Index middle = least + (most - least) / 2;
    if (before(key_b(Index(rows - 1 - middle)), key_a(middle))) {
      most = middle;
    } else {
      least = middle + 1;  // a's row comes no later than b's
    }
  }
  return least;
}

#if QUERY_GPU_DEVICE_CODE

namespace detail {

// visit(item of the thread, place in the tile, which of the tile's rows it is) for a thread's rows of the result.
template <class Policy, class Visit>
__device__ __forceinline__ void for_merged_rows(u32 rows, const u16* sources, const Visit& visit) {
#pragma unroll
  for (u32 j = 0; j < Policy::items; ++j) {
    const u32 k = threadIdx.x + j * Policy::threads;
    if (k < rows) visit(j, k, u32(sources[k]));
  }
}

}  // namespace detail

// Finds where each tile starts in both runs. key_a(i) -> key of row i of the first run, i < na; key_b(i) that of the second, i < nb.
// before(x, y) -> must a row of key x come before one of key y: a strict weak order, by which both runs are sorted.
template <class Policy, class KeyA, class KeyB, class Before>
__device__ __forceinline__ void merge_split(u64 na, u64 nb, u64* temp, KeyA key_a, KeyB key_b, Before before) {
  const u64 n = na + nb;
  const u64 tiles = merge_tiles<Policy>(n);
  for (u64 t = u64(blockIdx.x) * blockDim.x + threadIdx.x; t <= tiles; t += u64(gridDim.x) * blockDim.x) {
    temp[t] = merge_path(smaller(t * merge_tile<Policy>(), n), na, nb, key_a, key_b, before);
  }
}

// Merges. na, nb, temp, keys and `before` as in merge_split; value_a(i), value_b(i) give what moves with the rows, or are not called for
// Value = no_value. write_key(at, key) and write_value(at, value) get the at-th row of the result, neighbouring threads neighbouring rows.
template <class Policy, class Key, class Value, class KeyA, class KeyB, class ValueA, class ValueB, class Before, class WriteKey,
          class WriteValue>
__device__ __forceinline__ void merge_runs(u64 na, u64 nb, const u64* temp, KeyA key_a, KeyB key_b, ValueA value_a, ValueB value_b,
                                           Before before, WriteKey write_key, WriteValue write_value) {
  constexpr u32 threads = Policy::threads;
  constexpr u32 items = Policy::items;
  constexpr u32 tile_rows = merge_tile<Policy>();
  static_assert(tile_rows <= 1u << 16, "merge: places in a tile have 16 bits");
  static_assert((sizeof(Key) + 2) * tile_rows + sizeof(Key) * items <= 48 * 1024,
                "merge: keys are too wide for shared memory; merge row numbers");
  __shared__ alignas(16) u8 raw[sizeof(Key) * (tile_rows + items)];  // the last thread reads behind the rows, for nothing
  __shared__ u16 sources[tile_rows];  // of each row of the result: which of the tile's rows it is, first those of a, then those of b
  Key* staged = reinterpret_cast<Key*>(raw);

  const u64 n = na + nb;
  const u64 tiles = merge_tiles<Policy>(n);
  for (u64 tile = blockIdx.x; tile < tiles; tile += gridDim.x) {
    const u64 begin = tile * tile_rows;
    const u32 rows = u32(smaller(n - begin, u64(tile_rows)));
    const u64 first_a = temp[tile];
    const u32 rows_a = u32(temp[tile + 1] - first_a);
    const u64 from_b = begin - first_a - rows_a;  // row k of the tile, k >= rows_a, is row from_b + k of b

    if (rows == tile_rows) {  // all loads are on their way before the first is waited for
      Key key[items];
#pragma unroll
      for (u32 j = 0; j < items; ++j) {
        const u32 k = threadIdx.x + j * threads;
        key[j] = k < rows_a ? key_a(first_a + k) : key_b(from_b + k);
      }
#pragma unroll
      for (u32 j = 0; j < items; ++j) staged[threadIdx.x + j * threads] = key[j];
    } else {
      for (u32 k = threadIdx.x; k < rows; k += threads) staged[k] = k < rows_a ? key_a(first_a + k) : key_b(from_b + k);
    }
    __syncthreads();

    // Threads behind the last row of the last tile write sources that nobody reads.
    const u32 own = threadIdx.x * items;
    u32 a = merge_path(
        smaller(own, rows), rows_a, rows - rows_a, [=](u32 i) -> const Key& { return staged[i]; },
        [=](u32 i) -> const Key& { return staged[rows_a + i]; }, before);
    u32 b = rows_a + smaller(own, rows) - a;
    Key next_a = staged[a];
    Key next_b = staged[b];  // neither means anything where its run has ended
#pragma unroll
    for (u32 j = 0; j < items; ++j) {
      const bool takes_b = b < rows && (a >= rows_a || before(next_b, next_a));
      sources[own + j] = u16(takes_b ? b : a);
      const Key next = staged[takes_b ? ++b : ++a];
      if (takes_b) {
        next_b = next;
      } else {
        next_a = next;
      }
    }
    __syncthreads();

    if constexpr (!__is_empty(Value)) {
      Value value[items];
      detail::for_merged_rows<Policy>(rows, sources, [&](u32 j, u32, u32 source) {
        value[j] = source < rows_a ? value_a(first_a + source) : value_b(from_b + source);
      });
      detail::for_merged_rows<Policy>(rows, sources, [&](u32, u32 k, u32 source) { write_key(begin + k, staged[source]); });
      detail::for_merged_rows<Policy>(rows, sources, [&](u32 j, u32 k, u32) { write_value(begin + k, value[j]); });
    } else {
      detail::for_merged_rows<Policy>(rows, sources, [&](u32, u32 k, u32 source) { write_key(begin + k, staged[source]); });
    }
    if (tile + gridDim.x < tiles) __syncthreads();  // the next tile takes the place of this one
  }
}

#endif

}  // namespace query::gpu
