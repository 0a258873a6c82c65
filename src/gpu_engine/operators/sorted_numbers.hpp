// order_by of rows that are their own keys, plain numbers: the keys are sorted alone, without row numbers, and rows are made of them
// again.
//
// A floating key does not tell -0.0 from 0.0, nor one NaN from another, and the sort is stable. The kernel that counts digits looks
// for such rows; where there are any, sort_numbers() has done nothing and the rows are to be sorted as others are.
#pragma once

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// Could sort_numbers() sort the vertex? Its kernels are then generated, for a plan to know them.
bool plan_sorted_numbers(const planner::vertex& v, const input_layout& in);

// The same while a query runs: its kernels are begun for rows that lie so (kernels_ahead.hpp).
bool begin_sorted_numbers(const planner::vertex& v, const input_layout& in, vertex_run& run);

// The first `kept` of the rows in order. False: they are not sorted so.
bool sort_numbers(const planner::vertex& v, const device_rows& in, device_address rows_out, std::uint64_t kept, vertex_run& run);

}  // namespace query::gpu_engine
