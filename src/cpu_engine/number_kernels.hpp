// Loops over columns of numbers that lie side by side, compiled once in the library for each type, and for plain x86-64 as for
// processors with AVX2: comparisons give a mask, folds read values and a mask.
//
// A mask has a byte for each row, 0xFF where it is marked and 0 elsewhere. No loop branches on a row. Kinds of bool are bytes here.
//
//   const number_kernels& k = kernels_here();
//   k.comparison(ir::op::lt, ir::kind::f64, true)(values, &constant, n, mask);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include <query/detail/plan.hpp>

namespace query::cpu {

inline constexpr std::size_t number_kinds = 11;  // from ir::kind::boolean on
constexpr std::size_t index_of(ir::kind k) { return static_cast<std::size_t>(k) - static_cast<std::size_t>(ir::kind::boolean); }

// A slice of rows on its way into a fold_state: what cpu/fold_loops.hpp keeps in registers, so that both add up in the same order.
struct fold_lanes {
  alignas(64) std::byte lanes[16 * 8];
  alignas(8) std::byte tail[8];  // of sums: starts as the state's, adds the rows behind the last full run of lanes
  std::uint64_t numbers;         // rows of min and max that are not NaN
};

// Loops take at most so many rows of a column at a time.
inline constexpr std::size_t number_rows = 1024;
// Folds take columns in turns of so many rows, all but the last of a slice; a multiple of the lanes. While one is read, loops fetch the
// column's next one: what is under way of all columns stays in the first-level cache.
inline constexpr std::size_t fold_run_rows = 512;

struct fold_loop {
  void (*begin)(fold_lanes& lanes, const detail::fold_state& state);
  void (*add)(fold_lanes& lanes, const void* values, const std::uint8_t* mask, std::size_t n);  // no mask: all rows
  void (*end)(const fold_lanes& lanes, std::uint64_t rows, detail::fold_state& state);          // rows: that were marked
};

struct number_kernels {
  using compare_loop = void (*)(const void* a, const void* b, std::size_t n, std::uint8_t* mask);
  using convert_loop = void (*)(const void* from, std::size_t n, void* to);

  std::array<std::array<compare_loop, number_kinds>, 6> constants, columns;  // by comparison, from ir::op::lt on
  std::array<std::array<convert_loop, number_kinds>, number_kinds> conversions;  // from, to; null where there is none
  std::array<fold_loop, number_kinds> sums, means, least, greatest;

  void (*negate)(std::uint8_t* mask, std::size_t n);
  void (*both)(std::uint8_t* mask, const std::uint8_t* other, std::size_t n);
  void (*either)(std::uint8_t* mask, const std::uint8_t* other, std::size_t n);
  std::size_t (*count)(const std::uint8_t* mask, std::size_t n);
  // The numbers of the rows that are marked, and how many there are; `to` has room for n + 8.
  std::size_t (*select)(const std::uint8_t* mask, std::size_t n, std::uint32_t* to);

  compare_loop comparison(ir::op what, ir::kind k, bool constant) const {
    return (constant ? constants : columns)[static_cast<std::size_t>(what) - static_cast<std::size_t>(ir::op::lt)][index_of(k)];
  }
  const fold_loop& fold(detail::fold_kind what, ir::kind k) const;  // of numbers: not count
};

// Those for the processor that runs the program.
const number_kernels& kernels_here();

// Behind kernels_here().
extern const number_kernels plain_number_kernels;
#if defined(__x86_64__)
extern const number_kernels avx2_number_kernels;
#endif

}  // namespace query::cpu
