// Partitioned rows: a table in which the rows of each partition lie side by side, and which remembers where each ends.
//
//   detail::table t = with_bounds(rows, {10, 25, rows.n});
//   if (const partition_bounds* b = bounds_of(t)) use(b->ends);    // one end a partition; the last is t.n
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::runtime {

struct partition_bounds {
  const void* rows = nullptr;       // of the whole table: a slice of it is not partitioned
  std::vector<std::size_t> ends;
  std::shared_ptr<void> owner;      // of the rows
};

// The same rows, with these bounds; kept in the table's owner, so that they come along wherever the table goes.
detail::table with_bounds(detail::table rows, std::vector<std::size_t> ends);
// Null for a table without bounds, or for a part of one.
const partition_bounds* bounds_of(const detail::table& rows);

// Where the p-th of `parts` runs of n rows ends: the first n % parts are one row longer.
inline std::size_t even_end(std::size_t n, std::size_t parts, std::size_t p) { return n / parts * p + std::min(p, n % parts); }

// The ends without those of empty partitions.
std::vector<std::size_t> ends_without_empty(std::vector<std::size_t> ends);

}  // namespace query::runtime
