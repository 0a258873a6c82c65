// How wide the numbers of rows are that sorts, build sides and tables of distinct rows carry: 32 bits as long as those do, as they are most
// of what these move.
//
//   const bool wide = wide_row_numbers(n);
#pragma once

#include <atomic>
#include <cstdint>

#include "gpu_primitives/radix_layout.cuh"

namespace query::gpu_engine {

// Tests: more rows than this have numbers of 64 bits, whatever they would need; of 2^30 rows no test can have many.
inline std::atomic<std::uint64_t> most_narrow_rows{~std::uint64_t{0}};

// Of rows that are sorted by digits, or that are a build side.
inline bool wide_row_numbers(std::uint64_t n) { return !gpu::radix_fits_32_bit_counts(n) || n > most_narrow_rows; }
// Of rows that stand in the slots of a table, beside one value that is no number.
inline bool wide_slot_numbers(std::uint64_t n) { return n >= 0xffffffffull || n > most_narrow_rows; }

}  // namespace query::gpu_engine
