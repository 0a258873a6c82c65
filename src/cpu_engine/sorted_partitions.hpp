// order_by of rows that memory may have no room for.
//
// A sample of the keys gives ranges of keys (key_ranges.hpp). Rows, and keys that are not parts of them, are put apart by range in a
// partition_store, which moves them to a temporary file where memory is full. A partition is read and sorted when a reader comes to it.
// Rows come to a partition in their order, and a sort of it is stable: the result is that of a sort in memory, wherever the ranges end.
//
//   return sort_as_memory_allows(vertex, tasks, in_memory);
#pragma once

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// `in_memory` sorts rows that lie side by side: where the session has memory for all that it wants.
runtime::vertex_rows sort_as_memory_allows(const planner::vertex& v, const vertex_tasks& tasks,
                                           function_ref<detail::table(const input_rows&)> in_memory);

}  // namespace query::cpu
