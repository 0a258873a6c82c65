// group_by with many groups: rows, and groups that tables have already, are put apart by the hash of their key, a table of groups a
// partition, so that no merge is serial and rows wait in files where memory is full.
#pragma once

#include "cpu_engine/group_table.hpp"
#include "cpu_engine/pipeline.hpp"
#include "planner/machine_graph.hpp"

namespace query::cpu {

// The groups of the rows that went to `tables`, one after the other (none of them null), and of those that `rest` has not run yet.
// columns: the key of rows as columns, where the program takes them so.
runtime::vertex_rows group_partitioned(const planner::vertex& v, std::vector<std::unique_ptr<group_table>> tables, pipeline& rest,
                                       const group_program& program, const function_calls& key, const column_key* columns);

}  // namespace query::cpu
