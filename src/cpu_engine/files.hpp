// Files as sources: parsed in parallel, only the fields that the query uses; into one table, or block by block for readers that may
// stop early.
#pragma once

#include <memory>

#include "cpu_engine/row_pieces.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

detail::table read_file(const planner::vertex& v, runtime::run_context& context);
std::unique_ptr<row_pieces> stream_of_file(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
