// Values that lie in a vertex's input as they are: the projections between are looked through.
//
// For aggregates that had rather have a value's address than its copy.
//
//   row_pipeline row = generate_pipeline(k, b, in, 0);
//   place_in_input(k, b, in, call.argument)     // "((const A20*)p.w[3])[i]", or "" if it is computed
#pragma once

#include <string>

#include "gpu_engine/codegen/row_function.hpp"

namespace query::gpu_engine {

// The text of the place from which row `i` of the branch's input gives `value`, an expression over the branch's rows.
std::string place_in_input(kernel_source& k, const planner::branch& b, const input_layout& in, const ir::node* value);

// The largest of 1, 2, 4, 8 and 16 that divides n: how values n bytes apart are aligned at least.
std::size_t alignment_of_stride(std::size_t n);

}  // namespace query::gpu_engine
