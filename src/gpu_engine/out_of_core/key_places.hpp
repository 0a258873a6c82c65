// The partition of each row, by the hash of its key: computed on the device, used to move the rows in host memory.
//
//   key_places places(branch, join, join.functions[0], 64);
//   host_partitions p(row->size, 64, context);
//   while (auto block = feed.next()) p.append(block.from.rows.rows, places.of(*block.rows, run).as<std::uint32_t>(),
//   block.rows->size());
#pragma once

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

class key_places {
 public:
  // The key that function f of node n takes of rows behind the row-wise stages of b.
  key_places(const planner::branch& b, const detail::logical& n, const detail::user_function& f, std::uint32_t parts)
      : b_(&b), n_(&n), f_(&f), parts_(parts) {}

  // One number a row of the block, below `parts`; 0xffffffff for rows that a filter takes away.
  runtime::buffer of(const device_rows& block, vertex_run& run);

 private:
  const planner::branch* b_;
  const detail::logical* n_;
  const detail::user_function* f_;
  std::uint32_t parts_;
};

}  // namespace query::gpu_engine
