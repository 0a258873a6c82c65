// Hash tables from words (key_words) to dense ids, in order of insertion: the insides of grouper and join_table.
//
// slot_table keeps word and id in one slot: right for words of 4 and 8 bytes. tagged_table keeps part of the hash and the id
// in a slot of 8 bytes, and the words densely beside it: right for 16 bytes and for words whose keys must be compared.
// Both probe linearly, at most half full (small ones less), and hide the latency of large tables by prefetching some keys ahead.
//
//   slot_table<std::uint64_t> table(pool);
//   table.make_room(1024);
//   std::uint32_t id = table.find_or_insert(word, slot_table<std::uint64_t>::hash(word));   // == size() before: it is new
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "cpu_engine/key_hash.hpp"
#include "cpu_engine/order_keys.hpp"
#include "runtime/buffer_pool.hpp"

namespace query::cpu {

inline constexpr std::uint32_t no_id = detail::known_keys::absent;
inline constexpr std::size_t prefetch_distance = 16;
inline constexpr std::size_t rows_a_look = std::size_t{1} << 14;  // in loops without calls of the user's; some nanoseconds a row
inline constexpr std::size_t prefetched_bytes = std::size_t{1} << 19;  // tables beyond miss the cache often enough

inline void check_key_count(std::size_t n) {
  if (n >= no_id) throw resource_error("group_by, join: more than 2^32 - 2 distinct keys in one table: partition the input");
}

template <class Word>
class slot_table {
 public:
  explicit slot_table(runtime::buffer_pool& pool) : pool_(&pool) {}

  static std::uint64_t hash(Word w) { return hash_word(w); }
  std::size_t size() const { return size_; }
  bool large() const { return (mask_ + 1) * sizeof(slot) > prefetched_bytes; }

  // Makes sure that n more keys fit.
  void make_room(std::size_t n) {
    check_key_count(size_ + n);
    const std::size_t wanted = slots_for(size_ + n);
    if (slots_ && wanted <= mask_ + 1) return;
    runtime::buffer bigger = pool_->allocate_array<slot>(wanted);
    std::memset(bigger.data(), 0xff, bigger.size());
    const runtime::buffer old = std::move(slots_);
    const std::size_t count = old ? mask_ + 1 : 0;
    slots_ = std::move(bigger);
    mask_ = wanted - 1;
    detail::in_runs<rows_a_look>(0, count, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i)
        if (const slot s = old.template as<slot>()[i]; s.id != no_id) place(s);
    });
  }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(slots_.template as<slot>() + (hash & mask_)); }

  std::uint32_t find(Word w, std::uint64_t hash) const {
    if (!slots_) return no_id;
    const slot* slots = slots_.template as<slot>();
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_)
      if (slots[i].word == w || slots[i].id == no_id) return slots[i].id;
  }
  std::uint32_t find_or_insert(Word w, std::uint64_t hash) {
    slot* slots = slots_.template as<slot>();
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      if (slots[i].id == no_id) {
        slots[i] = {w, static_cast<std::uint32_t>(size_)};
        return static_cast<std::uint32_t>(size_++);
      }
      if (slots[i].word == w) return slots[i].id;
    }
  }
  void show(detail::known_keys& k) const {
    k.slots = slots_.data();
    k.mask = mask_;
  }
  // Puts a known pair in; room must have been made.
  void insert(Word w, std::uint32_t id) {
    place({w, id});
    ++size_;
  }
  void clear() {
    if (slots_) std::memset(slots_.data(), 0xff, slots_.size());
    size_ = 0;
  }

 private:
  using slot = detail::key_slot<Word>;  // id no_id: empty; its word is then all ones, which a find may well meet
  // Where the cache holds all slots anyway, what a lookup costs is the branch that a collision mispredicts: 1000 random keys
  // took 9 ns a lookup at half full, 4.8 at a quarter, 3.7 at an eighth.
  static std::size_t slots_for(std::size_t keys) {
    const std::size_t half_full = std::bit_ceil(std::max<std::size_t>(8, 2 * keys)), bytes = half_full * sizeof(slot);
    return bytes <= prefetched_bytes / 16 ? 4 * half_full : bytes <= prefetched_bytes / 2 ? 2 * half_full : half_full;
  }
  void place(const slot& s) {
    slot* slots = slots_.template as<slot>();
    std::size_t i = hash(s.word) & mask_;
    while (slots[i].id != no_id) i = (i + 1) & mask_;
    slots[i] = s;
  }

  runtime::buffer_pool* pool_;
  runtime::buffer slots_;
  std::size_t mask_ = 0, size_ = 0;
};

class tagged_table {
 public:
  explicit tagged_table(runtime::buffer_pool& pool) : pool_(&pool) {}

  static std::uint64_t hash(const wide_word& w) { return hash_word(w.high ^ hash_word(w.low)); }
  std::size_t size() const { return size_; }
  bool large() const { return (mask_ + 1) * sizeof(slot) + size_ * sizeof(wide_word) > prefetched_bytes; }
  const wide_word& word(std::uint32_t id) const { return words_.as<wide_word>()[id]; }

  void make_room(std::size_t n) {
    check_key_count(size_ + n);
    if (size_ + n > capacity_) {
      const std::size_t capacity = std::max<std::size_t>(8, 2 * (size_ + n));
      runtime::buffer bigger = pool_->allocate_array<wide_word>(capacity);
      if (size_ > 0) std::memcpy(bigger.data(), words_.data(), size_ * sizeof(wide_word));
      words_ = std::move(bigger);
      capacity_ = capacity;
    }
    const std::size_t wanted = std::bit_ceil(std::max<std::size_t>(8, 2 * (size_ + n)));
    if (slots_ && wanted <= mask_ + 1) return;
    runtime::buffer bigger = pool_->allocate_array<slot>(wanted);
    std::memset(bigger.data(), 0xff, bigger.size());
    slots_ = std::move(bigger);
    mask_ = wanted - 1;
    detail::in_runs<rows_a_look>(0, size_, [&](std::size_t id, std::size_t end) {
      for (; id < end; ++id) place(hash(word(static_cast<std::uint32_t>(id))), static_cast<std::uint32_t>(id));
    });
  }
  void prefetch(std::uint64_t hash) const { __builtin_prefetch(slots_.as<slot>() + (hash & mask_)); }
  void prefetch_word(std::uint64_t hash) const {
    const slot s = slots_.as<slot>()[hash & mask_];
    if (s.id != no_id) __builtin_prefetch(words_.as<wide_word>() + s.id);
  }

  // What a look-up is likely to find, or no_id.
  std::uint32_t guess(std::uint64_t hash) const {
    const slot s = slots_.as<slot>()[hash & mask_];
    return s.tag == tag(hash) ? s.id : no_id;
  }

  // `equal(id)` compares the key in hand with key `id`; called when words and tags are equal.
  template <class Equal>
  std::uint32_t find(const wide_word& w, std::uint64_t hash, const Equal& equal) const {
    if (!slots_) return no_id;
    const slot* slots = slots_.as<slot>();
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      if (slots[i].id == no_id) return no_id;
      if (slots[i].tag == tag(hash) && word(slots[i].id) == w && equal(slots[i].id)) return slots[i].id;
    }
  }
  template <class Equal>
  std::uint32_t find_or_insert(const wide_word& w, std::uint64_t hash, const Equal& equal) {
    slot* slots = slots_.as<slot>();
    for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
      if (slots[i].id == no_id) {
        const auto id = static_cast<std::uint32_t>(size_++);
        slots[i] = {tag(hash), id};
        words_.as<wide_word>()[id] = w;
        return id;
      }
      if (slots[i].tag == tag(hash) && word(slots[i].id) == w && equal(slots[i].id)) return slots[i].id;
    }
  }
  // Gives the ids of keys that lie in the first slot of their hash, and the numbers of the other keys; returns how many these are. For a
  // table that has keys, and keys that words tell apart. No branch depends on a key, so none is mispredicted.
  std::size_t find_at_once(const wide_word* words, const std::uint64_t* hashes, std::size_t n, std::uint32_t* ids,
                           std::uint32_t* others) const {
    if (large()) {
      for (std::size_t i = 0; i < n; ++i) prefetch(hashes[i]);
      for (std::size_t i = 0; i < n; ++i) prefetch_word(hashes[i]);
    }
    const slot* const slots = slots_.as<slot>();
    const wide_word* const known = words_.as<wide_word>();
    const std::uint64_t mask = mask_;
    std::size_t count = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const std::uint32_t found = slots[hashes[i] & mask].id, id = found == no_id ? 0 : found;  // any id will do: its word decides
      ids[i] = id;
      others[count] = static_cast<std::uint32_t>(i);
      count += ((known[id].high ^ words[i].high) | (known[id].low ^ words[i].low)) != 0;
    }
    return count;
  }
  // Puts the next id in; its key must be new, and room must have been made.
  void insert(const wide_word& w) {
    const auto id = static_cast<std::uint32_t>(size_++);
    words_.as<wide_word>()[id] = w;
    place(hash(w), id);
  }
  void clear() {
    if (slots_) std::memset(slots_.data(), 0xff, slots_.size());
    size_ = 0;
  }

 private:
  struct slot {
    std::uint32_t tag, id;
  };
  static std::uint32_t tag(std::uint64_t hash) { return static_cast<std::uint32_t>(hash >> 32); }
  void place(std::uint64_t hash, std::uint32_t id) {
    slot* slots = slots_.as<slot>();
    std::size_t i = hash & mask_;
    while (slots[i].id != no_id) i = (i + 1) & mask_;
    slots[i] = {tag(hash), id};
  }

  runtime::buffer_pool* pool_;
  runtime::buffer slots_, words_;
  std::size_t mask_ = 0, size_ = 0, capacity_ = 0;
};

}  // namespace query::cpu
