// group_by and aggregate: states of groups, updated in batches of rows.
#pragma once

#include <memory>

#include "cpu_engine/group_states.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// One row a group. Few groups: a table for each of at most 64 parts, merged in the order of the parts. Many groups: the first
// part keeps its table, later rows are partitioned by the hash of their key, and each partition has a table of its own. Both
// give the same sums for any number of threads, and both call each function of the user's once a row. Groups come in order of
// first appearance if the query asks for it, else in some order.
runtime::vertex_rows group_rows(const planner::vertex& v, runtime::run_context& context);

// One row from all rows.
runtime::vertex_rows aggregate_rows(const planner::vertex& v, runtime::run_context& context);
// The row of a state of all rows; null: there were none.
detail::table aggregated(const detail::logical& n, std::unique_ptr<group_states> total, runtime::run_context& context);

}  // namespace query::cpu
