// The kernels of groups whose rows lie side by side, and of aggregates of all rows; the host side is groups_in_order.cpp, that of the
// groups of many blocks out_of_core/state_stream.cpp.
//
//   in_order::kernels k = in_order::generate(v, rows->layout(), in_order::output::rows);
//   run.launch(k.source, *run.compile(k.source, "fold_segments"), ...);
#pragma once

#include <algorithm>

#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_primitives/segments.cuh"

namespace query::gpu_engine::in_order {

// Arguments of the kernels. Those of the calls come behind them, two a call (rows_by_group).
enum argument : std::uint32_t {
  table_at,
  table_size,
  table_full,
  id_count,
  group_of,
  numbers,
  numbered,
  row_order,
  marks_in,
  states_in,
  items,
  marks_out,
  states_out,
  result_at,
  firsts,
  nothing,
  state_of_all,  // of the blocks so far, and the rows that it names, one a call
  kept_rows,
  rows_before,   // in the blocks so far
  begun,         // has any row of them stayed?
  group_keys,    // of all blocks so far, by the numbers of groups
  group_states,
  most_ids,
  ids_given,
  larger_table,  // that takes the place of the table, and its size
  larger_size,
  pairs,         // of keys and states, and to which part of host memory each goes
  places,
  spill_seed,    // of the hash that says so
  first_pair,    // the number of its group
  of_calls
};

inline constexpr std::uint64_t most_groups = 0xfffffff0ull;
inline constexpr std::uint32_t state_parts = 256;  // of host memory, for states that are spilled

// What becomes of a group: a row of the result; or, of all rows of a block, the state of one group, which those of the blocks before meet;
// or, of each group of a block, a state that the group's state of the blocks before meets.
enum class output { rows, state_of_block, states_of_block };

struct kernels {
  kernel_source source;
  ir::group_plan plan;
  generated_aggregates aggregates;
  std::size_t slot_bytes = 16;
  std::size_t key_bytes = 0, pair_bytes = 0;  // of a key as the table has it, and of a key with its state, where states stay
  std::vector<std::size_t> value_slot_bytes;  // of the tables of values, a call each; 0 where it has none
};

inline bool keyed(const planner::vertex& v) { return v.node->what == detail::verb::group_by; }

// All rows as one group whose aggregates care for row numbers alone: they are read as they lie, neighbours by neighbouring threads, and
// the row-wise work before them is done on the way. Which rows meet depends on their number only, so sums repeat bit for bit.
inline constexpr std::uint64_t tile_rows = gpu::segment_piece * 256;
inline bool in_tiles(const planner::vertex& v, const ir::group_plan& plan) {
  return !keyed(v) && std::none_of(plan.calls.begin(), plan.calls.end(), wants_rows_by_group);
}

// Is the call's result a row, which its state names by number?
inline bool names_row(const ir::aggregate_call& c) {
  return c.what == ir::aggregate_kind::first || c.what == ir::aggregate_kind::last || c.what == ir::aggregate_kind::arg_min ||
         c.what == ir::aggregate_kind::arg_max;
}

// Throws not_generated with the reason.
kernels generate(const planner::vertex& v, const input_layout& in, output what);

}  // namespace query::gpu_engine::in_order
