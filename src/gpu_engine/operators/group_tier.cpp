#include "gpu_engine/operators/group_tier.hpp"

#include <algorithm>

namespace query::gpu_engine {

namespace {

// Words of the status block while a sample is looked at.
enum status : std::size_t { distinct_word = 1, first_half_word, second_half_word, kept_word, full_word };  // the halves' behind that of all

std::uint64_t groups_of(std::uint64_t rows, const group_kernels& sample, const device_rows& in, vertex_run& run) {
  const std::uint64_t n = in.size();
  const std::uint32_t table = gpu::table_bits(rows);
  const std::size_t slot_bytes = 3 * (gpu::table_slots(table) + 3) * sample.slot_bytes;  // of all, and of each half
  const device_buffer memory = run.allocate(slot_bytes);
  run.fill(memory.address(), 0xff, slot_bytes);
  std::array<std::uint64_t, group_argument_count> args{};
  args[slots] = memory.address();
  args[bits] = table;
  args[sample_rows] = rows;
  args[sample_stride] = n / rows;
  args[sample_count] = run.status_word(distinct_word);
  args[sample_kept] = run.status_word(kept_word);
  args[full] = run.status_word(full_word);
  const std::array<const device_rows*, 1> inputs = {&in};
  const auto grid = static_cast<unsigned>(gpu::divide_up(rows, 256));
  run.launch(sample.source, *run.compile(sample.source, "sample_groups"), {grid, 256, 0}, inputs, args);
  run.finish(sample.source);
  const auto counted = [&](std::size_t word) { return static_cast<double>(run.hint(word)); };
  const double kept = counted(kept_word),
               groups = gpu::groups_of_sample(kept, counted(distinct_word), counted(first_half_word), counted(second_half_word)),
               passing = std::max(kept, 1.0) / static_cast<double>(rows) * static_cast<double>(n);  // no more than rows that pass
  return static_cast<std::uint64_t>(std::clamp(groups, 1.0, std::max(passing, 1.0)));
}

}  // namespace

std::uint64_t groups_by_sample(const group_kernels& sample, const device_rows& in, vertex_run& run) {
  const std::uint64_t n = in.size(), groups = groups_of(std::min(n, sampled_rows), sample, in, run);
  constexpr std::uint64_t many = 64 * sampled_rows;  // 512 rows of the sample repeat a key then
  if (groups < many || n < 4 * sampled_of_many) return groups;
  run.reset_status();
  return groups_of(sampled_of_many, sample, in, run);
}

std::uint32_t shared_memory_of_block(vertex_run& run) {
  return static_cast<std::uint32_t>(std::min<std::size_t>(run.gpu().on().shared_memory_per_block(), 227 << 10));
}

gpu::group_plan plan_tier(const group_kernels& rows, std::uint64_t n, std::uint64_t groups, std::uint32_t shared_memory, bool exact) {
  const auto key = static_cast<std::uint32_t>(rows.key_bytes), state = static_cast<std::uint32_t>(rows.aggregates.state_bytes);
  gpu::group_plan plan = gpu::plan_groups(n, groups, key, state, rows.aggregates.atomic, shared_memory, exact);
  if (!rows.aggregates.spread) return plan;
  // Sums of long arrays have a shape of their own, while the groups fit a block.
  const gpu::spread_group_plan s = gpu::plan_spread_groups(std::min(groups, n), key, state, shared_memory);
  if (!s.shape.bytes) return plan;
  plan.tier = s.copies == gpu::group_copies::warp ? gpu::group_tier::shared_warp : gpu::group_tier::shared_block;
  plan.shape = s.shape;
  plan.table_bits = gpu::table_bits(2 * groups);
  return plan;
}

std::optional<group_program> shared_program(gpu::group_tier tier) {
  switch (tier) {
    case gpu::group_tier::shared_thread:
      return group_program::shared_thread;
    case gpu::group_tier::shared_warp:
      return group_program::shared_warp;
    case gpu::group_tier::shared_block:
      return group_program::shared_block;
    default:
      return std::nullopt;
  }
}

}  // namespace query::gpu_engine
