// What a join makes of a build side that a running loop does not change: made in the loop's first round, kept for those after
// it. Blocks of one input count as rounds here (block_input.cpp).
//
//   std::shared_ptr<const build_table> t = find_build(node, side, kernels.source, run);
//   if (!t) t = ..., keep_build(node, side, t, kernels.source, run);
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

struct build_side {
  std::shared_ptr<const device_rows> rows;
  bool stays = false;  // no loop changes them
};

// A table of the keys: of rows (join_program::unique), of keys alone (presence), or of groups with what is known of them.
struct build_table {
  device_buffer slots;
  std::uint32_t bits = 0;
  // Of groups (grouped_build.hpp).
  bool grouped = false;
  device_buffer group_of_build, offsets, rows_by_group;
};

// Is `b` the same rows in every round of every loop?
bool stays(const planner::branch& b);

// Of these very rows; null: there is none. `k`: the kernels that would make it: keys of another captured number are other keys.
std::shared_ptr<const build_table> find_build(const detail::logical& join, const build_side& side, const kernel_source& k,
                                              vertex_run& run);
// Did a round before find a key twice, so that what is kept are groups, whatever was captured then?
bool keeps_groups(const detail::logical& join, const build_side& side, vertex_run& run);
// May it be kept at all? Not what a watched round makes: rounds that halt leave it in pieces.
bool may_keep(const build_side& side, const build_table& t, const kernel_source& k, vertex_run& run);
// Keeps it if it may be kept.
void keep_build(const detail::logical& join, const build_side& side, std::shared_ptr<const build_table> t, const kernel_source& k,
                vertex_run& run);
// Gives their memory up; false: there were none.
bool forget_builds(runtime::run_context& context) noexcept;

}  // namespace query::gpu_engine
