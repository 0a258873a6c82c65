// Turns the rows of a query's last branch into columns that the result owns, or into records in memory that the reader provides.
#pragma once

#include <query/column_chunks.hpp>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// All rows as chunks of columns, one for each top-level field of the row.
detail::chunk_list collect_columns(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context);

// Assigns all rows to the records that room(n) returns: n contiguous, value-initialised records. Returns false, without calling anything,
// if the records of this branch come one by one anyway.
bool assign_records(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void*(std::uint64_t)> room,
                    runtime::run_context& context);

}  // namespace query::cpu
