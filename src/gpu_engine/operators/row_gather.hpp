// The kernel that writes rows in another order: row j of the result is row row_at(j) of the input. Rows that lie whole, and records of
// bytes a field a column, are copied by words; others as their columns say.
//
//   add_gather(k, "gather_rows", in, n.row, {.n = ..., .out = ..., .row_at = "order[j]"});
#pragma once

#include <string>

#include "gpu_engine/codegen/row_function.hpp"

namespace query::gpu_engine {

// Texts: how many rows there are, a pointer to the result, the number of the input's row that comes to place `j`.
struct gather_texts {
  std::string n, out, row_at;
};
void add_gather(kernel_source& k, const std::string& name, const input_layout& in, const ir::type* row, const gather_texts& text);

}  // namespace query::gpu_engine
