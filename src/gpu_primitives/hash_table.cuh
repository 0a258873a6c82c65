// Open-addressing hash table in global memory: lock-free find-or-claim, and dense group ids on top of it.
//
// Slots are a power of two, in the order of the top bits of the hash, so that a range of hashes is a range of slots. A bucket is a sector
// of memory (32 bytes): four slots of 8 bytes, two of 16, or a single larger one. A probe begins with the bucket of the key's home, and one
// thread reads all of a bucket at once. Why not slot by slot, nor by several threads: docs/design/009-buckets-of-a-sector.md.
// One slot more than the power of two holds the one key whose bits mark an empty slot: users may have every key value. Fill at most half
// for speed; a probe longer than `longest_probe` means `full`, so that nothing loops for ever and the host grows the table (rehash into
// one twice as large) and runs again the rows that found no place. Growing helps only against different hashes: the host stops at
// table_bits(rows) + 3, where more than 512 keys must share the top bits of one hash, and reports it.
//
//   table_of_ids<bitwise_keys<u64>> t{slots, bits, counts};                    // slots: table_slots(bits) of them, all bytes 0xff
//   u32 id = find_or_insert_id(t, keys, key, [=](u32 id) { unique[id] = key; });  // dense ids 0, 1, 2...; no_id when full
//
// Invariant: a slot goes from empty to one key and never changes it, and a key claims the first empty slot around its bucket from its home
// on, then around the next bucket: it is in no bucket behind one with an empty slot, and in no two slots. Claiming is one
// compare-and-swap; for keys wider than a word a control word goes empty -> busy -> tag, and the key is written before the tag is released.
#pragma once

#include "gpu_primitives/hash_keys.cuh"

namespace query::gpu {

inline constexpr u64 no_slot = ~0ull;
inline constexpr u32 no_id = ~0u;
inline constexpr u32 longest_probe = 512;

// Slots to allocate for a table of 2^bits.
QUERY_GPU_BOTH constexpr u64 table_slots(u32 bits) { return (u64(1) << bits) + 1; }

// The smallest table that `keys` distinct keys fill to at most a half.
QUERY_GPU_BOTH constexpr u32 table_bits(u64 keys) {
  u32 bits = 5;
  while ((u64(1) << bits) < 2 * keys) ++bits;
  return bits;
}

namespace detail {

// A slot of 9 to 16 bytes is aligned to 16, of 17 to 32 to 32: none straddles a 32-byte sector.
QUERY_GPU_BOTH constexpr u32 slot_alignment(u64 bytes) { return bytes <= 8 ? 8 : bytes <= 16 ? 16 : bytes <= 32 ? 32 : 16; }

template <class A, class B>
struct size_of_pair {
  A a;
  B b;
};

}  // namespace detail

// Host code sizes buffers by these too. `Word` is u32 or u64 for a key of one word (the key's bits, all ones: empty), otherwise
// the slot keeps a control word of its own (all ones: empty).
template <class Word, class Payload>
struct alignas(detail::slot_alignment(sizeof(detail::size_of_pair<Word, Payload>))) word_slot {
  using payload_type = Payload;
  Word key;
  Payload payload;
};
template <class Key, class Payload>
struct alignas(16) tagged_slot {
  using payload_type = Payload;
  u32 tag;
  Key key;
  Payload payload;
};

namespace detail {
template <class Key, class Payload, bool OneWord, u32 Bytes>
struct slot_choice {
  using type = tagged_slot<Key, Payload>;
};
template <class Key, class Payload>
struct slot_choice<Key, Payload, true, 4> {
  using type = word_slot<u32, Payload>;
};
template <class Key, class Payload>
struct slot_choice<Key, Payload, true, 8> {
  using type = word_slot<u64, Payload>;
};
}  // namespace detail

// The slot for a key type, as the host sees it: bitwise keys of up to 8 bytes take one word.
template <class Key, class Payload>
using bitwise_slot = typename detail::slot_choice<Key, Payload, (sizeof(Key) <= 8), sizeof(Key)>::type;

#if QUERY_GPU_DEVICE_CODE

template <class Keys, class Payload>
using slot_of = typename detail::slot_choice<typename Keys::key_type, Payload, Keys::one_word, sizeof(typename Keys::key_type)>::type;

// A table as kernels see it.
template <class Keys, class Payload>
struct hash_table_ref {
  using slot = slot_of<Keys, Payload>;
  // Slots of a bucket: as many as a sector has.
  static constexpr u32 bucket = !Keys::one_word || sizeof(slot) > 16 ? 1 : 32 / sizeof(slot);
  slot* slots;  // aligned to a sector
  u32 bits;     // at least 2
  u32 pad = 0;

  __device__ __forceinline__ u64 mask() const { return (u64(1) << bits) - 1; }
  __device__ __forceinline__ u64 home(u64 hash) const { return hash >> (64 - bits); }
  // The first slot of the bucket, and of the next one.
  __device__ __forceinline__ u64 bucket_of(u64 at) const { return at & ~u64(bucket - 1); }
  __device__ __forceinline__ u64 next_bucket(u64 first) const { return (first + bucket) & mask(); }
  // The slot to be claimed after `at` by a key of that home: around the bucket, then around the next one.
  __device__ __forceinline__ u64 next(u64 at, u64 home) const {
    if constexpr (bucket == 1) {
      return next_bucket(at);
    } else {
      const u64 around = bucket_of(at) | ((at + 1) & (bucket - 1));
      return ((around ^ home) & (bucket - 1)) != 0 ? around : next_bucket(bucket_of(at)) | (home & (bucket - 1));
    }
  }
};

namespace detail {
inline constexpr u32 tag_empty = ~0u;
inline constexpr u32 tag_busy = 0;

__device__ __forceinline__ u32 tag_of(u64 hash) {
  const u32 tag = static_cast<u32>(hash);
  return tag == tag_empty || tag == tag_busy ? 1u : tag;
}

// A bucket, all of it at once. While keys are inserted: each of its words as it was at some time (`Inserting`), from the L2 cache.
// Otherwise through the L1 cache, which brings a sector once for two loads of 16 bytes.
template <bool Inserting, class Slot, u32 Count>
__device__ __forceinline__ void load_bucket(const Slot* from, Slot (&to)[Count]) {
  constexpr u32 loads = sizeof(to) / sizeof(uint4);
  static_assert(loads * sizeof(uint4) == sizeof(to));
  constexpr bool key_of_8_bytes = sizeof(from->key) == 8;
  uint4 raw[loads];
#pragma unroll
  for (u32 i = 0; i < loads; ++i) {
    const uint4* const p = reinterpret_cast<const uint4*>(from) + i;
    if constexpr (Inserting && key_of_8_bytes) {  // no half of a key: PTX takes each element of a vector in one piece, no more
      ulonglong2 words;
      asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                   : "=l"(words.x), "=l"(words.y)
                   : "l"(__cvta_generic_to_global(p))
                   : "memory");
      memcpy(raw + i, &words, sizeof(words));
    } else if constexpr (Inserting) {
      asm volatile("ld.relaxed.gpu.global.v4.u32 {%0, %1, %2, %3}, [%4];"
                   : "=r"(raw[i].x), "=r"(raw[i].y), "=r"(raw[i].z), "=r"(raw[i].w)
                   : "l"(__cvta_generic_to_global(p))
                   : "memory");
    } else {
      raw[i] = *p;
    }
  }
  memcpy(to, raw, sizeof(to));
}

template <class Word>
__device__ __forceinline__ Word bits_of_empty() {
  return static_cast<Word>(~Word(0));
}
}  // namespace detail

// Whether slot `at` holds a key; for kernels that run after all insertions.
template <class Keys, class Payload>
__device__ __forceinline__ bool slot_taken(const hash_table_ref<Keys, Payload>& t, u64 at) {
  if constexpr (Keys::one_word) {
    using word = decltype(t.slots[at].key);
    return t.slots[at].key != detail::bits_of_empty<word>();
  } else {
    return t.slots[at].tag != detail::tag_empty;
  }
}

// The key of a taken slot.
template <class Keys, class Payload>
__device__ __forceinline__ typename Keys::key_type slot_key(const hash_table_ref<Keys, Payload>& t, u64 at) {
  if constexpr (Keys::one_word) {
    using word = decltype(t.slots[at].key);
    return detail::same_bits<typename Keys::key_type>(at > t.mask() ? detail::bits_of_empty<word>() : word(t.slots[at].key));
  } else {
    return t.slots[at].key;
  }
}

// The slot of `key`, claimed when it was in none (then fresh = true); no_slot when the probe grew too long. BySlots: a slot at a time, in
// the same order.
template <bool BySlots = false, class Keys, class Payload>
__device__ __forceinline__ u64 find_or_claim(const hash_table_ref<Keys, Payload>& t, const Keys& keys,
                                             const typename Keys::key_type& key, u64 hash, bool& fresh) {
  fresh = false;
  const u64 home = t.home(hash);
  u64 at = home;
  if constexpr (Keys::one_word) {
    using word = decltype(t.slots[0].key);
    constexpr word empty = static_cast<word>(~word(0));
    const word bits = detail::same_bits<word>(key);
    if (bits == empty) {
      at = t.mask() + 1;
      fresh = load_relaxed(&t.slots[at].key) == empty && atomicCAS(&t.slots[at].key, empty, word(0)) == empty;
      return at;
    }
    using table = hash_table_ref<Keys, Payload>;
    if constexpr (table::bucket > 1 && !BySlots) {
      constexpr u32 inside = table::bucket - 1;
      const u32 start = static_cast<u32>(home) & inside;
      u64 first = t.bucket_of(home);
#pragma unroll 1
      for (u32 probe = 0; probe < longest_probe; probe += table::bucket) {
        typename table::slot seen[table::bucket];
        detail::load_bucket<true>(t.slots + first, seen);
        u32 same = 0, rooms = 0;  // bit j: the j-th slot from the start, around the bucket
#pragma unroll
        for (u32 b = 0; b < table::bucket; ++b) {
          if (seen[b].key == bits) same |= 1u << ((b - start) & inside);
          if (seen[b].key == empty) rooms |= 1u << ((b - start) & inside);
        }
        // What was read may be old: taken slots never change, and the swap asks once more about the empty ones.
        while ((same | rooms) != 0) {
          const u32 nearest = static_cast<u32>(__ffs(static_cast<int>(same != 0 ? same : rooms))) - 1;
          at = first + ((start + nearest) & inside);
          if (same != 0) return at;
          const word was = atomicCAS(&t.slots[at].key, empty, bits);
          fresh = was == empty;
          if (fresh || was == bits) return at;
          rooms &= rooms - 1;
        }
        first = t.next_bucket(first);
      }
    } else {
#pragma unroll 1
      for (u32 probe = 0; probe < longest_probe; ++probe) {
        word seen = load_relaxed(&t.slots[at].key);
        if (seen == empty) {
          seen = atomicCAS(&t.slots[at].key, empty, bits);
          if (seen == empty) {
            fresh = true;
            return at;
          }
        }
        if (seen == bits) return at;
        at = t.next(at, home);
      }
    }
    return no_slot;
  } else {
    const u32 tag = detail::tag_of(hash);
#pragma unroll 1
    for (u32 probe = 0; probe < longest_probe;) {
      u32 seen = load_acquire(&t.slots[at].tag);
      if (seen == detail::tag_empty) {
        seen = atomicCAS(&t.slots[at].tag, detail::tag_empty, detail::tag_busy);
        if (seen == detail::tag_empty) {
          t.slots[at].key = key;
          store_release(&t.slots[at].tag, tag);
          fresh = true;
          return at;
        }
      }
      if (seen == detail::tag_busy) continue;  // its owner writes the key and waits for nobody
      if (seen == tag && keys.equal(t.slots[at].key, key)) return at;
      at = t.next_bucket(at);
      ++probe;
    }
    return no_slot;
  }
}

// The slot of `key`, and its payload, or no_slot; for kernels that run after all insertions.
template <class Keys, class Payload>
__device__ __forceinline__ u64 find_payload(const hash_table_ref<Keys, Payload>& t, const Keys& keys, const typename Keys::key_type& key,
                                            u64 hash, Payload& payload) {
  using table = hash_table_ref<Keys, Payload>;
  u64 at = t.bucket_of(t.home(hash));
  if constexpr (Keys::one_word) {
    using word = decltype(t.slots[0].key);
    constexpr word empty = static_cast<word>(~word(0));
    const word bits = detail::same_bits<word>(key);
    if (bits == empty) {
      at = t.mask() + 1;
      if (t.slots[at].key == empty) return no_slot;
      payload = t.slots[at].payload;
      return at;
    }
#pragma unroll 1
    for (u32 probe = 0; probe < longest_probe; probe += table::bucket) {
      if constexpr (table::bucket > 1) {
        typename table::slot seen[table::bucket];
        detail::load_bucket<false>(t.slots + at, seen);
        u64 found = no_slot;
        bool ends = false;
#pragma unroll
        for (u32 b = 0; b < table::bucket; ++b) {
          if (seen[b].key == bits) {
            found = at + b;
            payload = seen[b].payload;
          }
          ends = ends || seen[b].key == bits || seen[b].key == empty;
        }
        if (ends) return found;
      } else {
        const word seen = t.slots[at].key;
        if (seen == bits) {
          payload = t.slots[at].payload;
          return at;
        }
        if (seen == empty) return no_slot;
      }
      at = t.next_bucket(at);
    }
  } else {
    const u32 tag = detail::tag_of(hash);
#pragma unroll 1
    for (u32 probe = 0; probe < longest_probe; ++probe) {
      const u32 seen = t.slots[at].tag;
      if (seen == detail::tag_empty) return no_slot;
      if (seen == tag && keys.equal(t.slots[at].key, key)) {
        payload = t.slots[at].payload;
        return at;
      }
      at = t.next_bucket(at);
    }
  }
  return no_slot;
}

// The payloads of Items keys, and whether they were found; at_slot(slot) is called for each that was. For kernels that run after all
// insertions.
template <int Items, class Keys, class Payload, class AtSlot>
__device__ __forceinline__ void find_payloads(const hash_table_ref<Keys, Payload>& t, const Keys& keys,
                                              const typename Keys::key_type (&key)[Items], const bool (&valid)[Items],
                                              Payload (&payload)[Items], bool (&found)[Items], const AtSlot& at_slot) {
  using table = hash_table_ref<Keys, Payload>;
  if constexpr (table::bucket > 1) {
    // The probes of all keys travel together, then the next ones of those that met others.
    using slot = typename table::slot;
    using word = decltype(slot::key);
    constexpr word empty = static_cast<word>(~word(0));
    u64 at[Items];
    slot seen[Items][table::bucket];
    u32 pending = 0;
#pragma unroll
    for (u32 j = 0; j < Items; ++j) {
      found[j] = false;
      if (!valid[j]) continue;
      if (detail::same_bits<word>(key[j]) != empty) {
        at[j] = t.bucket_of(t.home(keys.hash(key[j])));
        pending |= 1u << j;
        continue;
      }
      const u64 last = t.mask() + 1;
      found[j] = t.slots[last].key != empty;
      if (!found[j]) continue;
      payload[j] = t.slots[last].payload;
      at_slot(last);
    }
#pragma unroll 1
    for (u32 probe = 0; pending && probe < longest_probe; probe += table::bucket) {
#pragma unroll
      for (u32 j = 0; j < Items; ++j) {
        if (pending >> j & 1) detail::load_bucket<false>(t.slots + at[j], seen[j]);
      }
#pragma unroll
      for (u32 j = 0; j < Items; ++j) {
        if (!(pending >> j & 1)) continue;
        bool ends = false;
#pragma unroll
        for (u32 b = 0; b < table::bucket; ++b) {
          ends = ends || seen[j][b].key == empty;
          if (seen[j][b].key != detail::same_bits<word>(key[j])) continue;
          found[j] = true;
          payload[j] = seen[j][b].payload;
          at_slot(at[j] + b);
        }
        if (found[j] || ends) {
          pending &= ~(1u << j);
        } else {
          at[j] = t.next_bucket(at[j]);
        }
      }
    }
  } else {
#pragma unroll
    for (int j = 0; j < Items; ++j) {
      found[j] = false;
      if (!valid[j]) continue;
      const u64 at = find_payload(t, keys, key[j], keys.hash(key[j]), payload[j]);
      found[j] = at != no_slot;
      if (found[j]) at_slot(at);
    }
  }
}

// The slot of `key` or no_slot; for kernels that run after all insertions.
template <class Keys, class Payload>
__device__ __forceinline__ u64 find_slot(const hash_table_ref<Keys, Payload>& t, const Keys& keys, const typename Keys::key_type& key,
                                         u64 hash) {
  Payload unread;
  return find_payload(t, keys, key, hash, unread);
}

// One atomic a group of threads that happen to run together: returns distinct positions.
__device__ __forceinline__ u64 take_one(u64* counter) {
  const u32 active = __activemask();
  const u32 leader = static_cast<u32>(__ffs(static_cast<int>(active))) - 1;
  u64 first = 0;
  if (lane_id() == leader) first = atomicAdd(counter, static_cast<u64>(__popc(active)));
  return __shfl_sync(active, first, static_cast<int>(leader)) + static_cast<u64>(__popc(active & lanes_below()));
}

// Table whose payload is a dense id. `count` ends as the number of ids asked for: ids at or over `most_ids` were refused, so that the
// host continues with the smaller of the two after it has grown the table.
template <class Keys>
struct table_of_ids {
  hash_table_ref<Keys, u32> table;
  u64* count;
  u64 most_ids;  // below 2^32 - 2
  u32* full;     // set to 1 when a key found no place
};

namespace detail {
inline constexpr u32 id_pending = ~0u;
inline constexpr u32 id_refused = ~0u - 1;
}  // namespace detail

// The id of `key`; calls created(id) once for a new one. no_id (and the full flag) when there is no place: call again after growing.
template <class Keys, class Created>
__device__ __forceinline__ u32 find_or_insert_id(const table_of_ids<Keys>& t, const Keys& keys, const typename Keys::key_type& key,
                                                 const Created& created) {
  bool fresh;
  // Not by buckets: measured, that took up to twice as long here, unlike in other kernels.
  const u64 at = find_or_claim<true>(t.table, keys, key, keys.hash(key), fresh);
  u32 id = detail::id_refused;
  if (at != no_slot) {
    u32* place = &t.table.slots[at].payload;
    if (fresh) {
      const u64 taken = take_one(t.count);
      if (taken < t.most_ids) {
        id = static_cast<u32>(taken);
        created(id);
      }
      store_relaxed(place, id);
    }
    // Apart from the branch above, so that a claimant in the same warp writes first; a claimant waits for nobody.
    if (!fresh) {
      do id = load_relaxed(place);
      while (id == detail::id_pending);
    }
  }
  if (id == detail::id_refused) {
    store_relaxed(t.full, 1u);
    return no_id;
  }
  return id;
}

// The id of `key` if the L1 cache shows it: no_id may also mean that it has an old state of the slot, which then stays until the kernel
// ends. A key that many rows have would otherwise have them queue up at one place of the L2 cache.
template <class Keys>
__device__ __forceinline__ u32 known_id(const table_of_ids<Keys>& t, const Keys& keys, const typename Keys::key_type& key) {
  if constexpr (Keys::one_word) {
    using word = decltype(t.table.slots[0].key);
    constexpr word empty = static_cast<word>(~word(0));
    const word bits = detail::same_bits<word>(key);
    if (bits == empty) return no_id;
    const u64 home = t.table.home(keys.hash(key));
    u64 at = home;
#pragma unroll 1
    for (u32 probe = 0; probe < longest_probe; ++probe) {
      const word seen = __ldca(&t.table.slots[at].key);
      const u32 id = __ldca(&t.table.slots[at].payload);
      if (seen == bits) return id < detail::id_refused ? id : no_id;
      if (seen == empty) return no_id;
      at = t.table.next(at, home);
    }
  }
  return no_id;
}

// The id of `key` or no_id; for kernels that run after all insertions.
template <class Keys>
__device__ __forceinline__ u32 find_id(const table_of_ids<Keys>& t, const Keys& keys, const typename Keys::key_type& key) {
  u32 id = no_id;
  find_payload(t.table, keys, key, keys.hash(key), id);
  return id;
}

// Kernel body: moves every key and its payload into a larger, empty table. Refused ids are left behind; their rows come again.
template <class Keys>
__device__ __forceinline__ void grow_ids(const table_of_ids<Keys>& from, const table_of_ids<Keys>& to, const Keys& keys) {
  const u64 slots = table_slots(from.table.bits);
  for (u64 at = u64(blockIdx.x) * blockDim.x + threadIdx.x; at < slots; at += u64(gridDim.x) * blockDim.x) {
    if (!slot_taken(from.table, at)) continue;
    const u32 id = from.table.slots[at].payload;
    if (id == detail::id_refused) continue;
    const auto key = slot_key(from.table, at);
    bool fresh;
    const u64 place = find_or_claim(to.table, keys, key, keys.hash(key), fresh);
    if (place == no_slot) {
      store_relaxed(to.full, 1u);
    } else {
      to.table.slots[place].payload = id;
    }
  }
}

#endif

}  // namespace query::gpu
