// The order in which functions of windows visit the rows of a partition: group after group, each in its order. The library sorts.
//
//   const window_order order(keys, rows);      // keys: the group's, if any, then those of the order
//   order.row(0), order.begins_group(0)        // the first row, by its number
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::detail {

// The values of a key for all rows, side by side.
struct window_key {
  const ir::type* type = nullptr;
  const void* values = nullptr;
  bool descending = false;
  bool nulls_first = false;
  order_calls custom = {};
};

class window_order {
 public:
  // One group; rows keep their order, and none ties with another.
  explicit window_order(std::size_t rows) : size_(rows) {}
  // `grouped`: the first key tells groups apart. Stable; O(n) for numbers.
  window_order(const std::vector<window_key>& keys, bool grouped, std::size_t rows);

  std::size_t size() const { return size_; }
  std::size_t row(std::size_t i) const { return rows_ ? rows_[i] : i; }
  bool begins_group(std::size_t i) const { return i == 0 || (!steps_.empty() && steps_[i] == group); }
  bool begins_tie(std::size_t i) const { return i == 0 || steps_.empty() || steps_[i] != same; }

 private:
  enum step : std::uint8_t { same, tie, group };  // what row i begins

  std::size_t size_;
  std::shared_ptr<const void> owner_;
  const std::uint32_t* rows_ = nullptr;  // none: rows stay where they are
  std::vector<step> steps_;
};

}  // namespace query::detail
