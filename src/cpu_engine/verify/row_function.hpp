// One function of rows in both forms, side by side: predicates, projections, and the keys of all verbs.
#pragma once

#include <optional>
#include <vector>

#include "cpu_engine/interpreter.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "planner/interpretation.hpp"

namespace query::cpu::verify {

class row_function {
 public:
  // read: the fields of its rows that hold what the source has (difference.hpp).
  row_function(const detail::logical& n, const detail::user_function& f, std::vector<bool> read, runtime::buffer_pool& pool);

  // The native results; throws a difference where those of the expression are others. The expression comes first: what it throws for,
  // native code may not survive. `side`: of a join, for the report.
  rows_buffer map(const rows_buffer& rows, std::string_view side = {});
  std::vector<char> filter(const rows_buffer& rows);
  // The same up to the first row that fails, with that row: what a verb that stops there lets the function see.
  std::size_t filter_to_first_failure(const rows_buffer& rows);

 private:
  // The results of both forms for n rows from `first` on, which agree.
  void filter(const rows_buffer& rows, std::size_t first, std::size_t n, bool* native);

  const detail::logical* node_;
  const detail::user_function* function_;
  std::vector<bool> read_;
  runtime::buffer_pool* pool_;
  planner::interpretation how_;
  std::optional<interpreter::program> program_;  // none: there is nothing to compare with
  interpreter::scratch scratch_;
};

// Does the function take rows of this type, and can it be called?
bool takes(const detail::user_function& f, const ir::type* row);

}  // namespace query::cpu::verify
