// order_by of rows that are a plain number and up to 8 bytes beside it: these travel with the key through the passes, and the last one
// writes the rows. What else order_by does, to sort the rows' numbers and to gather the rows by them, reads each row from wherever it lies.
//
// The programs are the library's own (word_sort.hpp). A floating key does not tell -0.0 from 0.0, nor one NaN from another: where rows have
// such keys, they are sorted as others are (sorted_numbers.hpp).
#pragma once

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

// The first `kept` of the rows in order. False: they are not sorted so, for what they are, for their number, or for lack of memory.
bool sort_pairs(const planner::vertex& v, const device_rows& in, device_address rows_out, std::uint64_t kept, vertex_run& run);

}  // namespace query::gpu_engine
