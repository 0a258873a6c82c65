// How many partitions a verb may make: more is an error of the engine's, which the planner must not plan away.
#pragma once

#include <cstdint>

namespace query::planner {

inline constexpr std::uint64_t most_partitions = std::uint64_t{1} << 20;

}  // namespace query::planner
