// join_where: the pairs of rows that a condition chooses, of all left rows with all right ones.
//
// A vertex of its own, as cross_join, whose node it shares (planner/join_condition.hpp). The right rows are collected and sorted; left
// rows come as their branch gives them, and the pairs of some of them are made at a time: those of 64 runs of left rows side by side,
// put together in their order.
//
//   detail::table all = join_where_rows(v, tasks);
#pragma once

#include <memory>

#include "cpu_engine/row_pieces.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

detail::table join_where_rows(const planner::vertex& v, const vertex_tasks& tasks);
std::unique_ptr<row_pieces> stream_of_join_where(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
