// Group-by for few groups: every block aggregates into tables of its own in shared memory and leaves one partial state a group, which
// merge_groups (group_table.cuh) brings together. Rows of groups beyond the block's capacity go straight to the global table, so any
// number of groups is correct, and groups that come often are in shared memory whatever the others do. So do those of a last tile that is
// not full.
//
// Copies of a block's states, chosen by the host (plan_shared_groups) from an estimate of the number of groups:
//   thread  one copy a thread, laid out so that no two lanes meet in a bank: plain reads and writes, for a few dozen groups;
//   warp    one copy a warp; lanes of one group take turns (the lane whose number stays in the group's owner byte goes first): no
//           atomics, so any State; for some thousand groups;
//   block   one copy, by the aggregates' atomic form; for partitions (group_partition.cuh) with few rows a group.
//
//   memory  one copy a block, in global memory, where the block's partial states go anyway: for sums of long arrays (below).
//
// Sums of long arrays: where Aggregates has `elements` (see spread_sums), a warp adds its rows up element by element, a lane an element,
// and its states are touched once a group: thirty lanes that each add twenty numbers to one state would wait for each other. Global memory
// adds doubles by itself, shared memory by loops of compare-and-swap.
//
//   extern "C" __global__ void k(shared_group_params<Key, Aggregates> p, ...) {
//     extern __shared__ __align__(16) unsigned char shared[];
//     aggregate_shared<group_copies::warp, 8>(p, keys, row, shared);
//   }
#pragma once

#include "gpu_primitives/group_shapes.cuh"
#include "gpu_primitives/group_table.cuh"

namespace query::gpu {

#if QUERY_GPU_DEVICE_CODE

// Aggregates that are one sum of arrays and a count of rows, with
//
//   static constexpr u32 elements = 20;
//   static __device__ const float* array_of(const Args&);                        the row's numbers, in global memory
//   static __device__ void add_element(State&, u32 e, double v);                 and add_element_atomic
//   static __device__ void add_rows(State&, u32 n);                              and add_rows_atomic
template <class Aggregates>
inline constexpr bool spread_sums = requires { Aggregates::elements; };

template <class Keys, class Aggregates>
struct shared_group_params {
  group_rows rows;
  shared_group_shape shape;
  group_table<Keys, Aggregates> overflow;  // global table of rows that found no place in shared memory
  tiles_again again;
  // Of block b: partial_counts[b] entries from partials[b * capacity] on; rooms for gridDim.x * capacity and gridDim.x.
  group_partial<typename Keys::key_type, typename Aggregates::State>* partials;
  u32* partial_counts;
};

namespace detail {

inline constexpr u32 no_place = ~0u;

// Words of the index: 0 empty, 1 busy, 0xffff: claimed when all places were gone; otherwise two bits of the hash, then place + 2.
// Invariant: a word leaves `empty` once; a key passes only words of other keys, so that an empty or a late word ends its search.
// A word is released when its key is written, and acquired by whoever reads the key. compute-sanitizer's racecheck reports both as hazards:
// it knows barriers alone.
template <class Key>
struct shared_index {
  u16* words;
  Key* keys;
  u32* count;  // places asked for
  u32 bits;
  u32 capacity;

  __device__ __forceinline__ u32 home(u32 hash) const { return hash >> (32 - bits); }
  static __device__ __forceinline__ u32 tag(u32 hash) { return hash & 3u; }
  // The key that the word names was written before it.
  __device__ __forceinline__ u32 word_at(u32 at) const { return load_acquire_shared(words + at); }
  // Whether a word may be of a key with this hash: it names a place and has the tag.
  static __device__ __forceinline__ bool likely(u32 word, u32 hash) { return word >> 14 == tag(hash) && place_of(word) < 0x3ffdu; }
  static __device__ __forceinline__ u32 place_of(u32 word) { return (word & 0x3fffu) - 2; }

  template <class Keys>
  __device__ __forceinline__ u32 find_or_claim(const Keys& policy, const Key& key, u32 hash) const {
    u32 at = home(hash);
#pragma unroll 1
    while (true) {
      const u32 word = word_at(at);
      if (word == 0) {
        if (*reinterpret_cast<volatile u32*>(count) >= capacity) {
          // Still empty after the last place was taken: nobody claims it for this key any more, so the key's rows are all outside.
          __threadfence_block();
          if (word_at(at) == 0) return no_place;
          continue;
        }
        if (atomicCAS(words + at, u16(0), u16(1)) != 0) continue;
        const u32 place = atomicAdd(count, 1u);
        if (place >= capacity) {
          *reinterpret_cast<volatile u16*>(words + at) = 0xffffu;
          return no_place;
        }
        keys[place] = key;
        store_release_shared(words + at, static_cast<u16>(tag(hash) << 14 | (place + 2)));
        return place;
      }
      if (word == 1) continue;  // its owner writes the key and waits for nobody
      if (word == 0xffffu) return no_place;
      if (likely(word, hash) && policy.equal(keys[place_of(word)], key)) return place_of(word);
      at = (at + 1) & ((1u << bits) - 1);
    }
  }
};

// A block's shared memory, cut up.
template <group_copies Copies, class Keys, class Aggregates>
struct block_groups {
  using key_type = typename Keys::key_type;
  using state_type = typename Aggregates::State;
  using args_type = typename Aggregates::Args;
  static constexpr u32 word_bytes = sizeof(state_type) % 8 == 0 ? 8 : 4;
  using word = typename key_word<word_bytes>::type;
  static constexpr u32 state_words = sizeof(state_type) / word_bytes;

  shared_index<key_type> index;
  u8* owners;
  unsigned char* states;
  group_partial<key_type, state_type>* outside = nullptr;  // the states of group_copies::memory

  __device__ __forceinline__ block_groups(const shared_group_shape& shape, unsigned char* shared) {
    index.count = reinterpret_cast<u32*>(shared);
    index.words = reinterpret_cast<u16*>(shared + 16);
    index.keys = reinterpret_cast<key_type*>(shared + 16 + (2u << shape.word_bits));
    owners = reinterpret_cast<u8*>(index.keys) + static_cast<u32>(round_up(u64(shape.capacity) * sizeof(key_type), 16));
    states = owners + owner_bytes(Copies, blockDim.x, shape.capacity);
    index.bits = shape.word_bits;
    index.capacity = shape.capacity;
  }

  __device__ __forceinline__ state_type* warp_states() const {
    const u32 copy = Copies == group_copies::warp ? threadIdx.x / warp_size : 0;
    return reinterpret_cast<state_type*>(states) + copy * index.capacity;
  }
  __device__ __forceinline__ word* thread_words(u32 place, u32 thread) const {
    return reinterpret_cast<word*>(states) + place * state_words * blockDim.x + thread;
  }
  __device__ __forceinline__ state_type load_thread_state(u32 place, u32 thread) const {
    word words[state_words];
#pragma unroll
    for (u32 w = 0; w < state_words; ++w) words[w] = thread_words(place, thread)[w * blockDim.x];
    state_type state;
    memcpy(&state, words, sizeof(state));
    return state;
  }
  __device__ __forceinline__ void store_thread_state(u32 place, u32 thread, const state_type& state) const {
    word words[state_words];
    memcpy(words, &state, sizeof(state));
#pragma unroll
    for (u32 w = 0; w < state_words; ++w) thread_words(place, thread)[w * blockDim.x] = words[w];
  }

  // All threads call; a barrier follows inside.
  __device__ __forceinline__ void clear() const {
    for (u32 i = threadIdx.x; i < 1u << (index.bits - 1); i += blockDim.x) reinterpret_cast<u32*>(index.words)[i] = 0;
    if (threadIdx.x == 0) *index.count = 0;
    state_type identity;
    Aggregates::init(identity);
    if constexpr (Copies == group_copies::thread) {
      for (u32 place = 0; place < index.capacity; ++place) store_thread_state(place, threadIdx.x, identity);
    } else if constexpr (Copies == group_copies::memory) {
      for (u32 i = threadIdx.x; i < index.capacity; i += blockDim.x) outside[i].state = identity;
    } else {
      const u32 all = index.capacity * state_copies(Copies, blockDim.x);
      for (u32 i = threadIdx.x; i < all; i += blockDim.x) reinterpret_cast<state_type*>(states)[i] = identity;
    }
    __syncthreads();
  }

  // One row a lane into the block's states; all lanes of the warp call it. hot: see fold_hot.
  __device__ __forceinline__ void update(bool pending, u32 place, const args_type& args, u32& hot, bool look_for_hot) const {
    if constexpr (spread_sums<Aggregates> && Copies != group_copies::thread) {
      update_spread(pending, place, args);
    } else if constexpr (Copies == group_copies::thread) {
      if (pending) {
        state_type state = load_thread_state(place, threadIdx.x);
        Aggregates::update(state, args);
        store_thread_state(place, threadIdx.x, state);
      }
    } else if constexpr (Copies == group_copies::warp) {
      state_type* const own = warp_states();
      volatile u8* const owner = owners + threadIdx.x / warp_size * index.capacity;
      pending = fold_hot<Aggregates>(pending, place, args, hot, look_for_hot, [&](u32 at, const state_type& folded) {
        state_type state = own[at];
        Aggregates::merge(state, folded);
        own[at] = state;
      });
      __syncwarp();
      do {
        if (pending) owner[place] = static_cast<u8>(lane_id());
        __syncwarp();
        if (pending && owner[place] == lane_id()) {
          state_type state = own[place];
          Aggregates::update(state, args);
          own[place] = state;
          pending = false;
        }
      } while (__any_sync(all_lanes, pending));
      __syncwarp();
    } else {
      state_type* const own = warp_states();
      pending = fold_hot<Aggregates>(pending, place, args, hot, look_for_hot, [&](u32 at, const state_type& folded) {
        Aggregates::merge_atomic(own[at], folded);
      });
      if (pending) Aggregates::update_atomic(own[place], args);
    }
  }

  // The warp's rows, a group after the other.
  __device__ __forceinline__ void update_spread(bool pending, u32 place, const args_type& args) const {
    state_type* const own = warp_states();
    const u64 at = reinterpret_cast<u64>(pending ? Aggregates::array_of(args) : nullptr);
    using number = decltype(Aggregates::array_of(args));
    constexpr u32 turns = (Aggregates::elements + warp_size - 1) / warp_size;
    u32 todo = __ballot_sync(all_lanes, pending);
    while (todo) {
      const int first = __ffs(static_cast<int>(todo)) - 1;
      const u32 group = __shfl_sync(all_lanes, place, first);
      const u32 peers = __ballot_sync(all_lanes, pending && place == group);
      todo &= ~peers;
      double sum[turns] = {};
      for (u32 left = peers; left; left &= left - 1) {
        const auto row = reinterpret_cast<number>(__shfl_sync(all_lanes, at, __ffs(static_cast<int>(left)) - 1));
#pragma unroll
        for (u32 t = 0; t < turns; ++t) {
          const u32 e = t * warp_size + lane_id();
          if (e < Aggregates::elements) sum[t] += static_cast<double>(row[e]);
        }
      }
      state_type& state = Copies == group_copies::memory ? outside[group].state : own[group];
#pragma unroll
      for (u32 t = 0; t < turns; ++t) {
        const u32 e = t * warp_size + lane_id();
        if (e >= Aggregates::elements) continue;
        if constexpr (Copies == group_copies::warp) Aggregates::add_element(state, e, sum[t]);
        else Aggregates::add_element_atomic(state, e, sum[t]);
      }
      if (lane_id() == 0) {
        if constexpr (Copies == group_copies::warp) Aggregates::add_rows(state, static_cast<u32>(__popc(peers)));
        else Aggregates::add_rows_atomic(state, static_cast<u32>(__popc(peers)));
      }
      __syncwarp();
    }
  }

  __device__ __forceinline__ u32 size() const { return smaller(*index.count, index.capacity); }

  // take(place, key, state) for every group, by one thread each. After a barrier.
  template <class Take>
  __device__ __forceinline__ void for_each(const Take& take) const {
    const u32 groups = size();
    if constexpr (Copies == group_copies::thread) {
      for (u32 place = threadIdx.x / warp_size; place < groups; place += blockDim.x / warp_size) {
        state_type state;
        Aggregates::init(state);
        for (u32 t = lane_id(); t < blockDim.x; t += warp_size) Aggregates::merge(state, load_thread_state(place, t));
#pragma unroll(sizeof(state) <= 16 ? 5 : 1)
        for (u32 d = warp_size / 2; d; d /= 2) {
          const auto other = shuffle_down(state, d);
          Aggregates::merge(state, other);
        }
        if (lane_id() == 0) take(place, index.keys[place], state);
      }
    } else {
      for (u32 place = threadIdx.x; place < groups; place += blockDim.x) {
        state_type state = reinterpret_cast<const state_type*>(states)[place];
        for (u32 copy = 1; copy < state_copies(Copies, blockDim.x); ++copy) {
          Aggregates::merge(state, reinterpret_cast<const state_type*>(states)[copy * index.capacity + place]);
        }
        take(place, index.keys[place], state);
      }
    }
  }
};

// Rows of a tile that found no place in shared memory, bit j of `over` for item j, into the global table. They are loaded once more: the
// path is rare, or bound by the global table anyway, and must not cost the others registers. False, and no effect, when one has no place.
template <int Items, class Keys, class Aggregates, class Row>
__device__ __forceinline__ bool aggregate_overflow(u32 over, u64 first, const group_table<Keys, Aggregates>& table, const Keys& keys,
                                                   const Row& row) {
  typename Keys::key_type key;
  typename Aggregates::Args args;
  bool lost = false, fresh;
  u64 hot = no_slot - 1;
#pragma unroll 1
  for (u32 j = 0; j < Items; ++j) {
    if (over >> j & 1 && row(first + j * warp_size + lane_id(), key, args)) {
      lost = lost || find_or_claim(table, keys, key, keys.hash(key), fresh) == no_slot;
    }
  }
  if (__any_sync(all_lanes, lost)) return false;
#pragma unroll 1
  for (u32 j = 0; j < Items; ++j) {
    const bool mine = over >> j & 1 && row(first + j * warp_size + lane_id(), key, args);
    const u64 slot = mine ? find_or_claim(table, keys, key, keys.hash(key), fresh) : no_slot;
    apply_rows(table, mine, slot, args, hot, true);
  }
  return true;
}

// The same out of line, for rows that are much code.
template <int Items, class Keys, class Aggregates, class Row>
__device__ __noinline__ bool aggregate_overflow_apart(u32 over, u64 first, const group_table<Keys, Aggregates>& table, const Keys& keys,
                                                      const Row& row) {
  return aggregate_overflow<Items>(over, first, table, keys, row);
}

// One warp's tile [first, first + count), count at most Items * 32, into the block's groups. All or nothing: false when a row found no
// place anywhere; the tile is listed then.
//
// A tile that is not full, of which a launch has one, goes through the same code: all of it once more was 0.4 of what a kernel takes to
// compile. Its rows go to the global table, like those that find no place, so that full tiles need no tests for it; or, Guarded, every row
// is tested, where a block's groups must not be in the table too (partitions).
template <int Items, bool Guarded, class Groups, class Keys, class Aggregates, class Row>
__device__ __forceinline__ bool aggregate_tile(const Groups& groups, u64 first, u32 count, const group_table<Keys, Aggregates>& overflow,
                                               const tiles_again& again, const Keys& keys, const Row& row, u32& hot) {
  const bool staged = Guarded || count == Items * warp_size;
  const i32 left = static_cast<i32>(count) - static_cast<i32>(lane_id());  // rows of the tile from this lane's first on
  typename Keys::key_type key[Items];
  typename Aggregates::Args args[Items];
  u32 place[Items];
  u32 valid = 0, over = 0;  // bit j: item j
  if (staged) {
    u32 word[Items], hash[Items];
    u32 missing = 0;
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      if ((!Guarded || left > static_cast<i32>(j * warp_size)) && row(first + j * warp_size + lane_id(), key[j], args[j])) valid |= 1u << j;
    }
    // The first probes of all rows travel together, then the comparisons.
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      hash[j] = static_cast<u32>(keys.hash(key[j]));
      word[j] = groups.index.word_at(groups.index.home(hash[j]));
    }
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      const bool likely = groups.index.likely(word[j], hash[j]);
      place[j] = likely ? groups.index.place_of(word[j]) : 0;
      const bool found = likely && keys.equal(groups.index.keys[place[j]], key[j]);
      if (!found) missing |= 1u << j;
    }
    missing &= valid;
    // The others one after the other, each lane at its own.
    while (missing) {
      const u32 item = static_cast<u32>(__ffs(static_cast<int>(missing))) - 1;
      missing &= missing - 1;
      auto my_key = key[0];
      u32 my_hash = hash[0];
#pragma unroll
      for (u32 j = 1; j < Items; ++j) {
        if (j == item) {
          my_key = key[j];
          my_hash = hash[j];
        }
      }
      const u32 found = groups.index.find_or_claim(keys, my_key, my_hash);
      if (found == no_place) over |= 1u << item;
#pragma unroll
      for (u32 j = 0; j < Items; ++j) {
        if (j == item) place[j] = found;
      }
    }
  } else {
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      if (left > static_cast<i32>(j * warp_size)) over |= 1u << j;
    }
  }
  if (__any_sync(all_lanes, over != 0)) {
    bool placed;
    // Not called otherwise: whole tiles were a tenth slower then.
    if constexpr (spread_sums<Aggregates>) placed = aggregate_overflow_apart<Items>(over, first, overflow, keys, row);
    else placed = aggregate_overflow<Items>(over, first, overflow, keys, row);
    if (!placed) {
      list_tile(again, first, count);
      return false;
    }
  }
  if (!staged) return true;
  valid &= ~over;
#pragma unroll
  for (u32 j = 0; j < Items; ++j) groups.update(valid >> j & 1, place[j], args[j], hot, j == 0);
  return true;
}

}  // namespace detail

// Kernel body. Any grid (as many blocks as are resident at once is best); blockDim.x = shape.threads; `shared` holds shape.bytes.
template <group_copies Copies, int Items, class Keys, class Aggregates, class Row>
__device__ __forceinline__ void aggregate_shared(const shared_group_params<Keys, Aggregates>& p, const Keys& keys, const Row& row,
                                                 unsigned char* shared) {
  detail::block_groups<Copies, Keys, Aggregates> groups(p.shape, shared);
  auto* const out = p.partials + u64(blockIdx.x) * p.shape.capacity;
  groups.outside = out;
  groups.clear();
  constexpr u32 tile_rows = warp_size * Items;
  const u64 warp = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / warp_size;
  const u64 warps = u64(gridDim.x) * blockDim.x / warp_size;
  const u64 n = p.rows.n_at ? *p.rows.n_at : p.rows.n;
  const u64 tiles = detail::tile_count(p.rows, n, tile_rows);
  u32 hot = detail::no_place - 1;
  for (u64 tile = warp; tile < tiles; tile += warps) {
    u64 first;
    const u32 count = detail::tile_at(p.rows, n, tile_rows, tile, first);
    (void)detail::aggregate_tile<Items, false>(groups, first, count, p.overflow, p.again, keys, row, hot);
  }
  __syncthreads();
  if (threadIdx.x == 0) p.partial_counts[blockIdx.x] = groups.size();
  if constexpr (Copies == group_copies::memory) {
    for (u32 place = threadIdx.x; place < groups.size(); place += blockDim.x) out[place].key = groups.index.keys[place];
    return;
  }
  groups.for_each([&](u32 place, const typename Keys::key_type& key, const typename Aggregates::State& state) {
    out[place].key = key;
    out[place].state = state;
  });
}

// What merge_groups takes for the partials of aggregate_shared: entry i of [0, blocks * capacity).
template <class Key, class State>
struct shared_partials {
  const group_partial<Key, State>* partials;
  const u32* counts;
  u32 capacity;

  __device__ __forceinline__ bool operator()(u64 i, Key& key, State& state) const {
    if (i % capacity >= counts[i / capacity]) return false;
    key = partials[i].key;
    state = partials[i].state;
    return true;
  }
};

#endif

}  // namespace query::gpu
