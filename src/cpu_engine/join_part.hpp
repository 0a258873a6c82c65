// The insides of join_table: the parts of its table and the state of a probe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "cpu_engine/join_table.hpp"
#include "cpu_engine/key_tables.hpp"

namespace query::cpu {

inline constexpr std::size_t join_block = 1024;  // keys looked up at once

// The entries whose hashes have one value in the part bits; all entries of a direct table.
struct join_table::part {
  explicit part(runtime::buffer_pool& pool) : narrow(pool), word(pool), wide(pool) {}

  // Places in order_ of the rows of an entry; one row an entry needs no begins.
  std::uint64_t begin_of(std::uint64_t entry) const { return first + (unique ? entry : begins.as<std::uint32_t>()[entry]); }
  std::uint64_t end_of(std::uint64_t entry) const { return unique ? first + entry + 1 : first + begins.as<std::uint32_t>()[entry + 1]; }

  void prefetch(std::uint64_t entry) const {
    if (!unique) __builtin_prefetch(begins.as<std::uint32_t>() + entry);
  }

  slot_table<std::uint32_t> narrow;
  slot_table<std::uint64_t> word;
  tagged_table wide;
  std::uint64_t first = 0, rows = 0;  // this part's range of order_
  std::size_t entries = 0;
  bool unique = true;
  runtime::buffer begins;  // entries + 1 numbers, relative to first
};

// As find_nulls, of keys at any distance from each other.
inline std::size_t find_nulls(const ir::type& type, const void* keys, std::size_t n, std::size_t stride, std::uint8_t* out) {
  if (stride == type.size || !may_be_null(type)) return find_nulls(type, keys, n, out);
  std::size_t nulls = 0;
  for (std::size_t i = 0; i < n; ++i) nulls += out[i] = is_null(type, static_cast<const std::byte*>(keys) + i * stride);
  return nulls;
}

struct join_table::cursor::state {
  std::size_t next = 0;   // first key not looked up yet
  std::size_t base = 0;   // of the block in hand
  std::size_t count = 0, at = 0;
  std::uint64_t done = 0;  // of the matches of key `at`
  std::uint64_t begin[join_block], end[join_block];  // ranges of order_
};

}  // namespace query::cpu
