// What exchanges between partitions send: rows written to pages (runtime/row_pages.hpp), and made of these again.
//
//   runtime::row_pages sent = write_pages(slice(rows, first, n), context);
//   detail::table received = read_pages(type, pages, context);     // the rows of all pages, in their order
#pragma once

#include <span>

#include "runtime/row_pages.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

runtime::row_pages write_pages(const detail::table& rows, runtime::run_context& context);
void write_pages(const detail::table& rows, runtime::page_sink take, runtime::run_context& context);  // some at a time
// The rows of all pages: side by side, or, where memory may have no room for them, made as they are read.
runtime::vertex_rows receive_pages(const ir::type* row, runtime::page_feed& pages, runtime::run_context& context);
detail::table read_pages(const ir::type* row, std::span<const runtime::row_page* const> pages, runtime::run_context& context);

}  // namespace query::cpu
