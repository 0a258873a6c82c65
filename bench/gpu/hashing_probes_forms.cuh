// Ways to look a key up in an open-addressing table and to claim a slot for it, for hashing_probes_bench.cu: a slot at a time, and buckets
// of neighbouring slots, read by one thread, as hash_table.cuh does, or by a group of threads.
//
//   probe_bucket<1, 4, cached::l2>   four keys a thread in flight, a slot at a time
//   probe_around<2, 4, cached::l2>   the same, but a bucket to its end, around its border, before the next one
//   probe_bucket<2, 1, cached::l1>   one key a thread, two slots at once
//   probe_group<4, 1>                four threads a key, a slot each
//
// In every form a key goes to the first slot that is empty, in the order of the probe, by compare-and-swap; a bucket begins at the home
// rounded down, or goes around from the home. So what a thread read before it claims may be old: a taken slot never changes, and an empty
// one is asked again by the swap.
// Unlike the tables of hash_table.cuh these have any number of slots, so that one set of keys can fill them to any load.
#pragma once

#include "gpu_primitives/hash_table.cuh"
#include "hashing_timing.cuh"

namespace hashing_bench {

struct slot_8 {
  using word = u32;
  u32 key;
  u32 payload;
};
struct alignas(16) slot_16 {
  using word = u64;
  u64 key;
  u64 payload;
};

enum class cached { l1, l2, coherent };

template <cached Where> __device__ __forceinline__ uint4 load_16(const void* p) {
  if constexpr (Where == cached::l1) return *static_cast<const uint4*>(p);
  if constexpr (Where == cached::l2) return __ldcg(static_cast<const uint4*>(p));
  uint4 v;
  asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(__cvta_generic_to_global(p))
               : "memory");
  return v;
}
template <cached Where> __device__ __forceinline__ uint2 load_8(const void* p) {
  if constexpr (Where == cached::l1) return *static_cast<const uint2*>(p);
  if constexpr (Where == cached::l2) return __ldcg(static_cast<const uint2*>(p));
  uint2 v;
  asm volatile("ld.relaxed.gpu.global.v2.u32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(__cvta_generic_to_global(p)) : "memory");
  return v;
}

// `Slots` neighbours, by the widest loads that there are.
template <cached Where, int Slots, class Slot> __device__ __forceinline__ void load_slots(const Slot* from, Slot (&to)[Slots]) {
  constexpr u32 bytes = sizeof(Slot) * Slots;
  if constexpr (bytes == 8) {
    const uint2 raw = load_8<Where>(from);
    memcpy(to, &raw, 8);
  } else {
    uint4 raw[bytes / 16];
#pragma unroll
    for (u32 i = 0; i < bytes / 16; ++i) raw[i] = load_16<Where>(reinterpret_cast<const uint4*>(from) + i);
    memcpy(to, raw, bytes);
  }
}

template <class Slot> struct probed_table {
  using word = typename Slot::word;
  Slot* slots;
  u64 size;  // a multiple of every bucket's
  static constexpr word empty = static_cast<word>(~word(0));

  // The top bits of the hash for a size that is a power of two.
  template <int Bucket> __device__ __forceinline__ u64 home(word key) const {
    return __umul64hi(bitwise_keys<word>{}.hash(key), size / Bucket) * Bucket;
  }
  template <int Bucket> __device__ __forceinline__ u64 next(u64 at) const { return at + Bucket == size ? 0 : at + Bucket; }
};

// Kernel body: out[i] = payload of keys[i], or all ones. The whole grid at once, blockDim.x * Items keys a block.
template <int Bucket, int Items, cached Where, class Slot>
__device__ __forceinline__ void probe_bucket(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys,
                                             typename Slot::word* out) {
  using word = typename Slot::word;
  const u64 first = u64(blockIdx.x) * blockDim.x * Items + threadIdx.x;
  word key[Items], payload[Items];
  u64 at[Items];
  u32 pending = 0;
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    payload[j] = t.empty;
    if (i >= n) continue;
    key[j] = __ldcs(keys + i);
    at[j] = t.template home<Bucket>(key[j]);
    if (key[j] != t.empty) pending |= 1u << j;  // that key has a slot of its own
  }
  while (pending) {
    Slot s[Items][Bucket];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (pending >> j & 1) load_slots<Where>(t.slots + at[j], s[j]);
    }
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (!(pending >> j & 1)) continue;
      bool ends = false;
#pragma unroll
      for (int b = 0; b < Bucket; ++b) {
        if (s[j][b].key == key[j]) payload[j] = s[j][b].payload;
        ends = ends || s[j][b].key == key[j] || s[j][b].key == t.empty;
      }
      if (ends) pending &= ~(1u << j);
      at[j] = t.template next<Bucket>(at[j]);
    }
  }
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    if (i < n) __stcs(out + i, payload[j]);
  }
}

// Slot `probe` of a key whose first one is `home`: through the home's bucket, then through the next ones.
template <int Bucket, class Slot> __device__ __forceinline__ u64 slot_around(const probed_table<Slot>& t, u64 home, u32 probe) {
  constexpr u32 inside = Bucket - 1;
  const u64 bucket = (home & ~u64(inside)) + (probe & ~inside);
  return (bucket < t.size ? bucket : bucket - t.size) + ((home + probe) & inside);
}

template <int Bucket, int Items, cached Where, class Slot>
__device__ __forceinline__ void probe_around(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys,
                                             typename Slot::word* out) {
  using word = typename Slot::word;
  const u64 first = u64(blockIdx.x) * blockDim.x * Items + threadIdx.x;
  word key[Items], payload[Items];
  u64 home[Items];
  u32 pending = 0;
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    payload[j] = t.empty;
    if (i >= n) continue;
    key[j] = __ldcs(keys + i);
    home[j] = t.template home<1>(key[j]);
    if (key[j] != t.empty) pending |= 1u << j;
  }
#pragma unroll 1
  for (u32 probe = 0; pending; ++probe) {
    Slot s[Items][1];
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (pending >> j & 1) load_slots<Where>(t.slots + slot_around<Bucket>(t, home[j], probe), s[j]);
    }
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      if (!(pending >> j & 1)) continue;
      if (s[j][0].key == key[j]) payload[j] = s[j][0].payload;
      if (s[j][0].key == key[j] || s[j][0].key == t.empty) pending &= ~(1u << j);
    }
  }
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    if (i < n) __stcs(out + i, payload[j]);
  }
}

// The same with `Threads` threads a key, each of which reads `Each` slots of the bucket.
template <int Threads, int Each, class Slot>
__device__ __forceinline__ void probe_group(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys, typename Slot::word* out) {
  constexpr int bucket = Threads * Each;
  const u64 i = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / Threads;
  if (i >= n) return;  // whole groups
  const u32 lane = lane_id() % Threads;
  const u32 group = ((1u << Threads) - 1) << (lane_id() - lane);
  const auto key = __ldcs(keys + i);
  bool done = key == t.empty;
  if (done && lane == 0) __stcs(out + i, t.empty);
  for (u64 at = t.template home<bucket>(key); !done; at = t.template next<bucket>(at)) {
    Slot s[Each];
    load_slots<cached::l2>(t.slots + at + lane * Each, s);
    bool ends = false;
    const Slot* found = nullptr;
#pragma unroll
    for (int b = 0; b < Each; ++b) {
      if (s[b].key == key) found = s + b;
      ends = ends || s[b].key == t.empty;
    }
    const u32 finder = __ballot_sync(group, found != nullptr);
    done = finder != 0 || __any_sync(group, ends);
    if (found) __stcs(out + i, found->payload);
    if (done && !finder && lane == 0) __stcs(out + i, t.empty);
  }
}

// Goes on with a bucket that was read. The slot of the key.
template <int Bucket, cached Where, class Slot>
__device__ __forceinline__ u64 claim_from(const probed_table<Slot>& t, typename Slot::word key, u64 at, Slot (&s)[Bucket]) {
  while (true) {
    u32 same = 0, rooms = 0;
#pragma unroll
    for (int b = 0; b < Bucket; ++b) {
      if (s[b].key == key) same |= 1u << b;
      if (s[b].key == t.empty) rooms |= 1u << b;
    }
    if (same) return at + static_cast<u32>(__ffs(static_cast<int>(same))) - 1;
    while (rooms) {  // one place in the code for all slots, so that lanes claim together
      const u64 room = at + static_cast<u32>(__ffs(static_cast<int>(rooms))) - 1;
      const auto seen = atomicCAS(&t.slots[room].key, t.empty, key);
      if (seen == t.empty || seen == key) return room;
      rooms &= rooms - 1;
    }
    at = t.template next<Bucket>(at);
    load_slots<Where>(t.slots + at, s);
  }
}

// Kernel body: the payload of each row's key grows by one.
template <int Bucket, int Items, cached Where, class Slot>
__device__ __forceinline__ void count_bucket(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys) {
  using word = typename Slot::word;
  const u64 first = u64(blockIdx.x) * blockDim.x * Items + threadIdx.x;
  word key[Items];
  u64 at[Items];
  Slot s[Items][Bucket];
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    key[j] = i < n ? __ldcs(keys + i) : t.empty;
    at[j] = t.template home<Bucket>(key[j]);
    if (key[j] != t.empty) load_slots<Where>(t.slots + at[j], s[j]);
  }
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    if (key[j] == t.empty) continue;
    atomicAdd(&t.slots[claim_from<Bucket, Where>(t, key[j], at[j], s[j])].payload, word(1));
  }
}

template <int Bucket, int Items, cached Where, class Slot>
__device__ __forceinline__ void count_around(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys) {
  using word = typename Slot::word;
  const u64 first = u64(blockIdx.x) * blockDim.x * Items + threadIdx.x;
  word key[Items];
  u64 home[Items];
  Slot s[Items][1];
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    const u64 i = first + static_cast<u32>(j) * blockDim.x;
    key[j] = i < n ? __ldcs(keys + i) : t.empty;
    home[j] = t.template home<1>(key[j]);
    if (key[j] != t.empty) load_slots<Where>(t.slots + home[j], s[j]);
  }
#pragma unroll
  for (int j = 0; j < Items; ++j) {
    if (key[j] == t.empty) continue;
    u64 at = home[j];
#pragma unroll 1
    for (u32 probe = 0;;) {
      word seen = s[j][0].key;
      if (seen == t.empty) {
        seen = atomicCAS(&t.slots[at].key, t.empty, key[j]);
        if (seen == t.empty) break;
      }
      if (seen == key[j]) break;
      at = slot_around<Bucket>(t, home[j], ++probe);
      load_slots<Where>(t.slots + at, s[j]);
    }
    atomicAdd(&t.slots[at].payload, word(1));
  }
}

// The same with `Threads` threads a key.
template <int Threads, int Each, class Slot>
__device__ __forceinline__ void count_group(u64 n, const probed_table<Slot>& t, const typename Slot::word* keys) {
  using word = typename Slot::word;
  constexpr int bucket = Threads * Each;
  const u64 i = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / Threads;
  if (i >= n) return;
  const u32 lane = lane_id() % Threads;
  const u32 group = ((1u << Threads) - 1) << (lane_id() - lane);
  const word key = __ldcs(keys + i);
  if (key == t.empty) return;
  for (u64 at = t.template home<bucket>(key);;) {
    Slot s[Each];
    Slot* const mine = t.slots + at + lane * Each;
    load_slots<cached::coherent>(mine, s);
    Slot* found = nullptr;
    Slot* room = nullptr;
#pragma unroll
    for (int b = 0; b < Each; ++b) {
      if (s[b].key == key) found = mine + b;
      if (s[b].key == t.empty && !room) room = mine + b;
    }
    if (found) atomicAdd(&found->payload, word(1));
    if (__any_sync(group, found != nullptr)) return;
    const u32 rooms = __ballot_sync(group, room != nullptr);
    if (!rooms) {
      at = t.template next<bucket>(at);
      continue;
    }
    bool done = false;
    if (lane_id() == static_cast<u32>(__ffs(static_cast<int>(rooms))) - 1) {
      const word seen = atomicCAS(&room->key, t.empty, key);
      done = seen == t.empty || seen == key;
      if (done) atomicAdd(&room->payload, word(1));
    }
    if (__any_sync(group, done)) return;  // else the bucket is read again: another key took the slot
  }
}

}  // namespace hashing_bench
