// Rows of range and repeat, made on the device: nothing is copied over the bus but a first value. Where all that reads a range are kernels
// of rows, they compute its numbers, which are written nowhere.
//
//   if (is_counted(*b.source)) rows = counted_rows(*b.source, 0, b.source->count, run);
#pragma once

#include <cstdint>
#include <memory>

#include "gpu_engine/vertex_run.hpp"
#include "runtime/placement/row_counts.hpp"

namespace query::gpu_engine {

using runtime::is_counted;

// Is it a range whose numbers kernels may compute? Those of floating-point ranges are rounded from the first one.
bool is_computed(const detail::logical& source);

// Rows [from, from + n) of the source, for kernels that read them by generated functions of rows alone (input_column::counted).
std::shared_ptr<device_rows> computed_rows(const detail::logical& source, std::uint64_t from, std::uint64_t n, vertex_run& run);

// The same rows of any source, in memory.
std::shared_ptr<device_rows> counted_rows(const detail::logical& source, std::uint64_t from, std::uint64_t n, vertex_run& run);

}  // namespace query::gpu_engine
