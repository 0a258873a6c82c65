// What a partition sends for an exchange, as pages for each receiver. Rows that memory has no room for twice are put apart and written
// a piece at a time; the pages are the same.
//
//   send_rows(exchange, context.tables.at(&exchange), receivers, first_rows_of_ranges, {}, take, context);     // take(receiver, pages)
#pragma once

#include "runtime/heavy_keys.hpp"
#include "runtime/row_pages.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// begins: of an exchange by range; null: of others. heavy: of one by hash. Where all receivers get the same, take(0, pages).
void send_rows(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers, const detail::table* begins,
               const runtime::heavy_keys& heavy, runtime::bucket_sink take, runtime::run_context& context);

}  // namespace query::cpu
