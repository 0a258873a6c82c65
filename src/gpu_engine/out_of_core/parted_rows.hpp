// The rows that an input gives, apart by the hash of their key in host memory: of verbs that need all rows of a key at once. Rows that
// own no memory.
//
//   parting rows(v.inputs[0], *v.node, v.node->functions[0], run);
//   block_input(v.inputs[0], fields, 8, run).each(rows);
//   const host_block some = side_by_side(rows.parts(), 3, 7, row, context);   // those of partitions 3 to 6
#pragma once

#include <functional>

#include "gpu_engine/out_of_core/block_input.hpp"
#include "gpu_engine/out_of_core/key_places.hpp"

namespace query::gpu_engine {

// The rows of partitions [first, end) side by side; those of a partition in their order.
host_block side_by_side(const host_partitions& rows, std::uint32_t first, std::uint32_t end, const ir::type* row,
                        runtime::run_context& context);

// The rows of a block behind all of a branch's row-wise work and joins, once these have run; as they lie: with these fields.
std::shared_ptr<const device_rows> rows_of_block(const planner::branch& b, const std::vector<bool>& fields, vertex_run& run);
// The fields that block_input brings for them.
std::vector<bool> fields_of_blocks(const planner::branch& b, const std::vector<bool>& as_they_lie);

class parting final : public block_consumer {
 public:
  static constexpr std::uint32_t parts_made = 1024;  // few enough to write to at once; who reads them takes several together
  using reduction = std::function<std::shared_ptr<const device_rows>(const device_rows&)>;

  // `less`: what stays of a block's rows.
  parting(const planner::branch& b, const detail::logical& n, const detail::user_function& key, vertex_run& run, reduction less = {});
  void take() override;
  const host_partitions& parts() const { return parts_; }

 private:
  const planner::branch& b_;
  planner::branch behind_;
  vertex_run& run_;
  reduction less_;
  key_places places_;
  host_partitions parts_;
};

}  // namespace query::gpu_engine
