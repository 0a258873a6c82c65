// The keys of sorted rows as words of 64 bits whose lexicographic order is the order that was asked for: what blocks
// that were sorted apart are merged by.
#pragma once

#include "gpu_engine/vertex_run.hpp"

namespace query::gpu_engine {

struct sorted_keys {
  std::size_t words = 0;  // a row; the most significant first
  device_buffer memory;
};

// `rows` are what an order_by gives. Throws resource_error for keys that have no such words (strings).
sorted_keys run_sorted_keys(const planner::vertex& v, const device_rows& rows, vertex_run& run);

}  // namespace query::gpu_engine
