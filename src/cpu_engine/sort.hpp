// order_by: rows in the order of their keys, or the first few of them.
//
//   detail::table t = order_rows(vertex, context);   // vertex.limit rows, in order; ties keep their order
#pragma once

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

detail::table order_rows(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
