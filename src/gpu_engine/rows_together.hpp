// Rows that lie a field a column on the device, put together there: for functions that look through them row by row.
//
//   if (auto whole = rows_together(*kept, s, context)) ...   // null: the columns are no fields of the row
#pragma once

#include <memory>

#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

// Fields that have no column are zero. Strings and lists view the heaps of `columns`. Waits for the device. Throws out_of_memory.
std::shared_ptr<device_rows> rows_together(const device_rows& columns, const stream& s, runtime::run_context& context);

}  // namespace query::gpu_engine
