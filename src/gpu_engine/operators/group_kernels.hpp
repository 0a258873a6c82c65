// The kernels of a group_by, generated around the grouping primitives (gpu_primitives/group_aggregate.cuh).
//
// Rows, keys and aggregates are generated once; each program holds the kernels of one tier, so that a query compiles only
// what it runs. The program `global` has those that the others need when a table was too small; it is compiled then.
#pragma once

#include <optional>

#include "gpu_engine/codegen/group_aggregates.hpp"
#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

// Arguments of the kernels, by their numbers in the parameter words.
enum group_argument : std::uint32_t {
  slots,
  bits,
  larger_slots,
  larger_bits,  // the global table, and the one it grows into
  again_tiles,
  again_count,
  full,         // tiles that found no place
  full_before,  // a word of the kernel before that is not zero where groups are not complete yet; 0: there is none
  listed_tiles,
  listed_count,  // those to run again; no tiles: all rows
  threads,
  capacity,
  word_bits,
  shape_bytes,  // of the tables in shared memory
  partials,
  partial_counts,
  partial_entries,
  place_bits,
  place_shift,
  chunk,
  counts,
  starts,
  cursors,
  item_starts,
  partition_room,
  crowded,
  largest,  // partitions
  scattered_keys,
  scattered_args,
  partial_count,
  out,
  out_capacity,
  first_rows,  // as_ordered(): the number of each group's first row
  group_count,
  sample_rows,
  sample_stride,
  sample_count,
  sample_kept,
  group_argument_count,
};

// `rows` has no kernels: rows, keys and states and their sizes, with which every program but the sample begins. `planned` has none either,
// but all that is the user's: what cannot be generated shows there.
enum class group_program {
  rows, planned, sample, shared_thread, shared_warp, shared_block, partition_4, partition_8, partition_16, global, labelled
};

// What becomes of a group: a row of the result, or its (key, state) pair, which other devices' pairs are merged with.
enum class group_output { rows, pairs };

struct group_kernels {
  kernel_source source;
  group_key key;  // of a group_by
  generated_aggregates aggregates;
  ir::group_plan plan;
  const ir::type* out = nullptr;
  std::size_t slot_bytes = 0, partial_bytes = 0, key_bytes = 0;
};

// The aggregates of the vertex's function of groups.
ir::group_plan plan_of(kernel_source& k, const planner::vertex& v);

// Throws not_generated with the reason. `in` is how the input lies on the device.
group_kernels generate_group_kernels(const planner::vertex& v, const input_layout& in, group_program what,
                                     group_output output = group_output::rows);
// The same, of the program `rows` of the same vertex and layout.
group_kernels generate_group_kernels(const group_kernels& rows, const planner::vertex& v, const input_layout& in, group_program what,
                                     group_output output = group_output::rows);
// The fields of the source that the vertex reads.
std::vector<bool> group_fields(const planner::vertex& v);

// (key, state) pairs side by side in device memory, each `bytes` long.
struct group_pairs {
  device_buffer memory;
  std::uint64_t n = 0;
  std::size_t bytes = 0;
};

// labelled_groups.cpp: the program `labelled`; keys are numbers below `labels`, which lie beside the rows. What the program writes of each
// group, a row or a pair of so many bytes; nothing where shared memory has no room for so many labels.
std::optional<group_pairs> sum_labelled_groups(const group_kernels& g, const std::shared_ptr<const device_rows>& in, std::uint64_t labels,
                                               std::size_t bytes, vertex_run& run);
// The groups of a vertex's rows as pairs, each key once, by the tier that their number asks for. group_by.cpp. Throws out_of_memory.
group_pairs run_group_pairs(const planner::vertex& v, const std::shared_ptr<const device_rows>& in, vertex_run& run);

inline constexpr int group_items = 4;  // rows a thread has in flight

}  // namespace query::gpu_engine
