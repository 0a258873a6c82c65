// Estimates how many rows a vertex reads and gives, and how much memory their table takes, before any of them is computed.
//
//   const auto most = most_table_bytes(vertex, context);
//   if (most && !fits_in(*most, memory_left(context.pool))) ...   // its reader had better take the rows as they come
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

class pipeline;

// Those that the branch begins with; nothing: their number is unknown.
std::optional<std::uint64_t> rows_of_source(const planner::branch& b, const runtime::run_context& context);
// Nothing happens to the rows, and they lie side by side as long as the branch is read.
bool in_place(const planner::branch& b, const runtime::run_context& context);
bool may_add_rows(const planner::stage& s);  // it may give more rows than it gets

// Bytes of the session's memory that nobody has; of a session with a limit.
inline std::size_t memory_left(const runtime::buffer_pool& pool) { return pool.limit() - std::min(pool.used(), pool.limit()); }
// Buffers come in classes of size.
inline bool fits_in(double bytes, std::size_t room) { return 1.2 * bytes <= static_cast<double>(room); }

// About how many bytes of the heap a row of the pipeline owns, of a sample of its rows, for which its functions run. 0: rows own none, or
// nobody knows, or they are so few that it does not matter.
std::size_t row_heap_bytes(pipeline& p);
std::size_t row_heap_bytes(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context);

// Parts whose rows are collected have fewer of them, where these may own much.
void shorten_parts_of_large_rows(pipeline& p);

// With all that lies beside it while it is made. As if tests kept all rows; nothing where the number of rows is unknown.
std::optional<std::uint64_t> most_table_bytes(const planner::vertex& v, const runtime::run_context& context);

}  // namespace query::cpu
