// Rows of a described type as a table in a box, with names and types above: what print() shows.
//
//   std::string text = print_table(ir::describe<Flight>(), rows, 10, 336776, {});
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>

#include <query/detail/type.hpp>
#include <query/print.hpp>

namespace query::data {

inline constexpr std::uint64_t unknown_total = std::numeric_limits<std::uint64_t>::max();

// Shows up to options.rows of the n rows at `rows`; `total`: of how many these are the first, or unknown_total.
// A row that is not a record is one column, `value`. Floats of a column share their number of decimals. `names`: of the row's
// parts, where it is a tuple (table_columns.hpp); else those of the fields.
std::string print_table(const ir::type* row, const void* rows, std::size_t n, std::uint64_t total,
                        const print_options& options = {}, std::span<const std::string> names = {});

// A line a column of the data. All statistics, however wide, unless options.width is given.
std::string print_summary(std::span<const column_summary> columns, const print_options& options = {.width = 0});

}  // namespace query::data
