// Large tables of distinct keys, built from rows that were scattered first: each part of the table is then written while it lies in the
// cache (gpu_primitives/join_unique.cuh). Between join.cpp and the program join_program::scattered.
//
//   const std::uint32_t parts = scattered_parts(kernels, table_bits, run);
//   if (!parts || !build_scattered(scattered_kernels, parts, inputs, arguments, run)) ...the rows as they lie
#pragma once

#include "gpu_engine/operators/grouped_build.hpp"

namespace query::gpu_engine {

// Tables of so many bytes do not stay in the cache as a whole.
inline constexpr std::uint64_t least_scattered_table = std::uint64_t{128} << 20;

// Bits by which to scatter the rows of a table of 2^table_bits slots; 0: they are not.
std::uint32_t scattered_parts(const join_kernels& unique, std::uint32_t table_bits, vertex_run& run);

// Gives the device all that builds arguments[join_slots]; what it needs beside the table is back when it returns. False, and nothing was
// given: there is not enough memory.
bool build_scattered(const join_kernels& scattered, std::uint32_t parts, std::span<const device_rows* const> inputs, join_arguments& args,
                     vertex_run& run);

}  // namespace query::gpu_engine
