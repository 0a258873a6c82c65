// group_by with many groups: rows, and groups that tables have already, are partitioned by the hash of their key, a table of groups a
// partition, so that no merge is serial.
#pragma once

#include "cpu_engine/group_table.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// The groups of the rows that went to `tables`, one after the other (none of them null), and of those that follow them.
detail::table group_partitioned(const planner::vertex& v, std::vector<std::unique_ptr<group_table>> tables, detail::table rest,
                                const group_program& program, const function_calls& key, runtime::run_context& context);

}  // namespace query::cpu
