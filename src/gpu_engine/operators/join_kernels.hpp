// The kernels of a join, one program a way of joining; the host side is join.cpp.
//
//   unique     every build key once: a slot a build row, one pass over the probe rows (gpu_primitives/join_unique.cuh). A slot has the
//              build row's number, or the one field that pairs read of it where that takes no more room
//   scattered  builds the same table, where that is large: rows go by the parts of the table first (gpu_primitives/group_partition.cuh)
//   general    build rows grouped by key, output cut into equal tiles (gpu_primitives/join_tiles.cuh)
//   side_by_side  behind general, where output rows are many: they read what they need of build rows from copies that lie by group
//   grouped    group_join: build rows grouped by key, no more; what becomes of the groups is group_join.cpp's
//   grouped_rows  the same, and the build rows side by side, by group
//   presence   semi and anti joins: the keys alone
#pragma once

#include "gpu_engine/codegen/keyed_rows.hpp"
#include "gpu_engine/codegen/row_function.hpp"

namespace query::gpu_engine {

enum class join_program { unique, scattered, general, side_by_side, grouped, grouped_rows, presence };

// What is joined: input 0 of the kernels is the probe side, input 1 the build side.
struct join_sides {
  const detail::logical* node = nullptr;
  bool build_left = false;  // the verb's left input is the build side

  bool tests() const { return node->join == detail::join_kind::semi || node->join == detail::join_kind::anti; }
  bool keeps_probe() const { return node->join == detail::join_kind::left || node->join == detail::join_kind::full; }
  bool keeps_build() const { return node->join == detail::join_kind::right || node->join == detail::join_kind::full; }
};

enum join_argument : std::uint32_t {
  join_slots,
  join_bits,
  join_flag,  // a key was met twice; the table is full
  join_out,
  join_total,   // rows written for probe rows
  join_ticket,  // of probe_unique_pipelined, and its states
  join_states,
  join_partnered,  // a byte a build row
  join_build_count,  // rows that `unique` builds from: all, or the first of them for a sample; general: rows from join_first_row on
  join_place_bits,   // scattered: partition_places, and the rows by partition
  join_part_counts,
  join_part_starts,
  join_part_cursors,
  join_part_items,
  join_scattered_keys,
  join_scattered_payloads,
  join_compact_temp,
  join_kept,
  // general
  join_id_count,
  join_group_of_build,
  join_group_of_probe,
  join_asked,  // a byte a group
  join_first_row,
  join_scan_temp,
  join_offsets,
  join_sort_temp,
  join_sort_pass,
  join_sort_keys_0,
  join_sort_keys_1,  // at last the groups in their order
  join_sort_rows,
  join_build_rows,
  join_sums,    // outputs of each block of probe rows
  join_starts,  // their sums before each, and of all
  join_blocks,
  join_copied_columns,  // of the build side, in the order of groups
  join_argument_count
};

struct join_kernels {
  kernel_source source;
  std::size_t slot_bytes = 16;
  std::size_t number_bytes = 4;  // of a build row's number
  std::size_t key_bytes = 0;     // 4 or 8: keys are one word
  std::size_t payload_bytes = 4;
  std::vector<bool> copied;  // side_by_side: the build side's columns that gather_columns copies; pairs read no others
};

// `wide`: build rows have numbers of 64 bits. Throws not_generated.
join_kernels generate_join_kernels(const join_sides& j, const input_layout& probe, const input_layout& build, join_program what, bool wide);

// What the copy of one column of n rows takes: the next one begins behind it.
constexpr std::uint64_t bytes_of_copied_column(std::uint64_t n, std::uint64_t size) { return (n * size + 255) / 256 * 256; }

// Threads and rows a thread of the kernel that probes a table of unique keys.
inline constexpr std::uint32_t probe_threads = 512, probe_items = 2;
// The same of those that scatter build rows, and build from them.
inline constexpr std::uint32_t scatter_threads = 1024, scatter_items = 8, scattered_build_items = 2;

// The top-level fields that the join reads of its probe side's rows, or of its build side's.
std::vector<bool> fields_joined(const join_sides& j, bool build_side);

// How whole rows are brought to the device.
input_layout whole_rows(const ir::type* row);

// Adds `Row pair_of(const words& p, u64 a, u64 b)`: function `result` of row number a of the left input and b of the right one;
// no_row where a side may be missing. `left` and `right` are the rows with the numbers "a" and "b". `more`: further parameters, which
// these may name.
void generate_pair(kernel_source& k, const detail::logical& n, const detail::user_function& result, const row_source& left,
                   bool left_optional, const row_source& right, bool right_optional, const std::string& more = {});

}  // namespace query::gpu_engine
