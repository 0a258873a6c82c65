// Rows as bytes that hold all that the rows own, for another partition of the cluster graph: in memory of its own, here or elsewhere.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/buffer_pool.hpp"

namespace query::runtime {

inline constexpr std::size_t page_bytes = std::size_t{256} << 10;

// Rows one after the other, in their order; of about page_bytes, or one row that is larger.
struct row_page {
  buffer bytes;
  std::size_t rows = 0;
  bool repeatable = true;  // the same rows, computed again, have the same bytes
};
using row_pages = std::vector<row_page>;

}  // namespace query::runtime
