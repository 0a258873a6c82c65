// Rows that lie side by side as an Arrow struct array, for writers of files. Strings and lists have offsets of 64 bits.
//
//   ArrowSchema schema; describe_rows(row, schema);
//   ArrowArray batch; export_rows(row, rows, n, batch);   // copies
#pragma once

#include <cstddef>

#include <query/arrow.hpp>
#include <query/detail/type.hpp>

namespace query::data {

void describe_rows(const ir::type* row, ArrowSchema& to);
void export_rows(const ir::type* row, const void* rows, std::size_t n, ArrowArray& to);

}  // namespace query::data
