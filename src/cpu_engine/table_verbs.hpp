// The verbs that read and give whole tables, other than joins, groups and order_by: one function each, by topic. And those of sets.
//
//   runtime::vertex_rows t = run_table_verb(vertex, context);   // dispatches on vertex.node->what
#pragma once

#include <optional>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Throws internal_error for a verb that is not one of these.
runtime::vertex_rows run_table_verb(const planner::vertex& v, runtime::run_context& context);

// slices.cpp: rows by their place. Slices of a table that is there already copy nothing.
detail::table take_rows(const planner::vertex& v, const vertex_tasks& tasks);
runtime::vertex_rows skip_rows(const planner::vertex& v, const vertex_tasks& tasks);
runtime::vertex_rows take_last_rows(const planner::vertex& v, const vertex_tasks& tasks);
runtime::vertex_rows skip_last_rows(const planner::vertex& v, const vertex_tasks& tasks);
detail::table take_rows_while(const planner::vertex& v, const vertex_tasks& tasks);
detail::table skip_rows_while(const planner::vertex& v, const vertex_tasks& tasks);

// column_slices.cpp: the same, and those below, as columns; nothing: as for concat.
std::optional<runtime::vertex_rows> columns_by_place(const planner::vertex& v, const vertex_tasks& tasks);

// reorder.cpp
runtime::vertex_rows reverse_rows(const planner::vertex& v, const vertex_tasks& tasks);
runtime::vertex_rows sample_rows(const planner::vertex& v, const vertex_tasks& tasks);

// sets.cpp: one row for each key, the first to appear, in order of appearance.
runtime::vertex_rows set_rows(const planner::vertex& v, runtime::run_context& context);

// combine.cpp
// The rows of all inputs one after the other, the first `limit` of them: of concat, and of unions of more than two.
detail::table rows_of_inputs(const planner::vertex& v, std::uint64_t limit, const vertex_tasks& tasks);
detail::table concat_rows(const planner::vertex& v, const vertex_tasks& tasks);
// The same as columns; nothing: the inputs are not there as such, or memory has no room for what is kept of them.
std::optional<runtime::vertex_rows> concat_columns(const planner::vertex& v, const vertex_tasks& tasks);
detail::table zip_rows(const planner::vertex& v, const vertex_tasks& tasks);
std::optional<runtime::vertex_rows> zip_columns(const planner::vertex& v, const vertex_tasks& tasks);
detail::table default_if_empty(const planner::vertex& v, const vertex_tasks& tasks);

// runs.cpp: functions of adjacent rows.
runtime::vertex_rows chunk_rows(const planner::vertex& v, const vertex_tasks& tasks);
runtime::vertex_rows window_rows(const planner::vertex& v, const vertex_tasks& tasks);
bool gives_one_row(const detail::logical& runs);  // chunk, window: one for each run, that is
runtime::vertex_rows apply_rows(const planner::vertex& v, const vertex_tasks& tasks);

// The rows of cached(), which the session keeps. Where they may be too many for its memory, as a stored_sequence.
runtime::vertex_rows cached_rows(const planner::vertex& v, const vertex_tasks& tasks);

// partition.cpp
runtime::vertex_rows partition_rows(const planner::vertex& v, const vertex_tasks& tasks);

}  // namespace query::cpu
