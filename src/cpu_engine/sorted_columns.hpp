// An order_by of rows that stay where they are: keys are sorted, and the result is the rows' numbers in order. Columns that were computed
// on the way are kept beside them; nothing else is copied.
#pragma once

#include <optional>

#include "cpu_engine/vertex_tasks.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// The rows of a vertex that gives columns. Returns nothing if the session's memory has no room for numbers and keys, or if 32 bits are
// too few for a row's number: the rows are then sorted as records, and functions before the order_by may be called twice.
std::optional<runtime::vertex_rows> order_columns(const planner::vertex& v, const vertex_tasks& tasks);

}  // namespace query::cpu
