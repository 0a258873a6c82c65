// Pages of rows in messages: the rest of a message is the page.
#pragma once

#include <cstdint>
#include <cstring>

#include "cluster/bytes.hpp"
#include "runtime/buffer_pool.hpp"
#include "runtime/row_pages.hpp"

namespace query::cluster {

inline runtime::row_page read_page(byte_reader& from, std::uint64_t rows, runtime::buffer_pool& pool) {
  runtime::row_page page;
  page.rows = rows;
  const auto bytes = from.get_raw(from.left());
  page.bytes = pool.allocate(bytes.size());
  if (!bytes.empty()) std::memcpy(page.bytes.data(), bytes.data(), bytes.size());
  return page;
}

}  // namespace query::cluster
