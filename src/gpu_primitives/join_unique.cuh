// Hash join with a build side of distinct keys: one slot a build row with its payload beside the key, one pass over the probe rows, output
// in the order of the probe rows.
//
//   bool build_row(u64 i, Key& key, Payload& payload)       loads and filters build row i; Payload: the columns the output needs where
//                                                           that is a word or two, else the row id
//   bool probe_row(u64 i, Key& key, Args& args)             Args: the probe columns that the output needs, loaded once; returns a
//                                                           probe_state where rows may have a null for a key
//   void emit(u64 at, u64 probe_row, const Key&, const Args&, bool matched, const Payload&)   writes row `at` of the output
//
// Kernels: build_unique (table all bytes 0xff, of join_table_bits(rows), so that it cannot fill and every probe ends); probe_unique, with
// ordered_append or the faster unordered_append, or probe_unique_pipelined, the faster of the ordered ones; emit_unmatched_build for right
// and full joins. Repeated keys set `repeated`: the build side then goes through grouper.cuh and join_expand.cuh. Semi and anti joins,
// to which repeats are no matter, build by build_keys.
//
// Build tables beyond the L2 cache (join_scatter_bits > 0) from scattered rows: group_partition.cuh with Args = Payload and
// join_partition_shift, then build_unique over scattered_rows. The slots that are written at one time are then close together.
//
//   using table = hash_table_ref<bitwise_keys<u64>, u64>;
//   extern "C" __global__ void build(u64 n, table t, u32* repeated, const u64* k, const u64* v) {
//     build_unique<4>(n, t, repeated, bitwise_keys<u64>{}, [=](u64 i, u64& key, u64& p) { key = k[i]; p = v[i]; return true; });
//   }
//   extern "C" __global__ void probe(u64 n, table t, unordered_append append, const u64* k, u64* out) {
//     probe_unique<join_kind::inner, 4, no_value>(n, t, append, nullptr, bitwise_keys<u64>{},
//         [=](u64 i, u64& key, no_value&) { key = k[i]; return true; },
//         [=](u64 at, u64, u64, no_value, bool, u64 p) { out[at] = p; });
//   }
#pragma once

#include "gpu_primitives/hash_table.cuh"
#include "gpu_primitives/ordered_append.cuh"
#include "gpu_primitives/row_writes.cuh"

namespace query::gpu {

// What a probe row gives: matched pairs; all rows, with or without a partner; rows with a partner; rows without.
enum class join_kind { inner, left, semi, anti };

// What a row of the probe side is: filtered away; there, but with a key that matches nothing (a null); with a key to look up.
enum class probe_state : u8 { dropped, keyless, keyed };

// Probe rows of a tile of probe_unique.
QUERY_GPU_BOTH constexpr u64 probe_tiles(u64 n, u32 threads, u32 items) { return divide_up(n, u64(threads) * items); }

// Size of the table for `rows` build rows: filled to a quarter while that is cheap to clear, which saves probes, to a half beyond.
QUERY_GPU_BOTH constexpr u32 join_table_bits(u64 rows) { return table_bits(rows) + (rows <= (u64(1) << 25) ? 1 : 0); }

// Bits by which to scatter the build rows first, so that the slots of a partition stay in the L2 cache; 0: the table is small enough.
QUERY_GPU_BOTH constexpr u32 join_scatter_bits(u32 table_bits, u32 slot_bytes) {
  u32 bits = 0;
  while (((u64(slot_bytes) << table_bits) >> bits) > (u64(16) << 20) && bits < 10) ++bits;
  return bits;
}

#if QUERY_GPU_DEVICE_CODE

// Kernel body. Items rows a thread are in flight at once. Ends early once a key has been met twice.
template <int Items, class Keys, class Payload, class Row>
__device__ __forceinline__ void build_unique(u64 n, const hash_table_ref<Keys, Payload>& t, u32* repeated, const Keys& keys,
                                             const Row& build_row) {
  const u64 turn = u64(blockDim.x) * Items;
  for (u64 first = blockIdx.x * turn; first < n; first += gridDim.x * turn) {
    if (load_relaxed(repeated)) return;
    typename Keys::key_type key[Items];
    Payload payload[Items];
    bool valid[Items];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      const u64 i = first + static_cast<u32>(j) * blockDim.x + threadIdx.x;
      valid[j] = i < n && build_row(i, key[j], payload[j]);
    }
    u64 slot[Items];
    bool fresh[Items];
    if constexpr (Keys::one_word) {
      // The claims of all rows travel together, then those of the rows whose slot was taken.
      using word = decltype(t.slots[0].key);
      constexpr word empty = static_cast<word>(~word(0));
      word seen[Items];
      u32 pending = 0;
#pragma unroll
      for (u32 j = 0; j < Items; ++j) {
        fresh[j] = false;
        if (!valid[j]) continue;
        if (detail::same_bits<word>(key[j]) == empty) {
          slot[j] = find_or_claim(t, keys, key[j], 0, fresh[j]);
        } else {
          slot[j] = t.home(keys.hash(key[j]));
          pending |= 1u << j;
        }
      }
#pragma unroll 1
      for (u32 probe = 0; pending && probe < longest_probe; ++probe) {  // a row without a place counts as a repeated one below
#pragma unroll
        for (u32 j = 0; j < Items; ++j) {
          if (pending >> j & 1) seen[j] = atomicCAS(&t.slots[slot[j]].key, empty, detail::same_bits<word>(key[j]));
        }
#pragma unroll
        for (u32 j = 0; j < Items; ++j) {
          if (!(pending >> j & 1)) continue;
          fresh[j] = seen[j] == empty;
          if (fresh[j] || seen[j] == detail::same_bits<word>(key[j])) {
            pending &= ~(1u << j);
          } else {
            slot[j] = t.next(slot[j], t.home(keys.hash(key[j])));
          }
        }
      }
    } else {
#pragma unroll
      for (int j = 0; j < Items; ++j) {
        if (valid[j]) slot[j] = find_or_claim(t, keys, key[j], keys.hash(key[j]), fresh[j]);
      }
    }
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (!valid[j]) continue;
      if (fresh[j]) {
        t.slots[slot[j]].payload = payload[j];
      } else {
        store_relaxed(repeated, 1u);
      }
    }
  }
}

// Kernel body: the keys alone, their payloads as the host filled them; `key_of(i, key)` as build_row. `full` is set when a key of several
// words found no place.
template <class Keys, class Payload, class Row>
__device__ __forceinline__ void build_keys(u64 n, const hash_table_ref<Keys, Payload>& t, u32* full, const Keys& keys, const Row& key_of) {
  for (u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += u64(gridDim.x) * blockDim.x) {
    typename Keys::key_type key;
    bool fresh;
    if (key_of(i, key) && find_or_claim(t, keys, key, keys.hash(key), fresh) == no_slot) store_relaxed(full, 1u);
  }
}

namespace detail {

// Where each kept row of a block's tile goes, in order of rows: item j of thread t is row j * blockDim.x + t. offsets[j] is relative to the
// tile. `counts` has room for Items * 32 words. Ends with a barrier.
template <int Items>
__device__ __forceinline__ u32 offsets_in_tile(const bool (&keep)[Items], u32 (&offsets)[Items], u32* counts) {
  const u32 warp = threadIdx.x / warp_size, warps = blockDim.x / warp_size;
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u32 lanes = __ballot_sync(all_lanes, keep[j]);
    offsets[j] = static_cast<u32>(__popc(static_cast<int>(lanes & lanes_below())));
    if (lane_id() == 0) counts[static_cast<u32>(j) * warps + warp] = static_cast<u32>(__popc(static_cast<int>(lanes)));
  }
  __syncthreads();
  if (warp == 0) {
    u32 before = 0;
    const u32 entries = static_cast<u32>(Items) * warps;
    for (u32 base = 0; base < entries; base += warp_size) {
      const u32 mine = base + lane_id() < entries ? counts[base + lane_id()] : 0;
      u32 sum = mine;
#pragma unroll
      for (u32 d = 1; d < warp_size; d *= 2) {
        const u32 other = __shfl_up_sync(all_lanes, sum, d);
        if (lane_id() >= d) sum += other;
      }
      if (base + lane_id() < entries) counts[base + lane_id()] = before + sum - mine;
      before += __shfl_sync(all_lanes, sum, warp_size - 1);
    }
    if (lane_id() == 0) counts[entries] = before;
  }
  __syncthreads();
#pragma unroll
  for (int j = 0; j < Items; ++j) offsets[j] += counts[static_cast<u32>(j) * warps + warp];
  return counts[static_cast<u32>(Items) * warps];
}

}  // namespace detail

namespace detail {

__device__ __forceinline__ probe_state state_of(probe_state s) { return s; }
__device__ __forceinline__ probe_state state_of(bool passes) { return passes ? probe_state::keyed : probe_state::dropped; }

// The probe rows of a block's tile and what they found: item j of thread t is row first + j * blockDim.x + t.
template <join_kind Kind, int Items, class Args, class Keys, class Payload, class Row>
__device__ __forceinline__ void probe_rows(u64 n, u64 first, const hash_table_ref<Keys, Payload>& t, u8* matched, const Keys& keys,
                                           const Row& probe_row, typename Keys::key_type (&key)[Items], Args (&args)[Items],
                                           Payload (&payload)[Items], bool (&found)[Items], bool (&keep)[Items]) {
  bool live[Items], valid[Items];
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x + threadIdx.x;
    const probe_state state = i < n ? state_of(probe_row(i, key[j], args[j])) : probe_state::dropped;
    live[j] = state != probe_state::dropped;
    valid[j] = state == probe_state::keyed;
  }
  find_payloads(t, keys, key, valid, payload, found, [&](u64 at) {
    if (matched) matched[at] = 1;
  });
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    keep[j] = live[j] && (Kind == join_kind::left || found[j] == (Kind != join_kind::anti));
  }
}

}  // namespace detail

// Kernel body: one block a tile of blockDim.x * Items rows, probe_tiles(n, ...) blocks. Append: ordered_append or unordered_append.
// `matched` (or null) has a byte a slot, table_slots(bits), zeroed by the host, and gets 1 where a build row found a partner.
template <join_kind Kind, int Items, class Args, class Append, class Keys, class Payload, class Row, class Emit>
__device__ __forceinline__ void probe_unique(u64 n, const hash_table_ref<Keys, Payload>& t, const Append& append, u8* matched,
                                             const Keys& keys, const Row& probe_row, const Emit& emit) {
  __shared__ u32 counts[Items * warp_size + 1];
  const u64 tile_rows = u64(blockDim.x) * Items;
  const u64 tile = append.take_tile();
  const u64 first = tile * tile_rows;
  typename Keys::key_type key[Items];
  Args args[Items];
  Payload payload[Items];
  bool found[Items], keep[Items];
  detail::probe_rows<Kind, Items>(n, first, t, matched, keys, probe_row, key, args, payload, found, keep);
  u32 offsets[Items];
  const u32 kept = detail::offsets_in_tile<Items>(keep, offsets, counts);
  const u64 to = append.publish(tile, kept, first + tile_rows >= n);
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    if (keep[j]) emit(to + offsets[j], first + static_cast<u32>(j) * blockDim.x + threadIdx.x, key[j], args[j], found[j], payload[j]);
  }
}

// Kernel body: the same in the order of the probe rows, for as many blocks of Threads as are resident at once. A block probes its next
// tile before it asks where the last one goes, whose rows wait in shared memory (static: keep Threads * Items rows under 48 KB, and
// registers at 64 by launch bounds): by then the tiles before it have been counted. 512 threads and 2 items did best. `emit` may be one of
// whole_warp_rows.
template <join_kind Kind, int Threads, int Items, class Args, class Keys, class Payload, class Row, class Emit>
__device__ __forceinline__ void probe_unique_pipelined(u64 n, const hash_table_ref<Keys, Payload>& t, const ordered_append& append,
                                                       u8* matched, const Keys& keys, const Row& probe_row, const Emit& emit) {
  using key_type = typename Keys::key_type;
  constexpr u32 tile_rows = Threads * Items;
  constexpr u32 found_bit = 1u << 31;
  __shared__ __align__(16) unsigned char key_bytes[tile_rows * sizeof(key_type)];
  __shared__ __align__(16) unsigned char args_bytes[tile_rows * sizeof(Args)];
  __shared__ __align__(16) unsigned char payload_bytes[tile_rows * sizeof(Payload)];
  __shared__ u32 staged_rows[tile_rows];
  __shared__ u32 counts[Items * warp_size + 1];
  key_type* const staged_keys = reinterpret_cast<key_type*>(key_bytes);
  Args* const staged_args = reinterpret_cast<Args*>(args_bytes);
  Payload* const staged_payloads = reinterpret_cast<Payload*>(payload_bytes);
  const u64 tiles = divide_up(n, tile_rows);
  u64 staged_tile = no_slot;
  u32 staged_count = 0;
  while (true) {
    const u64 tile = append.take_tile();
    const bool more = tile < tiles;
    key_type key[Items];
    Args args[Items];
    Payload payload[Items];
    bool found[Items], keep[Items];
    u32 offsets[Items], kept = 0;
    if (more) {
      detail::probe_rows<Kind, Items>(n, tile * tile_rows, t, matched, keys, probe_row, key, args, payload, found, keep);
      kept = detail::offsets_in_tile<Items>(keep, offsets, counts);
      append.announce(tile, kept);
    }
    if (staged_tile != no_slot) {
      const u64 to = append.resolve(staged_tile, staged_count, staged_tile + 1 == tiles);
      for (u32 first = 0; first < staged_count; first += Threads) {
        const u32 i = first + threadIdx.x;
        const bool mine = i < staged_count;
        if constexpr (takes_whole_warps<Emit>) {
          const u32 row = mine ? staged_rows[i] : 0;
          emit(mine, to + i, staged_tile * tile_rows + (row & ~found_bit), staged_keys[i], staged_args[i], (row & found_bit) != 0,
               staged_payloads[i]);
        } else if (mine) {
          const u32 row = staged_rows[i];
          emit(to + i, staged_tile * tile_rows + (row & ~found_bit), staged_keys[i], staged_args[i], (row & found_bit) != 0,
               staged_payloads[i]);
        }
      }
    }
    if (!more) return;
    __syncthreads();
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      if (!keep[j]) continue;
      staged_keys[offsets[j]] = key[j];
      staged_args[offsets[j]] = args[j];
      staged_payloads[offsets[j]] = payload[j];
      staged_rows[offsets[j]] = (j * Threads + threadIdx.x) | (found[j] ? found_bit : 0);
    }
    staged_tile = tile;
    staged_count = kept;
  }
}

// Kernel body: build rows without a partner, emit(at, key, payload) from *count on, for right and full joins. In any order. Blocks of whole
// warps.
template <class Keys, class Payload, class Emit>
__device__ __forceinline__ void emit_unmatched_build(const hash_table_ref<Keys, Payload>& t, const u8* matched, u64* count,
                                                     const Emit& emit) {
  const u64 slots = table_slots(t.bits);
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < slots; at += u64(gridDim.x) * blockDim.x) {
    if (slot_taken(t, at) && !matched[at]) emit(take_one(count), slot_key(t, at), t.slots[at].payload);
  }
}

#endif

}  // namespace query::gpu
