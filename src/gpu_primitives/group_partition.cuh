// Group-by for many groups: rows are first scattered into partitions by the top bits of the key's hash, so that the groups of one
// partition fit a block's shared memory; then a block aggregates a partition and writes its groups straight to the result. The rows pay one
// more trip through memory and no random access at all.
//
// Exact counts come first, so partitions of any sizes are right. One larger than `chunk` rows (a heavy key) is shared among blocks,
// which leave partials for merge_groups. Also what a hash join's build side goes through (hash_join.cuh): `Args` is then its payload.
//
//   count_partitions   -> counts[p]                       any grid
//   plan_partitions    -> starts, cursors, item_starts    one block
//   scatter_partitions -> keys, args by partition         any grid
//   aggregate_partitions                                  partition_items(n, bits, chunk) blocks
//
// Where the largest partition is known from an earlier run over the same rows, each has room for as many: scatter_partitions then counts as
// it goes, and plan_partitions comes behind it. Should that not hold any more, nothing is aggregated, and `crowded` says so.
//
//   extern "C" __global__ void count(u64 n, partition_places p, row r) {
//     extern __shared__ __align__(16) unsigned char shared[];   // 4 bytes a partition
//     count_partitions<8, Args>(n, p, bitwise_keys<u64>{}, r, shared);
//   }
//   extern "C" __global__ __launch_bounds__(1024, 1) void scatter(u64 n, partition_places p, u64* keys, Args* args, row r) {
//     extern __shared__ __align__(16) unsigned char shared[];   // scatter_bytes(p.bits, 1024 * 8, 8, sizeof(Args)) of them
//     scatter_partitions<8>(n, p, keys, args, bitwise_keys<u64>{}, r, shared);
//   }
#pragma once

#include "gpu_primitives/group_shared.cuh"

namespace query::gpu {

inline constexpr u32 most_partition_bits = 12;

// Bits so that a partition of the expected groups fits a block's `budget` bytes.
QUERY_GPU_BOTH constexpr u32 partition_bits_for(u64 groups, u32 key_bytes, u32 state_bytes, u32 budget) {
  for (u32 bits = 6; bits < most_partition_bits; ++bits) {
    if (plan_shared_groups(group_copies::block, divide_up(groups, u64(1) << bits), key_bytes, state_bytes, budget).bytes) return bits;
  }
  return most_partition_bits;
}

// Rows of a partition that one block takes.
QUERY_GPU_BOTH constexpr u64 partition_chunk(u64 n, u32 bits) { return larger<u64>(65536, 4 * (n >> bits)); }

// An upper bound of the blocks that aggregate_partitions needs.
QUERY_GPU_BOTH constexpr u64 partition_items(u64 n, u32 bits, u64 chunk) { return (u64(1) << bits) + n / chunk; }

// Room for partials: of the partitions that several blocks share, and of those with rows that found no place in the overflow table.
QUERY_GPU_BOTH constexpr u64 partition_partials(u64 n, u32 bits, u64 chunk, u32 capacity) {
  return smaller(n, partition_items(n, bits, chunk) * capacity);
}

// Dynamic shared memory of scatter_partitions. args_bytes is 0 for an empty Args.
QUERY_GPU_BOTH constexpr u32 scatter_bytes(u32 bits, u32 tile_rows, u32 key_bytes, u32 args_bytes) {
  return static_cast<u32>((u64(12) << bits) + 2 * u64(tile_rows) + u64(tile_rows) * larger(key_bytes, args_bytes));
}

// Which bits of the hash name the partition. A join takes those that choose the slot of its table; a group-by others, or else what
// overflows from one partition would crowd in one place of the overflow table.
inline constexpr u32 group_partition_shift = 32;
QUERY_GPU_BOTH constexpr u32 join_partition_shift(u32 bits) { return 64 - bits; }

// Where the partitions are; arrays of 2^bits (counts, cursors) and 2^bits + 1 entries, counts zeroed by the host.
struct partition_places {
  u32 bits;
  u32 shift;
  u64 chunk;
  u64* counts;
  u64* starts;
  u64* cursors;
  u64* item_starts;
  u64 room = 0;            // rows of each partition, at least tiles' rows in all; 0: as many as are counted first
  u64* crowded = nullptr;  // not zero: a partition had more rows than room
  u64* largest = nullptr;  // zeroed by the host; rows of the largest partition. Null: nobody asks
};

#if QUERY_GPU_DEVICE_CODE

namespace detail {

__device__ __forceinline__ u32 partition_of(u64 hash, const partition_places& p) {
  return static_cast<u32>(hash >> p.shift) & ((1u << p.bits) - 1);
}

// Exclusive sum over the threads of a block (of whole warps); `warp_sums` has room for 32. Ends with a barrier.
template <class T>
__device__ __forceinline__ T exclusive_over_block(T mine, T* warp_sums, T& total) {
  T sum = mine;
#pragma unroll
  for (u32 d = 1; d < warp_size; d *= 2) {
    const T other = shuffle_up(sum, d);
    if (lane_id() >= d) sum += other;
  }
  const u32 warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
  if (lane_id() == warp_size - 1) warp_sums[warp] = sum;
  __syncthreads();
  T warps_sum = lane_id() < warps ? warp_sums[lane_id()] : 0;
#pragma unroll
  for (u32 d = 1; d < warp_size; d *= 2) {
    const T other = shuffle_up(warps_sum, d);
    if (lane_id() >= d) warps_sum += other;
  }
  total = shuffle_from(warps_sum, warp_size - 1);
  const T before = shuffle_from(warps_sum, (warp + warp_size - 1) % warp_size);
  __syncthreads();
  return (warp ? before : 0) + sum - mine;
}

}  // namespace detail

// Kernel body: rows of each partition. Dynamic shared memory: 4 << bits bytes.
template <int Items, class Args, class Keys, class Row>
__device__ __forceinline__ void count_partitions(u64 n, const partition_places& p, const Keys& keys, const Row& row,
                                                 unsigned char* shared) {
  u32* const counts = reinterpret_cast<u32*>(shared);
  for (u32 i = threadIdx.x; i < 1u << p.bits; i += blockDim.x) counts[i] = 0;
  __syncthreads();
  const u64 turn = u64(blockDim.x) * Items;
  for (u64 first = blockIdx.x * turn; first < n; first += gridDim.x * turn) {
    typename Keys::key_type key[Items];
    bool valid[Items];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      const u64 i = first + static_cast<u32>(j) * blockDim.x + threadIdx.x;
      Args args;  // dead here: the compiler drops its loads
      valid[j] = i < n && row(i, key[j], args);
    }
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (valid[j]) atomicAdd(&counts[detail::partition_of(keys.hash(key[j]), p)], 1u);
    }
  }
  __syncthreads();
  for (u32 i = threadIdx.x; i < 1u << p.bits; i += blockDim.x) {
    if (counts[i]) atomicAdd(&p.counts[i], u64(counts[i]));
  }
}

// Kernel body: one block, of 1024 threads at most.
__device__ __forceinline__ void plan_partitions(const partition_places& p) {
  __shared__ u64 warp_sums[warp_size];
  const u32 partitions = 1u << p.bits;
  u64 row_before = 0, item_before = 0, most = 0;
  for (u32 first = 0; first < partitions; first += blockDim.x) {
    const u32 i = first + threadIdx.x;
    const u64 rows = i < partitions ? p.counts[i] : 0;
    const u64 items = divide_up(rows, p.chunk);
    u64 row_total, item_total;
    const u64 start = row_before + detail::exclusive_over_block(rows, warp_sums, row_total);
    most = larger(most, rows);
    const u64 item = item_before + detail::exclusive_over_block(items, warp_sums, item_total);
    if (i < partitions) {
      p.starts[i] = p.room ? i * p.room : start;
      p.cursors[i] = start;
      p.item_starts[i] = item;
    }
    row_before += row_total;
    item_before += item_total;
  }
  const bool crowded = __syncthreads_or(static_cast<int>(p.room && most > p.room)) != 0;
  if (threadIdx.x == 0) {
    p.starts[partitions] = row_before;
    p.item_starts[partitions] = crowded ? 0 : item_before;
    if (crowded) *p.crowded = 1;
  }
  if (p.largest && most) atomicMax(p.largest, most);
}

namespace detail {

// One field of a tile's rows to its partitions: through shared memory, so that neighbours of a partition leave side by side.
template <class Field>
__device__ __forceinline__ void write_staged(u32 rows, const u16* partition_at, const u64* delta, const Field* staged, Field* out) {
  __syncthreads();
#pragma unroll 4
  for (u32 i = threadIdx.x; i < rows; i += blockDim.x) out[delta[partition_at[i]] + i] = staged[i];
  __syncthreads();
}

}  // namespace detail

// Kernel body: tiles of blockDim.x * Items rows (at most 65,535). Dynamic shared memory: scatter_bytes. The order of rows within a
// partition is any.
template <int Items, class Args, class Keys, class Row>
__device__ __forceinline__ void scatter_partitions(u64 n, const partition_places& p, typename Keys::key_type* keys_out, Args* args_out,
                                                   const Keys& keys, const Row& row, unsigned char* shared) {
  __shared__ u32 warp_sums[warp_size];
  const u32 partitions = 1u << p.bits;
  const u32 tile_rows = blockDim.x * Items;
  u64* const delta = reinterpret_cast<u64*>(shared);
  unsigned char* const stage = shared + (8u << p.bits);
  constexpr u32 args_bytes = __is_empty(Args) ? 0 : sizeof(Args);
  constexpr u32 stage_bytes = larger<u32>(sizeof(typename Keys::key_type), args_bytes);
  u32* const counts = reinterpret_cast<u32*>(stage + tile_rows * stage_bytes);
  u16* const partition_at = reinterpret_cast<u16*>(counts + partitions);
  for (u64 first = u64(blockIdx.x) * tile_rows; first < n; first += u64(gridDim.x) * tile_rows) {
    for (u32 i = threadIdx.x; i < partitions; i += blockDim.x) counts[i] = 0;
    typename Keys::key_type key[Items];
    u32 to[Items];
    bool valid[Items];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      const u64 i = first + static_cast<u32>(j) * blockDim.x + threadIdx.x;
      Args args;  // dead here: the compiler drops its loads
      valid[j] = i < n && row(i, key[j], args);
    }
    __syncthreads();
    // A row's partition and its rank there, in one word.
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      const u32 part = valid[j] ? detail::partition_of(keys.hash(key[j]), p) : 0;
      to[j] = valid[j] ? part << 16 | atomicAdd(&counts[part], 1u) : detail::no_place;
    }
    __syncthreads();
    // Each thread has neighbouring partitions, so that one sum over the block is enough.
    const u32 each = (partitions + blockDim.x - 1) / blockDim.x, mine_from = threadIdx.x * each;
    u32 mine = 0, rows;
    for (u32 i = mine_from; i < mine_from + each && i < partitions; ++i) mine += counts[i];
    u32 start = detail::exclusive_over_block(mine, warp_sums, rows);
#pragma unroll 4
    for (u32 i = mine_from; i < mine_from + each && i < partitions; ++i) {
      const u32 count = counts[i];
      counts[i] = start;
      if (p.room) {
        // What there is no room for is written anywhere: it is not read.
        const u64 before = atomicAdd(&p.counts[i], u64(count));
        delta[i] = (before + count <= p.room ? i * p.room + before : 0) - start;
      } else {
        delta[i] = atomicAdd(&p.cursors[i], u64(count)) - start;
      }
      start += count;
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (to[j] == detail::no_place) continue;
      const u32 part = to[j] >> 16;
      to[j] = counts[part] + (to[j] & 0xffffu);
      partition_at[to[j]] = static_cast<u16>(part);
    }
    auto* const staged_keys = reinterpret_cast<typename Keys::key_type*>(stage);
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (to[j] != detail::no_place) staged_keys[to[j]] = key[j];
    }
    detail::write_staged(rows, partition_at, delta, staged_keys, keys_out);
    if constexpr (args_bytes != 0) {
      // Loaded only now: registers for keys and arguments of a large tile at once there are not.
      Args* const staged_args = reinterpret_cast<Args*>(stage);
#pragma unroll
      for (int j = 0; j < Items; ++j) {
        if (to[j] == detail::no_place) continue;
        typename Keys::key_type again;
        Args args;
        row(first + static_cast<u32>(j) * blockDim.x + threadIdx.x, again, args);
        staged_args[to[j]] = args;
      }
      detail::write_staged(rows, partition_at, delta, staged_args, args_out);
    }
  }
}

// Rows as scatter_partitions left them; a row functor of its own.
template <class Key, class Args>
struct scattered_rows {
  const Key* keys;
  const Args* args;
  __device__ __forceinline__ bool operator()(u64 i, Key& key, Args& a) const {
    key = keys[i];
    if constexpr (!__is_empty(Args)) a = args[i];
    return true;
  }
};

template <class Keys, class Aggregates>
struct partition_group_params {
  partition_places places;
  shared_group_shape shape;
  group_table<Keys, Aggregates> overflow;
  tiles_again again;  // tiles of scattered rows
  group_partial<typename Keys::key_type, typename Aggregates::State>* partials;
  u64* partial_count;  // zeroed by the host
  u64* group_count;    // zeroed by the host; emit_groups goes on from it
};

// Kernel body: one block a work item. blockDim.x = shape.threads; `shared` holds shape.bytes. Groups of whole partitions go to
// emit(at, key, state), those of shared partitions to the partials, rows beyond the shape's capacity to the overflow table.
template <int Items, class Keys, class Aggregates, class Emit>
__device__ __forceinline__ void aggregate_partitions(const partition_group_params<Keys, Aggregates>& p, const Keys& keys,
                                                     const scattered_rows<typename Keys::key_type, typename Aggregates::Args>& rows,
                                                     const Emit& emit, unsigned char* shared) {
  __shared__ u64 block_first;
  const u32 partitions = 1u << p.places.bits;
  const u64 item = blockIdx.x;
  if (item >= p.places.item_starts[partitions]) return;
  u32 low = 0, high = partitions;  // item_starts[low] <= item < item_starts[high]
  while (high - low > 1) {
    const u32 middle = (low + high) / 2;
    (p.places.item_starts[middle] <= item ? low : high) = middle;
  }
  const u64 begin = p.places.starts[low] + (item - p.places.item_starts[low]) * p.places.chunk;
  const u64 end = smaller(begin + p.places.chunk, p.places.starts[low] + p.places.counts[low]);
  const bool alone = p.places.item_starts[low + 1] - p.places.item_starts[low] == 1;

  const detail::block_groups<group_copies::block, Keys, Aggregates> groups(p.shape, shared);
  groups.clear();
  constexpr u32 tile_rows = warp_size * Items;
  u32 hot = detail::no_place - 1, lost = 0;
  for (u64 first = begin + threadIdx.x / warp_size * tile_rows; first < end; first += blockDim.x * Items) {
    const u32 count = static_cast<u32>(smaller<u64>(tile_rows, end - first));
    if (!detail::aggregate_tile<Items, true>(groups, first, count, p.overflow, p.again, keys, rows, hot)) lost = 1;
  }
  // A listed tile brings rows of any of the partition's groups to the table later.
  const bool whole = __syncthreads_or(static_cast<int>(lost)) == 0 && alone;
  if (threadIdx.x == 0) block_first = atomicAdd(whole ? p.group_count : p.partial_count, u64(groups.size()));
  __syncthreads();
  const u64 to = block_first;
  groups.for_each([&](u32 place, const typename Keys::key_type& key, const typename Aggregates::State& state) {
    if (whole) {
      emit(to + place, key, state);
    } else {
      p.partials[to + place].key = key;
      p.partials[to + place].state = state;
    }
  });
}

// What merge_groups takes for partials in a plain array.
template <class Key, class State>
struct plain_partials {
  const group_partial<Key, State>* partials;
  __device__ __forceinline__ bool operator()(u64 i, Key& key, State& state) const {
    key = partials[i].key;
    state = partials[i].state;
    return true;
  }
};

#endif

}  // namespace query::gpu
