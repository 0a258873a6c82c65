// order_by of more rows than memory has room for.
//
// A sample of the keys gives ranges of keys (key_ranges.hpp). Rows, and keys that are not parts of them, are put apart by range in a
// partition_store, which moves them to a temporary file where memory is full. A partition is read and sorted when a reader comes to it.
// Rows come to a partition in their order, and a sort of it is stable: the result is that of a sort in memory, wherever the ranges end.
//
//   if (auto rows = sort_beyond_memory(vertex, tasks, in_memory)) return *rows;
#pragma once

#include <optional>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Nothing where memory has room for all that a sort in memory wants, and the input has not been touched. An input of unknown length is
// read; should it end before memory does, its rows are given to `in_memory`. failed: a sort in memory has been tried, as others took the
// room that there was; nothing where the input cannot be read again.
std::optional<runtime::vertex_rows> sort_beyond_memory(const planner::vertex& v, const vertex_tasks& tasks,
                                                       function_ref<detail::table(const input_rows&)> in_memory, bool failed = false);

}  // namespace query::cpu
