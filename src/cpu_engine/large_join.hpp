// Whether a join has room in memory, decided before its rows flow: where its build side and the hash table over it have none, both sides
// are put apart (join_partitions.hpp), and the branch whose stage the join was begins behind it, at the rows of the result.
//
//   auto behind = behind_large_join(branch, captures, context);     // null: all of its joins have room
//   if (behind) read(behind->rest, behind->rows);
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cpu_engine/made_tables.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

struct rows_behind_join {
  planner::branch rest;  // begins with the rows, which are those of a vertex in context.tables
  std::shared_ptr<made_tables> rows;
};
// The rows of build sides that nobody has collected (run_context::left_to_joins) are in context.tables when it returns null.
std::unique_ptr<rows_behind_join> behind_large_join(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                    runtime::run_context& context);

// A right or full join, a vertex of its own: in memory, given the rows of the build side, or not.
runtime::vertex_rows join_as_memory_allows(const planner::vertex& v, runtime::run_context& context,
                                           function_ref<runtime::vertex_rows(const detail::table& build)> in_memory);

}  // namespace query::cpu
