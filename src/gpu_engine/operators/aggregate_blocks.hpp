// The aggregates of all rows as one group, block after block: one state stays on the device, and the rows that it names beside it.
//
//   aggregate_blocks all(v, run);
//   while (auto rows = next()) all.take(rows);
//   const result_rows row = all.finish();
#pragma once

#include <optional>

#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/reserved_room.hpp"

namespace query::gpu_engine {

// One owner.
class aggregate_blocks {
 public:
  aggregate_blocks(const planner::vertex& v, vertex_run& run) : v_(v), run_(run) {}

  // Why the row cannot be told from a state of fixed size: values are wanted side by side (medians, lists, count_distinct), or what is
  // kept owns memory. Empty: it can. Throws not_generated.
  static std::string why_not(const planner::vertex& v);
  // What take() has at once of device memory for so many rows.
  static std::size_t bytes_at_work(const planner::vertex& v, std::size_t rows);

  // Rows as run_groups_in_order takes them, behind those before. Throws out_of_memory with nothing changed.
  void take(std::shared_ptr<const device_rows> in);
  result_rows finish();

 private:
  device_address state() const { return memory_.address() + 16; }

  const planner::vertex& v_;
  vertex_run& run_;
  device_buffer row_;     // of the result: there before rows are taken that may not be had again
  std::optional<reserved_room> nothing_;  // for the row of no rows, where none stayed
  device_buffer memory_;  // a word, the states of a block and of all, the rows that the latter names
  std::size_t state_bytes_ = 0;
  std::uint64_t rows_ = 0;
  std::shared_ptr<const device_rows> none_;  // no rows, as they would lie
};

}  // namespace query::gpu_engine
