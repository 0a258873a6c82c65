// What a partition verb asks for, and how many partitions it may make: more is an error of the engine's, which the planner must not
// plan away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <query/detail/plan.hpp>

namespace query::planner {

inline constexpr std::uint64_t most_partitions = std::uint64_t{1} << 20;
// Where the user names no number; not the number of threads, so that results are the same everywhere.
inline constexpr std::size_t default_partitions = 16;

// How many partitions `n`, a partition, makes of so many rows.
inline std::size_t partitions_of(const detail::logical& n, std::size_t rows) {
  constexpr std::size_t rows_in_cache = std::size_t{1} << 15;
  if (n.count) return static_cast<std::size_t>(n.count);
  return n.seed ? std::clamp<std::size_t>(rows / rows_in_cache, 1, static_cast<std::size_t>(n.seed)) : default_partitions;
}

enum class partition_way : std::uint64_t { hash = 0, range = 1, runs = 2 };  // logical::step of a partition

}  // namespace query::planner
