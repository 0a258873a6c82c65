// The forms of hashing_probes_forms.cuh for keys of 16 bytes and for (hash, row) keys: slots of 32 bytes, a sector of memory, whose control
// word is taken before the key is written. A bucket of several such slots is several sectors.
#pragma once

#include "hashing_probes_forms.cuh"

namespace hashing_bench {

struct wide_key {
  u64 low, high;  // or the row's hash and its number
};
struct alignas(32) slot_32 {
  u32 tag;
  u32 pad;
  wide_key key;
  u64 payload;
};
static_assert(sizeof(slot_32) == sizeof(tagged_slot<wide_key, u64>));

// What to read of a slot: the control word, then the key, then the payload; or everything at once.
enum class reads { tag_first, whole };

struct wide_table {
  slot_32* slots;
  u64 size;
  const u64* column;  // of rows; null: the 16 bytes are the key

  __device__ __forceinline__ u64 hash(const wide_key& k) const {
    return column ? mix64(k.low) : mix64(k.low ^ mix64(k.high + 0x9e3779b97f4a7c15ull));
  }
  __device__ __forceinline__ bool equal(const wide_key& a, const wide_key& b) const {
    if (a.low != b.low) return false;
    return a.high == b.high || (column && column[a.high] == column[b.high]);
  }
  template <int Bucket> __device__ __forceinline__ u64 home(u64 hash) const { return __umul64hi(hash, size / Bucket) * Bucket; }
  template <int Bucket> __device__ __forceinline__ u64 next(u64 at) const { return at + Bucket == size ? 0 : at + Bucket; }
};

__device__ __forceinline__ wide_key key_at(const wide_key* keys, u64 i) {
  const uint4 raw = __ldcs(reinterpret_cast<const uint4*>(keys) + i);
  wide_key k;
  memcpy(&k, &raw, 16);
  return k;
}

// Kernel body: out[i] = payload of keys[i], or all ones.
template <int Bucket, reads What>
__device__ __forceinline__ void probe_wide(u64 n, const wide_table& t, const wide_key* keys, u64* out) {
  const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const wide_key key = key_at(keys, i);
  const u64 hash = t.hash(key);
  const u32 tag = query::gpu::detail::tag_of(hash);
  u64 payload = ~0ull;
  bool done = false;
  for (u64 at = t.home<Bucket>(hash); !done; at = t.next<Bucket>(at)) {
    const slot_32* const from = t.slots + at;
    if constexpr (What == reads::whole) {
      slot_32 s[Bucket];
      load_slots<cached::l1>(from, s);
#pragma unroll
      for (int b = 0; b < Bucket; ++b) {
        const bool same = s[b].tag == tag && t.equal(s[b].key, key);
        if (same) payload = s[b].payload;
        done = done || same || s[b].tag == query::gpu::detail::tag_empty;
      }
    } else {
      u32 seen[Bucket];
#pragma unroll
      for (int b = 0; b < Bucket; ++b) seen[b] = from[b].tag;
#pragma unroll
      for (int b = 0; b < Bucket; ++b) {
        const bool same = seen[b] == tag && t.equal(from[b].key, key);
        if (same) payload = from[b].payload;
        done = done || same || seen[b] == query::gpu::detail::tag_empty;
      }
    }
  }
  __stcs(out + i, payload);
}

// The same with `Threads` threads a key, a slot each.
template <int Threads> __device__ __forceinline__ void probe_wide_group(u64 n, const wide_table& t, const wide_key* keys, u64* out) {
  const u64 i = (u64(blockIdx.x) * blockDim.x + threadIdx.x) / Threads;
  if (i >= n) return;
  const u32 lane = lane_id() % Threads;
  const u32 group = ((1u << Threads) - 1) << (lane_id() - lane);
  const wide_key key = key_at(keys, i);
  const u64 hash = t.hash(key);
  const u32 tag = query::gpu::detail::tag_of(hash);
  bool done = false;
  for (u64 at = t.home<Threads>(hash); !done; at = t.next<Threads>(at)) {
    slot_32 s[1];
    load_slots<cached::l2>(t.slots + at + lane, s);
    const bool same = s[0].tag == tag && t.equal(s[0].key, key);
    if (same) __stcs(out + i, s[0].payload);
    const u32 finder = __ballot_sync(group, same);
    done = finder != 0 || __any_sync(group, s[0].tag == query::gpu::detail::tag_empty);
    if (done && !finder && lane == 0) __stcs(out + i, ~0ull);
  }
}

// Kernel body: the payload of each row's key grows by one. The control words of a bucket are read at once.
template <int Bucket> __device__ __forceinline__ void count_wide(u64 n, const wide_table& t, const wide_key* keys) {
  const u64 i = u64(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const wide_key key = key_at(keys, i);
  const u64 hash = t.hash(key);
  const u32 tag = query::gpu::detail::tag_of(hash);
  for (u64 at = t.home<Bucket>(hash);; at = t.next<Bucket>(at)) {
    u32 seen[Bucket];
#pragma unroll
    for (int b = 0; b < Bucket; ++b) seen[b] = load_acquire(&t.slots[at + b].tag);
#pragma unroll
    for (int b = 0; b < Bucket; ++b) {
      slot_32& s = t.slots[at + b];
      bool done = false;
      while (true) {
        if (seen[b] == query::gpu::detail::tag_empty) {
          seen[b] = atomicCAS(&s.tag, query::gpu::detail::tag_empty, query::gpu::detail::tag_busy);
          if (seen[b] == query::gpu::detail::tag_empty) {
            s.key = key;
            store_release(&s.tag, tag);
            done = true;
            break;
          }
          if (seen[b] != query::gpu::detail::tag_busy) seen[b] = load_acquire(&s.tag);
        }
        if (seen[b] != query::gpu::detail::tag_busy) {
          done = seen[b] == tag && t.equal(s.key, key);
          break;
        }
        seen[b] = load_acquire(&s.tag);
      }
      if (done) {
        atomicAdd(&s.payload, 1ull);
        return;
      }
    }
  }
}

}  // namespace hashing_bench
