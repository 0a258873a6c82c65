// group_by with many groups: rows are partitioned by the hash of their key, a table of groups a partition.
#pragma once

#include "cpu_engine/group_table.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// The groups of the rows that went to `first`, and of those that follow them.
detail::table group_partitioned(const planner::vertex& v, std::unique_ptr<group_table> first, detail::table rest,
                                const group_program& program, const function_calls& key, runtime::run_context& context);

}  // namespace query::cpu
