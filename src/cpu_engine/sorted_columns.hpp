// An order_by of rows that stay where they are: keys are sorted, and the result is the rows' numbers in order. Columns that were computed
// on the way are kept beside them; nothing else is copied.
#pragma once

#include <optional>

#include "cpu_engine/vertex_tasks.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// Of a vertex that gives columns. Nothing where the session's memory has no room for the numbers and keys, or rows are not numbered by 32
// bits: they are to be sorted as records. Functions have been called by then.
std::optional<runtime::vertex_rows> order_columns(const planner::vertex& v, const vertex_tasks& tasks);

}  // namespace query::cpu
