// Group-by with aggregates into a hash table in global memory: the tier for more groups than fit shared memory, the place where the
// other tiers' partial results meet, and the one that can grow.
//
// What a caller writes (all of it may be generated):
//
//   struct aggregates {
//     struct State { double sum; u64 count; };                  // trivially copyable, a multiple of 4 bytes
//     struct Args { double v; };                                // what a row contributes
//     static __device__ void init(State&);                      // the identity of merge
//     static __device__ void update(State&, const Args&);       // on a private state
//     static __device__ void merge(State& into, const State& from);
//     // Optional, and much faster for many groups: the same by atomics on a shared or global state (atomics.cuh).
//     static __device__ void update_atomic(State&, const Args&);
//     static __device__ void merge_atomic(State& into, const State& from);
//   };
//   bool row(u64 i, Key& key, Args& args);                      // loads, filters (false: no row) and projects row i
//   void emit(u64 at, const Key& key, const State& state);      // writes group `at` of the result
//
// Without the atomic forms a lock in the group's slot guards its state.
//
// Growing: rows are taken in tiles of a warp. A tile with a row that finds no place changes no state; it goes to the list `again`, sets
// `full`, and the host grows the table (grow_groups) and runs the listed tiles (group_rows::tiles) until the list stays empty.
//
//   using table = group_table<bitwise_keys<u64>, aggregates>;
//   extern "C" __global__ void init(table t) { init_groups<bitwise_keys<u64>, aggregates>(t); }
//   extern "C" __global__ void group(u64 n, table t, tiles_again again, row r) {
//     aggregate_global<4>(group_rows{n}, t, again, bitwise_keys<u64>{}, r);
//   }
//   extern "C" __global__ void write(table t, u64* count, emit e) { emit_groups<bitwise_keys<u64>, aggregates>(t, count, e); }
#pragma once

#include "gpu_primitives/hash_table.cuh"

namespace query::gpu {

// Rows [first, first + rows) of one warp's turn, in one word: rows in the low 16 bits.
QUERY_GPU_BOTH constexpr u64 pack_tile(u64 first, u64 rows) { return first << 16 | rows; }

// Tiles that found no place. Room for it: divide_up(n, 32 * Items) entries, one more for each item of work in partitions, and those of
// other kernels that share it.
struct tiles_again {
  u64* tiles;
  u64* count;
  u32* full;
};

// The rows of a launch: all of [0, n), n in device memory where n_at says so, or the listed tiles alone (count tiles, at most 32 * Items
// rows each).
struct group_rows {
  u64 n;
  const u64* tiles = nullptr;
  u64 count = 0;
  const u64* n_at = nullptr;
};

template <class Key, class State>
struct group_partial {
  Key key;
  State state;
};

#if QUERY_GPU_DEVICE_CODE

template <class Aggregates>
inline constexpr bool has_atomic_form = requires(typename Aggregates::State& s, const typename Aggregates::Args& a) {
  Aggregates::update_atomic(s, a);
  Aggregates::merge_atomic(s, s);
};

// The lock goes last, and only where it is needed.
template <class Aggregates, bool Atomic = has_atomic_form<Aggregates>>
struct group_payload {
  typename Aggregates::State state;
};
template <class Aggregates>
struct group_payload<Aggregates, false> {
  typename Aggregates::State state;
  u32 lock;
};

template <class Keys, class Aggregates>
using group_table = hash_table_ref<Keys, group_payload<Aggregates>>;

namespace detail {

// Reads and writes that other blocks' locks order: never from the first-level cache.
template <class T>
__device__ __forceinline__ T load_words(const T* p) {
  static_assert(sizeof(T) % 4 == 0, "query::gpu: a state is a multiple of 4 bytes");
  T value;
  u32 words[sizeof(T) / 4];
#pragma unroll
  for (u32 w = 0; w < sizeof(T) / 4; ++w) words[w] = reinterpret_cast<const volatile u32*>(p)[w];
  memcpy(&value, words, sizeof(T));
  return value;
}
template <class T>
__device__ __forceinline__ void store_words(T* p, const T& value) {
  u32 words[sizeof(T) / 4];
  memcpy(words, &value, sizeof(T));
#pragma unroll
  for (u32 w = 0; w < sizeof(T) / 4; ++w) reinterpret_cast<volatile u32*>(p)[w] = words[w];
}

// change(state) under the slot's lock. The holder releases within the turn in which it took the lock, so that lanes of one warp
// never wait for each other.
template <class Payload, class Change>
__device__ __forceinline__ void change_locked(Payload& payload, const Change& change) {
  u32 pause = 32;  // nanoseconds; of a group that most rows have all threads of the device would ask at once
  for (bool done = false; !done;) {
    if (atomicCAS(&payload.lock, 0u, 1u) == 0u) {
      __threadfence();
      auto state = load_words(&payload.state);
      change(state);
      store_words(&payload.state, state);
      __threadfence();
      atomicExch(&payload.lock, 0u);
      done = true;
    } else {
      __nanosleep(pause);
      pause = pause < 2048 ? 2 * pause : pause;
    }
  }
}

template <class Aggregates, class Payload>
__device__ __forceinline__ void apply_row(Payload& payload, const typename Aggregates::Args& args) {
  if constexpr (has_atomic_form<Aggregates>) {
    Aggregates::update_atomic(payload.state, args);
  } else {
    change_locked(payload, [&](typename Aggregates::State& s) { Aggregates::update(s, args); });
  }
}
template <class Aggregates, class Payload>
__device__ __forceinline__ void apply_state(Payload& payload, const typename Aggregates::State& state) {
  if constexpr (has_atomic_form<Aggregates>) {
    Aggregates::merge_atomic(payload.state, state);
  } else {
    change_locked(payload, [&](typename Aggregates::State& s) { Aggregates::merge(s, state); });
  }
}

// The sum of the chosen lanes' rows, in lane 0. All lanes of the warp call it.
template <class Aggregates>
__device__ __forceinline__ typename Aggregates::State fold_rows(bool chosen, const typename Aggregates::Args& args) {
  typename Aggregates::State state;
  Aggregates::init(state);
  if (chosen) Aggregates::update(state, args);
  // Inlined for each row of a thread: of wide states, five copies would be most of what a kernel takes to compile.
#pragma unroll(sizeof(state) <= 16 ? 5 : 1)
  for (u32 d = warp_size / 2; d; d /= 2) {
    const auto other = shuffle_down(state, d);
    Aggregates::merge(state, other);
  }
  return state;
}

// A group that holds a good part of all rows would queue up at one address: its rows in a warp become one state first. `hot` is the group
// that was last found so often; look_for_hot also tries the group of the first pending lane. All lanes call it; returns whether the calling
// lane's row is still to do.
inline constexpr int fold_from = 6;
template <class Aggregates, class Group, class Take>
__device__ __forceinline__ bool fold_hot(bool pending, Group group, const typename Aggregates::Args& args, Group& hot, bool look_for_hot,
                                         const Take& take) {
  u32 peers = __ballot_sync(all_lanes, pending && group == hot);
  if (__popc(static_cast<int>(peers)) < fold_from) {
    if (!look_for_hot) return pending;
    const u32 lanes = __ballot_sync(all_lanes, pending);
    if (__popc(static_cast<int>(lanes)) < fold_from) return pending;
    const Group first = __shfl_sync(all_lanes, group, __ffs(static_cast<int>(lanes)) - 1);
    peers = __ballot_sync(all_lanes, pending && group == first);
    if (__popc(static_cast<int>(peers)) < fold_from) return pending;
    hot = first;
  }
  const bool peer = peers >> lane_id() & 1;
  const auto state = fold_rows<Aggregates>(peer, args);
  if (lane_id() == 0) take(hot, state);
  return pending && !peer;
}

}  // namespace detail

// Kernel body: an empty table of identities. Every slot, table_slots(bits) of them.
template <class Keys, class Aggregates>
__device__ __forceinline__ void init_groups(const group_table<Keys, Aggregates>& t) {
  typename group_table<Keys, Aggregates>::slot empty;
  memset(&empty, 0xff, sizeof(empty));
  Aggregates::init(empty.payload.state);
  if constexpr (!has_atomic_form<Aggregates>) empty.payload.lock = 0;
  const u64 slots = table_slots(t.bits);
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < slots; at += u64(gridDim.x) * blockDim.x) t.slots[at] = empty;
}

namespace detail {

// Tiles of a launch, and the rows of one.
__device__ __forceinline__ u64 tile_count(const group_rows& rows, u64 n, u32 tile_rows) {
  return rows.tiles ? rows.count : divide_up(n, tile_rows);
}
__device__ __forceinline__ u32 tile_at(const group_rows& rows, u64 n, u32 tile_rows, u64 tile, u64& first) {
  if (rows.tiles) {
    const u64 packed = rows.tiles[tile];
    first = packed >> 16;
    return static_cast<u32>(packed & 0xffff);
  }
  first = tile * tile_rows;
  return static_cast<u32>(smaller<u64>(tile_rows, n - first));
}

__device__ __forceinline__ void list_tile(const tiles_again& again, u64 first, u64 rows) {
  if (lane_id() != 0) return;
  again.tiles[atomicAdd(again.count, 1ull)] = pack_tile(first, rows);
  store_relaxed(again.full, 1u);
}

// The slots of one row a lane (no_slot where pending is false), or false for all lanes when one row found none.
template <class Keys, class Aggregates>
__device__ __forceinline__ bool claim_row(const group_table<Keys, Aggregates>& t, const Keys& keys, bool pending,
                                          const typename Keys::key_type& key, u64 hash, u64& slot) {
  bool fresh;
  slot = pending ? find_or_claim(t, keys, key, hash, fresh) : no_slot;
  return !__any_sync(all_lanes, pending && slot == no_slot);
}

// Applies one row a lane whose slots are known. All lanes call it.
template <class Keys, class Aggregates>
__device__ __forceinline__ void apply_rows(const group_table<Keys, Aggregates>& t, bool pending, u64 slot,
                                           const typename Aggregates::Args& args, u64& hot, bool look_for_hot) {
  pending = fold_hot<Aggregates>(pending, slot, args, hot, look_for_hot, [&](u64 at, const typename Aggregates::State& s) {
    apply_state<Aggregates>(t.slots[at].payload, s);
  });
  if (pending) apply_row<Aggregates>(t.slots[slot].payload, args);
}

}  // namespace detail

// Kernel body: rows straight into the table. Items rows a lane are in flight at once. Blocks of whole warps, any grid.
template <int Items, class Keys, class Aggregates, class Row>
__device__ __forceinline__ void aggregate_global(const group_rows& rows, const group_table<Keys, Aggregates>& t,
                                                 const tiles_again& again, const Keys& keys, const Row& row) {
  using key_type = typename Keys::key_type;
  using args_type = typename Aggregates::Args;
  constexpr u32 tile_rows = warp_size * Items;
  const u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / warp_size;
  const u64 warps = u64(gridDim.x) * blockDim.x / warp_size;
  const u64 n = rows.n_at ? *rows.n_at : rows.n;
  const u64 tiles = detail::tile_count(rows, n, tile_rows);
  u64 hot = no_slot - 1;
  for (u64 tile = warp; tile < tiles; tile += warps) {
    u64 first;
    const u32 count = detail::tile_at(rows, n, tile_rows, tile, first);
    // All lanes go the same way, whichever of them saw it: those that waited for a lock do not come here together.
    if (__any_sync(all_lanes, load_relaxed(again.full) != 0)) {
      detail::list_tile(again, first, count);
      continue;
    }
    key_type key[Items];
    args_type args[Items];
    bool valid[Items];
    u64 slot[Items];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      const u32 at = static_cast<u32>(j) * warp_size + lane_id();
      valid[j] = at < count && row(first + at, key[j], args[j]);
    }
    bool placed = true;
    if constexpr (Keys::one_word) {
      // The first probes of all rows travel together.
      using word = decltype(t.slots[0].key);
      word seen[Items];
#pragma unroll
      for (int j = 0; j < Items; ++j) {
        slot[j] = valid[j] ? t.home(keys.hash(key[j])) : no_slot;
        seen[j] = valid[j] ? load_relaxed(&t.slots[slot[j]].key) : word(0);
      }
#pragma unroll
      for (int j = 0; j < Items; ++j) {
        const word bits = valid[j] ? detail::same_bits<word>(key[j]) : word(0);
        const bool found = seen[j] == bits && bits != detail::bits_of_empty<word>();
        if (valid[j] && !found) {
          bool fresh;
          slot[j] = find_or_claim(t, keys, key[j], keys.hash(key[j]), fresh);
        }
        placed = placed && (!valid[j] || slot[j] != no_slot);
      }
    } else {
#pragma unroll
      for (int j = 0; j < Items; ++j) {
        bool fresh;
        slot[j] = valid[j] ? find_or_claim(t, keys, key[j], keys.hash(key[j]), fresh) : no_slot;
        placed = placed && (!valid[j] || slot[j] != no_slot);
      }
    }
    if (!__all_sync(all_lanes, placed)) {
      detail::list_tile(again, first, count);
      continue;
    }
#pragma unroll
    for (int j = 0; j < Items; ++j) detail::apply_rows(t, valid[j], slot[j], args[j], hot, j == 0);
  }
}

// Kernel body: merges (key, state) partials into the table. partial(i, key, state) -> bool gives entry i of [0, rows.n), as a row functor
// does; partials that find no place are listed like rows.
template <class Keys, class Aggregates, class Partial>
__device__ __forceinline__ void merge_groups(const group_rows& rows, const group_table<Keys, Aggregates>& t, const tiles_again& again,
                                             const Keys& keys, const Partial& partial) {
  const u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / warp_size;
  const u64 warps = u64(gridDim.x) * blockDim.x / warp_size;
  const u64 n = rows.n_at ? *rows.n_at : rows.n;
  const u64 tiles = detail::tile_count(rows, n, warp_size);
  for (u64 tile = warp; tile < tiles; tile += warps) {
    u64 first;
    const u32 count = detail::tile_at(rows, n, warp_size, tile, first);
    typename Keys::key_type key;
    typename Aggregates::State state;
    const bool valid = lane_id() < count && partial(first + lane_id(), key, state);
    u64 slot = no_slot;
    const u64 hash = valid ? keys.hash(key) : 0;
    if (!detail::claim_row(t, keys, valid, key, hash, slot)) {
      detail::list_tile(again, first, count);
    } else if (valid) {
      detail::apply_state<Aggregates>(t.slots[slot].payload, state);
    }
  }
}

// Kernel body: the groups of a table into a larger, empty one (init_groups). Its size is at least twice the old, so that all find a place;
// `full` says when one did not (a probe of 512 in a half-empty table: only with hashes that collide on purpose) and the host grows on.
template <class Keys, class Aggregates>
__device__ __forceinline__ void grow_groups(const group_table<Keys, Aggregates>& from, const group_table<Keys, Aggregates>& to,
                                            u32* full, const Keys& keys) {
  const u64 slots = table_slots(from.bits);
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < slots; at += u64(gridDim.x) * blockDim.x) {
    if (!slot_taken(from, at)) continue;
    const auto key = slot_key(from, at);
    bool fresh;
    const u64 place = find_or_claim(to, keys, key, keys.hash(key), fresh);
    if (place == no_slot) {
      store_relaxed(full, 1u);
    } else {
      to.slots[place].payload.state = from.slots[at].payload.state;
    }
  }
}

// Kernel body: every group to emit(at, key, state), densely, from *count on (in any order); *count ends as the number of groups.
// One atomic for each 8 * blockDim.x slots. Blocks of at most 1024 threads. Of the slots [first_slot, end_slot) alone, where there is no
// room for more groups.
template <class Keys, class Aggregates, class Emit>
__device__ __forceinline__ void emit_groups(const group_table<Keys, Aggregates>& t, u64* count, const Emit& emit, u64 first_slot = 0,
                                            u64 end_slot = ~u64(0)) {
  constexpr u32 per_thread = 8;
  __shared__ u32 warp_counts[warp_size];
  __shared__ u64 block_first;
  const u64 slots = smaller(table_slots(t.bits), end_slot);
  const u64 turn = u64(blockDim.x) * per_thread;
  const u32 warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
  for (u64 first = first_slot + blockIdx.x * turn; first < slots; first += gridDim.x * turn) {
    u32 taken = 0;  // bit j: slot j of this thread
#pragma unroll
    for (u32 j = 0; j < per_thread; ++j) {
      const u64 at = first + j * blockDim.x + threadIdx.x;
      if (at < slots && slot_taken(t, at)) taken |= 1u << j;
    }
    const u32 mine = __reduce_add_sync(all_lanes, static_cast<u32>(__popc(static_cast<int>(taken))));
    if (lane_id() == 0) warp_counts[warp] = mine;
    __syncthreads();
    u32 before = 0, total = 0;
    for (u32 w = 0; w < warps; ++w) {
      if (w == warp) before = total;
      total += warp_counts[w];
    }
    if (threadIdx.x == 0 && total) block_first = atomicAdd(count, u64(total));
    __syncthreads();
    u64 to = total ? block_first + before : 0;
#pragma unroll 1  // the caller's code once
    for (u32 j = 0; j < per_thread; ++j) {
      const u64 at = first + j * blockDim.x + threadIdx.x;
      const u32 others = __ballot_sync(all_lanes, taken >> j & 1);
      if (taken >> j & 1) {
        emit(to + static_cast<u64>(__popc(static_cast<int>(others & lanes_below()))), slot_key(t, at), t.slots[at].payload.state);
      }
      to += static_cast<u64>(__popc(static_cast<int>(others)));
    }
    __syncthreads();
  }
}

#endif

}  // namespace query::gpu
