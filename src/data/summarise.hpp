// Statistics of each column of an array of rows: what describe() shows.
//
//   std::vector<column_summary> columns = summarise(ir::describe<Flight>(), rows, n);
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <query/detail/type.hpp>
#include <query/print.hpp>

namespace query::data {

// One pass a column; O(n), and O(n log n) time with O(n) space where distinct values are counted. Mean and deviation are those of
// query/detail/moments.hpp. `names`: of the row's parts, where it is a tuple; else their own. Lists and types without a
// description get counts only.
std::vector<column_summary> summarise(const ir::type* row, const void* rows, std::size_t n, bool count_distinct = true,
                                      std::span<const std::string> names = {});

}  // namespace query::data
