// Vertices and folds whose rows do not fit the device: the source is read in blocks that fit, the operators of
// ../operators run over each, and what they give is put together.
//
//   row-wise work    the blocks' results, fetched while the next block is computed
//   folds            one state, block after block
//   group_by         one table for all blocks, spilled by partition (group_stream, and state_stream where aggregates are the
//                    user's own); partitions of the rows where keys or aggregates need the rows
//   aggregate        one state, block after block, and the rows that it names (operators/aggregate_blocks.hpp)
//   distinct, sets   the first row of each key of a block, then partitions of these (set_blocks.cpp)
//   order_by, top    sorted blocks, merged in host memory (merge_runs)
//   joins            the probe side in blocks; a build side that does not fit is partitioned with the probe side by key;
//                    right, full, group and cross joins: join_blocks.cpp
//
//   if (exceeds_memory(v, run)) result = run_in_blocks(v, run);
#pragma once

#include <vector>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// Rows on the device, or tables in host memory: one after the other they are the result.
struct block_results {
  std::shared_ptr<runtime::kept_rows> kept;
  std::vector<detail::table> tables;
};

// Is the source made as it is read? Then it is read in blocks, however much memory there is.
bool reads_stream(const planner::branch& b);
// Is its input, as it would lie on the device, more than what an operator can work on at once?
bool exceeds_memory(const planner::branch& b, vertex_run& run);

// Has the verb, with two inputs or one, a form in blocks? Others that take whole inputs go to the CPU.
bool has_blocks(const planner::vertex& v);

// Blocks keep the order of row-wise work and of sorts, not that of groups and of pairs.
bool order_is_lost(const planner::vertex& v);

// Throws resource_error with the reason where there is no way in blocks either.
block_results run_in_blocks(const planner::vertex& v, vertex_run& run);
block_results run_sets_in_blocks(const planner::vertex& v, vertex_run& run);
block_results run_keyed_join_in_blocks(const planner::vertex& v, vertex_run& run);  // right and full joins, group joins
block_results run_cross_join_in_blocks(const planner::vertex& v, vertex_run& run);

}  // namespace query::gpu_engine
