// What a join makes of a build side that a running loop does not change: made in the loop's first round, kept for those after
// it. Blocks of one input count as rounds here (block_input.cpp).
//
//   std::shared_ptr<kept_build> b = find_build(node, side, run);
//   if (!b) b = ...; keep_build(node, side, b, kernels.source, run);
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <query/errors.hpp>

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

struct build_side {
  std::shared_ptr<const device_rows> rows;
  bool stays = false;  // no loop changes them
};

// A table of the keys: of rows (join_program::unique), of keys alone (presence), or of groups with what is known of them.
class kept_build final : public runtime::kept_rows {
 public:
  explicit kept_build(std::shared_ptr<const device_rows> of) : rows(std::move(of)) {}

  std::shared_ptr<const device_rows> rows;
  device_buffer table;
  std::uint32_t bits = 0;
  std::vector<std::uint64_t> constants;  // of the program that made it
  // Of groups (grouped_build.hpp).
  bool grouped = false;
  device_buffer group_of_build, offsets, rows_by_group;

  std::size_t bytes() const { return table.capacity() + group_of_build.capacity() + offsets.capacity() + rows_by_group.capacity(); }

  // kept_rows: engines keep it as they keep copies of rows, but nobody fetches it.
  std::string_view engine() const override { return "gpu"; }
  std::uint64_t size() const override { return rows->size(); }
  detail::table fetch(runtime::run_context&) override { throw internal_error("gpu: a join's table has no rows"); }
};

// Is `b` the same rows in every round of every loop?
bool stays(const planner::branch& b);

// Of these very rows; null: there is none.
std::shared_ptr<kept_build> find_build(const detail::logical& join, const build_side& side, vertex_run& run);
// May it be kept at all? Not what a watched round makes: rounds that halt leave it in pieces.
bool keeps_builds(const build_side& side, const kept_build& b, const kernel_source& k, vertex_run& run);
// What a program's functions captured by value and by reference, as it is now: functions are traced anew where code of the user's has run
// in between, and keys of another captured number are other keys.
std::vector<std::uint64_t> constants_of(const kernel_source& k);
// Keeps it if there is room; `k`: the kernels that made it.
void keep_build(const detail::logical& join, const build_side& side, std::shared_ptr<kept_build> b, const kernel_source& k, vertex_run& run);
// Gives their memory up; false: there were none.
bool forget_builds(runtime::run_context& context) noexcept;

}  // namespace query::gpu_engine
