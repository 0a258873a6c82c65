// By which tier rows are grouped (gpu_primitives/group_aggregate.cuh): a sample of their keys says how many groups there are.
//
//   const group_kernels sample = generate_group_kernels(v, in->layout(), group_program::sample);
//   const std::uint64_t groups = groups_by_sample(sample, *in, run);
//   const gpu::group_plan plan = plan_tier(rows, in->size(), groups, shared_memory_of_block(run));
#pragma once

#include "gpu_engine/operators/group_kernels.hpp"
#include "gpu_primitives/group_aggregate.cuh"

namespace query::gpu_engine {

inline constexpr std::uint64_t sampled_rows = 1 << 16, sampled_of_many = 1 << 18;

// How many groups the rows have, guessed; `sample`: the program `sample` for their layout. Where they are so many that few of the sampled
// rows share one, a larger sample says so more exactly: of 2^16 rows of 16 million groups 134 repeat a key, which is off by a twelfth, and
// a partition's table has room for an eighth more than expected. Counts in words of the status block, which is to be reset before its
// next use. Waits for the device. Throws out_of_memory, and what a row fails with.
std::uint64_t groups_by_sample(const group_kernels& sample, const device_rows& in, vertex_run& run);

// For `n` rows, of which `rows` knows keys and states. `exact`: there are not more groups.
gpu::group_plan plan_tier(const group_kernels& rows, std::uint64_t n, std::uint64_t groups, std::uint32_t shared_memory,
                          bool exact = false);
std::uint32_t shared_memory_of_block(vertex_run& run);

// The program of a tier in which blocks have tables of their own, in shared memory; nothing for the others.
std::optional<group_program> shared_program(gpu::group_tier tier);

// Rows that a thread has in flight in a block with a table of its own, and rows of a tile are 32 times as many.
inline unsigned items_of(const group_kernels& rows) { return rows.aggregates.spread ? 1 : group_items; }

}  // namespace query::gpu_engine
