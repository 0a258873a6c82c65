// Rows by ranges of what an order_by sorts by: a sample of their keys, from which bounds are chosen, and the number of each row's range.
//
//   key_ranges keys(v, rows, run);
//   const std::vector<std::uint64_t> some = keys.sample(1024);          // width() words a row, the most significant first
//   const device_buffer numbers = keys.numbers(bounds, parts);          // u32 a row: how many of the parts - 1 bounds it does not come
//   before
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

class key_ranges {
 public:
  // Of keys without strings. Throws not_generated for others.
  key_ranges(const planner::vertex& v, std::shared_ptr<const device_rows> rows, vertex_run& run);

  std::size_t width() const { return width_; }
  std::vector<std::uint64_t> sample(std::uint64_t most);
  device_buffer numbers(const std::vector<std::uint64_t>& bounds, std::size_t parts);

 private:
  void launch(const char* entry, std::uint64_t work, std::span<const std::uint64_t> arguments);

  std::shared_ptr<const device_rows> rows_;
  vertex_run& run_;
  kernel_source k_;
  std::size_t width_ = 0;
};

}  // namespace query::gpu_engine
