#include "cpu_engine/perfect_hash_join.hpp"

#include <cstring>
#include <limits>

namespace query::cpu {

namespace {

constexpr std::size_t largest_row = 128;  // bytes
constexpr std::uint64_t most_places_a_row = 4;
constexpr std::size_t share_of_rest = 4;  // of the memory that the session has left

template <class Key> Key load(const std::byte* at) {
  Key k;
  std::memcpy(&k, at, sizeof k);
  return k;
}

}  // namespace

// Differences of keys are taken in 64 bits and wrap, whatever the sign.
template <class Key> std::uint64_t perfect_hash_join::place(const std::byte* key) const {
  return static_cast<std::uint64_t>(load<Key>(key)) - low_;
}

template <class Key> bool perfect_hash_join::fill(const key_column& keys, const detail::table& rows, const vertex_tasks& tasks) {
  struct ends {
    Key low = std::numeric_limits<Key>::max(), high = std::numeric_limits<Key>::min();
  };
  std::vector<ends> found(chunks_of(rows.n));
  tasks.chunks(rows.n, [&](std::size_t first, std::size_t k) {
    ends e;
    for (std::size_t i = first; i < first + k; ++i) {
      const Key key = load<Key>(static_cast<const std::byte*>(keys.at(i)));
      e.low = std::min(e.low, key);
      e.high = std::max(e.high, key);
    }
    found[first / part_rows] = e;
  });
  ends all;
  for (const ends& e : found) {
    all.low = std::min(all.low, e.low);
    all.high = std::max(all.high, e.high);
  }
  low_ = static_cast<std::uint64_t>(all.low);
  const std::uint64_t above = static_cast<std::uint64_t>(all.high) - low_;
  if (above >= most_places_a_row * rows.n + 1024) return false;
  range_ = above + 1;
  const std::size_t limit = tasks.pool().limit();
  if (limit && range_ > (limit - std::min(tasks.pool().used(), limit)) / share_of_rest / size_) return false;
  const std::size_t words = static_cast<std::size_t>(range_ / 64 + 1);
  present_ = std::make_unique<std::atomic<std::uint64_t>[]>(words);
  memory_ = tasks.pool().allocate(runtime::buffer_pool::checked_bytes(static_cast<std::size_t>(range_), size_));
  rows_ = memory_.as<std::byte>();
  std::atomic<bool> unique{true};
  tasks.chunks(rows.n, [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k && unique.load(std::memory_order_relaxed); ++i) {
      const std::uint64_t at = place<Key>(static_cast<const std::byte*>(keys.at(i))), bit = std::uint64_t{1} << (at % 64);
      // Whoever sets the bit owns the place.
      if (present_[at / 64].fetch_or(bit, std::memory_order_relaxed) & bit) unique.store(false, std::memory_order_relaxed);
      else std::memcpy(memory_.as<std::byte>() + at * size_, row_at(rows, i), size_);
    }
  });
  if (!unique) return false;
  matches_ = rows.n == range_ ? matches_of<Key, true> : matches_of<Key, false>;
  find_ = find_of<Key>;
  contains_ = contains_of<Key>;
  return true;
}

std::unique_ptr<perfect_hash_join> perfect_hash_join::make(const key_column& keys, const detail::table& rows, const vertex_tasks& tasks) {
  if (!ir::is_integer(keys.type()->k) || !rows.type->trivial || rows.type->size > largest_row || rows.n == 0) return nullptr;
  std::unique_ptr<perfect_hash_join> d(new perfect_hash_join);  // the constructor is private
  d->size_ = rows.type->size;
  bool filled = false;
  switch (keys.type()->k) {
    case ir::kind::i8: filled = d->fill<std::int8_t>(keys, rows, tasks); break;
    case ir::kind::i16: filled = d->fill<std::int16_t>(keys, rows, tasks); break;
    case ir::kind::i32: filled = d->fill<std::int32_t>(keys, rows, tasks); break;
    case ir::kind::i64: filled = d->fill<std::int64_t>(keys, rows, tasks); break;
    case ir::kind::u8: filled = d->fill<std::uint8_t>(keys, rows, tasks); break;
    case ir::kind::u16: filled = d->fill<std::uint16_t>(keys, rows, tasks); break;
    case ir::kind::u32: filled = d->fill<std::uint32_t>(keys, rows, tasks); break;
    case ir::kind::u64: filled = d->fill<std::uint64_t>(keys, rows, tasks); break;
    default: break;
  }
  if (!filled) return nullptr;
  return d;
}

// The loops have no branches and fetch the rows ahead of their use, so that the misses of a batch overlap.
// Full: each place has a row.
template <class Key, bool Full>
std::size_t perfect_hash_join::matches_of(const perfect_hash_join& d, const probe& p, std::uint32_t* numbers, const void** rows) {
  std::size_t found = 0;
  const std::byte* key = p.keys;
  for (std::size_t i = 0; i < p.n; ++i, key += p.stride) {
    const std::uint64_t at = d.place<Key>(key), safe = at < d.range_ ? at : 0;
    const std::byte* row = d.row(safe);
    __builtin_prefetch(row);
    numbers[found] = static_cast<std::uint32_t>(i);
    rows[found] = row;
    found += static_cast<std::size_t>(at < d.range_) & static_cast<std::size_t>(Full || d.has(safe));
  }
  return found;
}
template <class Key> void perfect_hash_join::find_of(const perfect_hash_join& d, const probe& p, const void** rows) {
  const std::byte* key = p.keys;
  for (std::size_t i = 0; i < p.n; ++i, key += p.stride) {
    const std::uint64_t at = d.place<Key>(key), safe = at < d.range_ ? at : 0;
    const std::byte* row = d.row(safe);
    __builtin_prefetch(row);
    rows[i] = at < d.range_ && d.has(safe) ? row : nullptr;
  }
}
template <class Key> void perfect_hash_join::contains_of(const perfect_hash_join& d, const probe& p, std::uint8_t* out) {
  const std::byte* key = p.keys;
  for (std::size_t i = 0; i < p.n; ++i, key += p.stride) {
    const std::uint64_t at = d.place<Key>(key), safe = at < d.range_ ? at : 0;
    out[i] = static_cast<std::uint8_t>(static_cast<bool>(at < d.range_) & d.has(safe));
  }
}

}  // namespace query::cpu
