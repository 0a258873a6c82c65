// Fused group-by with aggregates: load, filter, project, key and aggregate in one pass over the rows. Three tiers, each right for any
// number of groups, chosen by the host from an estimate:
//
//   groups          tier                                kernels, in order
//   a few thousand  shared memory (group_shared.cuh)    init_groups, aggregate_shared, merge_groups, emit_groups
//   more            partitions (group_partition.cuh)    init_groups, count_partitions, plan_partitions, scatter_partitions,
//                                                       aggregate_partitions, merge_groups, emit_groups
//   more, with few  global table (group_table.cuh)      init_groups, aggregate_global, emit_groups
//   rows or without an atomic form
//
// After each kernel that takes tiles_again the host looks at `full`; when it is set: grow_groups into a table of twice the bits, then
// aggregate_global (rows) or merge_groups (partials) over the listed tiles. See group_table.cuh for what the caller writes.
//
// Kernels of up to 1024 threads want __launch_bounds__(1024, 1): without the second number the compiler takes 32 registers and spills.
// Items = 4 was fastest for keys of 4 and arguments of 8 bytes (8 for count_partitions; scatter_items for scatter_partitions).
// An H200, 2026-11-21, u32 key and f64 sum of 2^27 rows, billions of rows a second: 212 for 16 groups, 150 for a thousand, 49 for a
// million, 32 for 16 million; with a count beside the sum 123, 120, 46 and 27. CUB's sort and reduce-by-key in the same run: 47, 43, 31,
// 30 and 17, 17, 15, 14.
//
//   // About a thousand groups, keys of 8 and states of 16 bytes, aggregates with an atomic form, a block's shared memory on sm_90:
//   const group_plan plan = plan_groups(n, 1000, 8, 16, true, 227 * 1024);
//   if (plan.shape.bytes) kernel_of(plan.tier)<<<blocks, plan.shape.threads, plan.shape.bytes>>>(...);   // the kernels above
#pragma once

#include "gpu_primitives/group_partition.cuh"
#include "gpu_primitives/group_shared.cuh"
#include "gpu_primitives/group_table.cuh"

namespace query::gpu {

enum class group_tier { shared_thread, shared_warp, shared_block, partition, global };

struct group_plan {
  group_tier tier = group_tier::global;
  shared_group_shape shape{};  // of the block tables; bytes = 0 in the global tier
  u32 partition_bits = 0;      // tier partition alone
  u32 scatter_items = 0;       // Items for scatter_partitions in blocks of 1024 threads: longer runs for more partitions
  u32 table_bits = 0;          // to start the global table with
};

// Chooses a tier for `groups` expected groups in n rows. shared_budget: dynamic shared memory of a block (227 KB on sm_90, 163 KB on
// sm_80); atomic_form: the aggregates have update_atomic and merge_atomic; exact: there are not more groups than expected.
QUERY_GPU_BOTH constexpr group_plan plan_groups(u64 n, u64 groups, u32 key_bytes, u32 state_bytes, bool atomic_form, u32 shared_budget,
                                                bool exact = false) {
  group_plan plan;
  groups = larger<u64>(1, smaller(groups, n));
  plan.shape = plan_shared_groups(group_copies::thread, groups, key_bytes, state_bytes, shared_budget, exact);
  if (plan.shape.bytes && plan.shape.threads >= 256) {
    plan.tier = group_tier::shared_thread;
    plan.table_bits = table_bits(2 * groups);
    return plan;
  }
  // A copy a warp while all warps of a multiprocessor have one; then the atomic form, where there is one, is faster.
  plan.shape = plan_shared_groups(group_copies::warp, groups, key_bytes, state_bytes, shared_budget, exact);
  if (plan.shape.bytes && (!atomic_form || plan.shape.threads >= 768)) {
    plan.tier = group_tier::shared_warp;
    plan.table_bits = table_bits(2 * groups);
    return plan;
  }
  if (atomic_form) plan.shape = plan_shared_groups(group_copies::block, groups, key_bytes, state_bytes, shared_budget, exact);
  else plan.shape = {};
  if (plan.shape.bytes) {
    plan.tier = group_tier::shared_block;
    plan.table_bits = table_bits(2 * groups);
    return plan;
  }
  if (atomic_form && n >= (u64(1) << 22)) {
    // Two blocks a multiprocessor where the number of partitions allows.
    plan.partition_bits = partition_bits_for(groups, key_bytes, state_bytes, shared_budget / 2 - 1024);
    if (plan.partition_bits > 11) plan.partition_bits = partition_bits_for(groups, key_bytes, state_bytes, shared_budget);
    const u64 of_partition = divide_up(groups, u64(1) << plan.partition_bits);
    plan.shape = plan_shared_groups(group_copies::block, of_partition, key_bytes, state_bytes, shared_budget);
    // What would follow is the table of global memory, four times as slow.
    if (!plan.shape.bytes) {
      plan.shape = plan_shared_groups(group_copies::block, of_partition, key_bytes, state_bytes, shared_budget, false, true);
    }
    plan.scatter_items = plan.partition_bits > 9 && key_bytes <= 8 ? 16 : 8;
    if (plan.shape.bytes) {
      plan.tier = group_tier::partition;
      plan.table_bits = 16;
      return plan;
    }
  }
  plan.partition_bits = 0;
  plan.scatter_items = 0;
  plan.shape = {};
  plan.tier = group_tier::global;
  plan.table_bits = table_bits(groups + groups / 8);
  return plan;
}

}  // namespace query::gpu
