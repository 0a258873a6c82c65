// Files as sources: parsed in parallel into one table, only the fields that the query uses.
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

detail::table read_file(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
