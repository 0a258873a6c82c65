// A predicate of numbers (planner/number_predicate.hpp) over batches of columns, by the kernels for this processor.
//
//   number_tests tests(predicate);
//   number_tests::scratch s;                                  // of one task
//   if (tests.run(batch.columns, batch.n, s)) use(s.mask());
#pragma once

#include <memory>
#include <span>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/number_kernels.hpp"
#include "planner/number_predicate.hpp"

namespace query::cpu {

// The memory of a task that reads numbers of columns; grows when first used.
class number_scratch {
 public:
  std::uint8_t* mask(std::size_t i = 0) { return i < masks_here ? masks_[i] : of(i - masks_here, number_rows); }
  // For values that are gathered, or converted, as the left or right side of a comparison.
  void* gathered(bool right) { return of(further_masks + right, value_bytes); }
  void* converted(bool right) { return of(further_masks + 2 + right, value_bytes); }

 private:
  static constexpr std::size_t masks_here = 2, further_masks = planner::number_predicate::most_depth - masks_here;
  static constexpr std::size_t value_bytes = number_rows * 8;
  std::uint8_t* of(std::size_t i, std::size_t bytes) {
    if (!memory_[i]) memory_[i].reset(new std::uint8_t[bytes]);
    return memory_[i].get();
  }
  std::unique_ptr<std::uint8_t[]> memory_[further_masks + 4];
  std::uint8_t masks_[masks_here][number_rows];
};

// n numbers of a column side by side as x.as; where they lie if they lie so.
const void* numbers_of(const planner::number_operand& x, std::span<const column> columns, std::size_t n, number_scratch& s,
                       bool right = false);

class number_tests {
 public:
  using scratch = number_scratch;
  explicit number_tests(std::shared_ptr<const planner::number_predicate> p) : predicate_(std::move(p)), kernels_(&kernels_here()) {}
  // How many of n rows hold, at most number_rows; s.mask() marks them, unless there are none.
  std::size_t run(std::span<const column> columns, std::size_t n, scratch& s) const;
  const number_kernels& kernels() const { return *kernels_; }

 private:
  std::shared_ptr<const planner::number_predicate> predicate_;
  const number_kernels* kernels_;
};

}  // namespace query::cpu
