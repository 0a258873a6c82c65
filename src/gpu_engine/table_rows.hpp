// The rows of a table in host memory as a block, which views them.
//
//   upload_rows(gpu, rows_of(context.fetched(kept)), row, columns, on, context);
#pragma once

#include <query/detail/plan.hpp>

namespace query::gpu_engine {

inline detail::row_block rows_of(const detail::table& t) { return {.rows = const_cast<void*>(t.rows), .n = t.n}; }

}  // namespace query::gpu_engine
