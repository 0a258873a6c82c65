// The fields of rows that come as columns, as compiled functions of the user's read them: where they lie, or gathered.
//
//   field_columns fields(row_type, schema, pool);
//   calls.update_fields(self, states, groups, fields.of(batch), batch.n);
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include <query/detail/plan.hpp>

#include "cpu_engine/column_batch.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "planner/projection.hpp"

namespace query::cpu {

class field_columns {
 public:
  // Each field lies in one column of `rows` (planner::fields_lie_in), or nobody reads it.
  field_columns(const ir::type* row, const planner::column_schema& rows, runtime::buffer_pool& pool);

  // One column for each top-level field, until the next call.
  const detail::field_column* of(const column_batch& b);

 private:
  struct place {
    std::size_t column = 0, within = 0;
    std::optional<rows_buffer> gathered;  // of rows that may be missing
  };
  planner::column_schema schema_;
  runtime::buffer_pool* pool_;
  rows_buffer unread_;  // one row that fields without a column are read of
  std::vector<place> places_;
  std::vector<detail::field_column> fields_;
};

}  // namespace query::cpu
