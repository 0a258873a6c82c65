// Right and full joins of a left side in blocks with a right side that stays on the device: which right rows have found a partner is
// marked through all blocks; those that found none come at the end.
//
//   outer_join_blocks join(v, right, run);
//   while (auto left = next()) emit(join.take(*left));
//   emit(join.finish());
#pragma once

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// One owner.
class outer_join_blocks {
 public:
  // `right`: with the fields that the join reads.
  outer_join_blocks(const planner::vertex& v, std::shared_ptr<const device_rows> right, vertex_run& run);

  // The pairs of a block. A block that lacked memory may come again, in pieces.
  result_rows take(const device_rows& left);
  result_rows finish();

 private:
  const planner::vertex& v_;
  vertex_run& run_;
  std::shared_ptr<const device_rows> right_;
  device_buffer partnered_;  // a byte a right row
};

}  // namespace query::gpu_engine
