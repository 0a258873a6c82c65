// The operators of the GPU engine: what a vertex does, as generated kernels around the primitives. One file each.
//
// `plan_...` throws not_generated with the reason if the vertex has no form on the GPU; it is asked while the query is
// planned and needs no device. `run_...` generates again, as captures may have changed, and runs.
#pragma once

#include <memory>

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

// What a vertex gives: rows that stay on the device.
using result_rows = std::shared_ptr<device_rows>;

// collect.cpp: row-wise work, kept rows in order.
void plan_collect(const planner::vertex& v);
result_rows run_collect(const planner::vertex& v, vertex_run& run);
// The same before a breaker that wants its rows side by side.
void plan_collect_before(const planner::branch& b);
result_rows run_collect_before(const planner::branch& b, vertex_run& run);
// Of the branch's source, if its rows are there already: all that it reads of them.
result_rows run_collect_of(const planner::branch& b, const std::shared_ptr<const device_rows>& source, vertex_run& run);

// fold.cpp: count, sum, min, max of a branch.
void plan_fold(const planner::branch& b, detail::fold_kind kind);
void run_fold(const planner::branch& b, detail::fold_kind kind, detail::fold_state& state, vertex_run& run);

// group_by.cpp: groups and their aggregates; one group of all rows.
void plan_group_by(const planner::vertex& v);
result_rows run_group_by(const planner::vertex& v, vertex_run& run);

// groups_in_order.cpp: the same for aggregates that want the rows of each group side by side, and for those of all rows.
bool wants_groups_in_order(const planner::vertex& v);
void plan_groups_in_order(const planner::vertex& v);
std::shared_ptr<const device_rows> rows_before_groups(const planner::vertex& v, vertex_run& run);
result_rows run_groups_in_order(const planner::vertex& v, std::shared_ptr<const device_rows> in, vertex_run& run);

// one_group.cpp: the row that an aggregate of no rows gives.
result_rows aggregate_of_nothing(const planner::vertex& v, vertex_run& run);

// rows_in_order.cpp: rows sorted by numbers that lie beside them, all different.
device_buffer rows_in_order(const ir::type* row, device_buffer rows, const device_buffer& numbers, std::uint64_t n, vertex_run& run);

// order_by.cpp: stable sorts by any number of keys; the first rows only where a limit says so.
void plan_order_by(const planner::vertex& v);
result_rows run_order_by(const planner::vertex& v, vertex_run& run);

// The numbers of the rows alone: u32, u64 where wide_row_numbers says so. Of at least one row.
void plan_ordered_numbers(const planner::vertex& v);
device_buffer ordered_numbers(const planner::vertex& v, const device_rows& in, vertex_run& run);

// partition.cpp: rows side by side by partition, with the ends of the partitions.
void plan_partition(const planner::vertex& v);
result_rows run_partition(const planner::vertex& v, vertex_run& run);
// Rows whole, side by side by the number of their part, and where each part ends: for devices that exchange them. All columns of the rows
// are there. By the hash of a verb's key, or by numbers (u32) that lie in device memory.
struct rows_apart {
  result_rows rows;
  std::vector<std::size_t> ends;
};
rows_apart apart_by_hash(const detail::logical& keyed, const detail::user_function& key, const std::shared_ptr<const device_rows>& in,
                         std::size_t parts, vertex_run& run);
rows_apart apart_by_numbers(const detail::logical& verb, const std::shared_ptr<const device_rows>& in, const device_buffer& numbers,
                            std::size_t parts, vertex_run& run);

// join.cpp: the probe of one join: rows of the probe side, of the build side, what the join gives of them; right and full
// joins, which are vertices.
void plan_join(const planner::stage& s, const ir::type* probe);
result_rows run_join(const planner::stage& s, const std::shared_ptr<const device_rows>& probe, vertex_run& run);
std::vector<bool> probe_fields(const planner::stage& s);  // those that it reads of the probe side's rows
void plan_outer_join(const planner::vertex& v);
result_rows run_outer_join(const planner::vertex& v, vertex_run& run);
// The same of rows that are there.
result_rows run_outer_join_of(const planner::vertex& v, const device_rows& left, std::shared_ptr<const device_rows> right, vertex_run& run);

// group_join.cpp: a row for each left row and the list of its matches.
void plan_group_join(const planner::vertex& v);
result_rows run_group_join(const planner::vertex& v, vertex_run& run);
// The same of rows that are there, with these fields at least. One right side serves many calls.
std::vector<bool> group_join_fields(const detail::logical& n, bool right);
// `stays`: may a table of the right side be kept for later rounds and blocks, by the address of v's node?
result_rows run_group_join_of(const planner::vertex& v, const device_rows& left, std::shared_ptr<const device_rows> right, bool stays,
                              vertex_run& run);

// cross_join.cpp: all pairs.
void plan_cross_join(const planner::vertex& v);
result_rows run_cross_join(const planner::vertex& v, vertex_run& run);
// The same of rows that are there, whole.
result_rows run_cross_join_of(const planner::vertex& v, const device_rows& left, const device_rows& right, vertex_run& run);

// sets.cpp: distinct, union_with, intersect, except: one row for each key, the first, in the order of their appearance.
void plan_sets(const planner::vertex& v);
result_rows run_sets(const planner::vertex& v, vertex_run& run);
// The same of rows that are there, side by side: those of the two inputs; or `distinct`, of one input's rows, by the verb's key.
result_rows run_set_of(const planner::vertex& v, detail::verb what, const device_rows& first, const device_rows* second, vertex_run& run);

// slices.cpp: take, skip, take_last, skip_last, take_while, skip_while, default_if_empty.
void plan_slice(const planner::vertex& v);
result_rows run_slice(const planner::vertex& v, vertex_run& run);

// gathered_rows.cpp: concat, reverse, sample, zip; chunk and window.
void plan_gathered(const planner::vertex& v);
result_rows run_gathered(const planner::vertex& v, vertex_run& run);

// many_rows.cpp: select_many behind row-wise work that gave the arrays or lists.
const ir::type* many_rows_of(const detail::logical& n);  // the type of these; throws not_generated for others
void plan_many_rows(const detail::logical& n);
result_rows run_many_rows(const detail::logical& n, const std::shared_ptr<const device_rows>& in, vertex_run& run);

// pipeline.cpp: branches with joins or select_many in them. `last` is the part behind the last of these; the rest is planned, or
// has run and is what vertex_run::input gives.
bool bare(const planner::branch& b);  // rows as they lie, no work on them
bool in_parts(const planner::branch& b);
bool numbers_rows(const planner::branch& b);  // some function takes the row's number
planner::branch last_part(const planner::branch& b);
planner::branch behind(const planner::branch& b);  // what is left of it when its rows have been computed: nothing, rows as they lie
planner::vertex behind_joins(const planner::vertex& v);  // as it is when its input's joins have run
// The fields of the source that are read up to the first join or select_many, and by it.
std::vector<bool> fields_before_parts(const planner::branch& b);
void plan_joins(const planner::branch& b);
void run_joins(const planner::branch& b, vertex_run& run);

// An input of a verb of two: its joins and row-wise work done, its rows side by side; or as they lie, with the fields that
// are read.
void plan_input(const planner::branch& b);
std::shared_ptr<const device_rows> run_input(const planner::branch& b, const std::vector<bool>& fields, vertex_run& run);
// How these would lie for a verb that takes rows as they lie: those of a source without what nobody wants, others whole.
input_layout planned_input(const planner::branch& b);

// text_making.cpp: row-wise work that makes strings runs on its own, before what cannot run twice (folds, groups, sorts). The branch
// as it is then: itself where it makes none.
planner::branch plan_text_making(const planner::branch& b);
planner::branch run_text_making(const planner::branch& b, vertex_run& run);

// cached.cpp: rows kept on the device, a column a field, for the queries that read them next.
void plan_cached(const planner::vertex& v);
result_rows run_cached(const planner::vertex& v, vertex_run& run);

// apply.cpp: functions of the user's that get device memory and a stream.
void plan_apply(const planner::vertex& v);
result_rows run_apply(const planner::vertex& v, vertex_run& run);

// Rows of the columns that a branch's source would have on the device before it is there: what planning generates with.
input_layout planned_layout(const planner::branch& b, const std::vector<bool>& fields);

}  // namespace query::gpu_engine
