// order_by of rows that memory may have no room for.
//
// Rows are put apart by ranges of their keys, and a range is sorted when a reader comes to it (ordered_tables.hpp).
//
//   return sort_as_memory_allows(vertex, tasks, in_memory);
#pragma once

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// `in_memory` sorts rows that lie side by side: where the session has memory for all that it wants.
runtime::vertex_rows sort_as_memory_allows(const planner::vertex& v, const vertex_tasks& tasks,
                                           function_ref<detail::table(const input_rows&)> in_memory);

}  // namespace query::cpu
