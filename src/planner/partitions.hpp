// What a partition verb asks for, and how many partitions it may make: more is an error of the engine's, which the planner must not
// plan away.
#pragma once

#include <cstddef>
#include <cstdint>

namespace query::planner {

inline constexpr std::uint64_t most_partitions = std::uint64_t{1} << 20;
// Where the user names no number; not the number of threads, so that results are the same everywhere.
inline constexpr std::size_t default_partitions = 16;

enum class partition_way : std::uint64_t { hash = 0, range = 1, runs = 2 };  // logical::step of a partition

}  // namespace query::planner
