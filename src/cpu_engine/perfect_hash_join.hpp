// A join's build rows where their keys say (perfect hashing): for unique integers of a small range, the common keys of dimension tables.
//
// A row's place is its key less the smallest one, so that a probe costs one access to memory, the row itself; a bit for each
// place says whether there is a row. The rows are copied, into the pool's huge pages.
//
//   if (auto rows = perfect_hash_join::make(keys, table, tasks)) n = rows->matches(probe_keys, stride, ...);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class perfect_hash_join {
 public:
  // Null if the keys are not unique integers of a range that is small for their number, the rows not plain bytes, or memory short.
  static std::unique_ptr<perfect_hash_join> make(const key_column& keys, const detail::table& rows, const vertex_tasks& tasks);

  std::uint64_t range() const { return range_; }

  // Keys of n probe rows: key i lies at keys + i * stride.
  struct probe {
    const std::byte* keys;
    std::size_t stride;
    std::size_t n;
  };
  // Writes, for those keys that have a row, their number and the row's address; returns how many.
  std::size_t matches(const probe& p, std::uint32_t* numbers, const void** rows) const { return matches_(*this, p, numbers, rows); }
  // Writes a row's address for each key, null where there is none.
  void find(const probe& p, const void** rows) const { find_(*this, p, rows); }
  // Writes 1 for each key that has a row, else 0.
  void contains(const probe& p, std::uint8_t* out) const { contains_(*this, p, out); }

 private:
  perfect_hash_join() = default;
  template <class Key> bool fill(const key_column& keys, const detail::table& rows, const vertex_tasks& tasks);
  template <class Key> std::uint64_t place(const std::byte* key) const;
  bool has(std::uint64_t place) const { return (present_[place / 64].load(std::memory_order_relaxed) >> (place % 64) & 1) != 0; }
  const std::byte* row(std::uint64_t place) const { return rows_ + place * size_; }
  template <class Key, bool Full>
  static std::size_t matches_of(const perfect_hash_join& d, const probe& p, std::uint32_t* numbers, const void** rows);
  template <class Key> static void find_of(const perfect_hash_join& d, const probe& p, const void** rows);
  template <class Key> static void contains_of(const perfect_hash_join& d, const probe& p, std::uint8_t* out);

  std::uint64_t low_ = 0, range_ = 0;
  std::size_t size_ = 0;
  runtime::buffer memory_;
  const std::byte* rows_ = nullptr;
  std::unique_ptr<std::atomic<std::uint64_t>[]> present_;
  std::size_t (*matches_)(const perfect_hash_join&, const probe&, std::uint32_t*, const void**) = nullptr;
  void (*find_)(const perfect_hash_join&, const probe&, const void**) = nullptr;
  void (*contains_)(const perfect_hash_join&, const probe&, std::uint8_t*) = nullptr;
};

}  // namespace query::cpu
