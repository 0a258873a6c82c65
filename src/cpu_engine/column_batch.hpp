// Rows on their way through a pipeline as columns: a batch names the columns of its rows wherever they lie and copies none of them.
//
// A filter narrows the selections of a batch; a join gives one selection for each side; a projection gives columns other places in the row.
// A column is read when something needs its values: an expression, a key, the sink at the end. One of the side of an outer join that may be
// missing has `optional` set: what reads base and select by itself, not through value_at or gather_column, must look at that first.
//
//   class my_sink final : public column_sink {
//     void push(const column_batch& b) override { for (std::size_t i = 0; i < b.n; ++i) use(value_at(b.columns[0], i)); }
//   };
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cpu_engine/interpreter.hpp"
#include "planner/projection.hpp"

namespace query::cpu {

using interpreter::column;

// A batch holds at most so many rows.
inline constexpr std::size_t column_batch_rows = 1024;  // cpu::batch_rows

// Columns in the order of the schema that its receiver was prepared for. What they point to lives as long as the call that hands it on.
struct column_batch {
  std::span<const column> columns;
  std::size_t n = 0;
  std::uint64_t first = 0;  // number of the first row in its stream, where each row of the source is one of the batch
};

// Rows [first, first + n) of a column.
inline column part_of(column c, std::size_t first) {
  if (c.select) c.select += first;
  else c.base = static_cast<const std::byte*>(c.base) + first * c.stride;
  return c;
}

// Null: an optional that the column wraps is empty.
inline const std::byte* value_at(const column& c, std::size_t i) {
  const std::size_t row = c.select ? c.select[i] : i;
  if (c.optional && row == interpreter::missing_row) return static_cast<const std::byte*>(c.otherwise);
  return static_cast<const std::byte*>(c.base) + row * c.stride;
}

// The same, with `none` for null. No branch depends on the row: where some are missing and some are not, it would be mispredicted.
inline const void* value_or(const column& c, std::size_t i, const void* none) {
  const std::size_t row = c.select ? c.select[i] : i;
  const bool is_missing = c.optional & (row == interpreter::missing_row);
  const std::uintptr_t missing = std::uintptr_t{0} - std::uintptr_t{is_missing};  // all bits, or none
  const auto there = reinterpret_cast<std::uintptr_t>(c.base) + row * c.stride;
  const auto otherwise = reinterpret_cast<std::uintptr_t>(c.otherwise ? c.otherwise : none);
  return reinterpret_cast<const void*>((there & ~missing) | (otherwise & missing));
}

class column_sink {
 public:
  virtual ~column_sink() = default;
  virtual void push(const column_batch& b) = 0;
  virtual bool reads_columns() const { return true; }  // else their number is enough
};

// The columns of a batch that begins at row `first` of rows side by side, or of a columnar source.
void columns_of_rows(const planner::column_schema& schema, const void* rows, std::size_t row_size, std::size_t first,
                     std::vector<column>& to);
void columns_of_source(const planner::column_schema& schema, const ir::type* row, const void* const* bases, std::size_t first,
                       std::vector<column>& to);

// Rows of a batch by number: composes the selections of its columns, each different one once.
class narrowed_columns {
 public:
  narrowed_columns();
  // `rows`: n numbers of rows of the batch, in memory that lives as long as the result is used.
  std::span<const column> narrow(std::span<const column> from, const std::uint32_t* rows, std::size_t n);

 private:
  struct selection {
    const std::uint32_t* before;
    std::vector<std::uint32_t> now;
  };
  std::vector<column> columns_;
  std::vector<selection> selections_;
  std::size_t used_ = 0;
};

// Puts values of a column side by side, or at a distance, over values that are alive (`assign`) or into raw memory.
void gather_column(const column& c, const ir::type* t, std::size_t n, void* to, std::size_t stride, bool assign);

// Puts records together out of columns: over n records that are alive, side by side. Fields that no column holds keep their values.
void assemble_rows(const planner::column_schema& schema, const column_batch& b, void* rows, std::size_t row_size);

}  // namespace query::cpu
