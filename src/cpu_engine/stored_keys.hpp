// The keys of a table of groups, by the number of their group.
//
// Whole: values of the key's type, side by side, copied from the first row of each group. In parts: each part of a composite key in a
// column of its own. Narrow values are copied; of strings and wide values that stay where they are, the row number of the group's first
// row is kept, so that a key of strings is never copied. Parts that are computed, or whose rows lie in several places, are copied too.
//
//   stored_keys keys(type, pool, true);
//   keys.append(view, first, rows);                       // rows: numbers of keys of the view, from `first` on
//   keys.view();                                          // all keys so far, where they lie now
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu_engine/key_view.hpp"
#include "cpu_engine/rows_buffer.hpp"

namespace query::cpu {

class stored_keys {
 public:
  // `key` and `pool` must outlive the keys.
  stored_keys(const ir::type* key, runtime::buffer_pool& pool, bool in_parts);
  stored_keys(stored_keys&&) noexcept = default;
  stored_keys& operator=(stored_keys&&) noexcept = default;

  std::size_t size() const { return size_; }
  key_view view() const { return view_; }
  bool in_parts() const { return in_parts_; }
  const void* whole() const { return view_[0].base; }  // of whole keys

  // Throws what copying a key throws; the keys can then only be cleared or destroyed.
  void append(key_view keys, std::size_t first, std::span<const std::uint32_t> rows);
  void clear();

 private:
  struct part {
    rows_buffer values;
    std::size_t capacity = 0;         // of the values
    std::size_t numbers = none;       // which; none: the values are here
    const std::byte* base = nullptr;  // of what the numbers count
    std::size_t stride = 0;
    void* extend(std::size_t n);
  };
  // Row numbers of parts that come from the same rows.
  struct row_numbers {
    runtime::buffer memory;
    std::size_t capacity = 0;
  };
  static constexpr std::size_t none = ~std::size_t{0};

  void lay_out(key_view keys);
  void append_whole(key_view keys, std::size_t first, std::span<const std::uint32_t> rows);
  bool append_numbers(std::size_t numbers, key_view keys, std::span<const std::uint32_t> at);
  void append_values(part& to, const key_part& from, std::span<const std::uint32_t> at);
  void copy_values(std::size_t numbers);
  void show();

  const ir::type* key_;
  runtime::buffer_pool* pool_;
  bool in_parts_;
  std::size_t size_ = 0;
  std::vector<part> parts_;
  std::vector<row_numbers> numbers_;
  std::vector<key_part> view_;
};

}  // namespace query::cpu
