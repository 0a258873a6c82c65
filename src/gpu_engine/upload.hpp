// Host rows to the device: the fields that a vertex reads, as columns or as whole rows.
//
// Fields that own no memory are gathered straight into the pinned staging buffers. Strings and lists become views into a
// heap that travels beside them.
//
//   upload_rows(gpu, {.rows = trades.data(), .n = trades.size()}, type, columns, s, context)   // -> device_rows
#pragma once

#include <memory>
#include <vector>

#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

// `rows` may have columns instead of rows, one base address a top-level field.
std::shared_ptr<device_rows> upload_rows(const std::shared_ptr<gpu_session>& gpu, const detail::row_block& rows, const ir::type* row,
                                         const std::vector<input_column>& columns, const stream& s, runtime::run_context& context);

}  // namespace query::gpu_engine
