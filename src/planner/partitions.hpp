// What a partition verb asks for, and how many partitions it may make: more is an error of the engine's, which the planner must not
// plan away.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <query/detail/plan.hpp>

#include "planner/machine_graph.hpp"

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

// The partition of over(key): those of windows, of rows with numbers. Later verbs put these back into order, and look at no partition.
inline bool is_of_windows(const detail::logical& n) { return n.what == detail::verb::partition && !n.count && n.seed; }

enum class partition_way : std::uint64_t { hash = 0, range = 1, runs = 2 };  // logical::step of a partition

// An exchange by range of places: of partitioned(n), whose partitions have about equal lengths.
inline bool sends_by_place(const vertex& v) { return v.moves == exchange::range && v.node && v.node->what == detail::verb::partition; }

// The verb that gives these rows their numbers: they tell the order of rows, and nothing else, so each partition of a cluster may have
// numbers of its own, greater than those of the partition before it. `all` marks it, which a select has no other use for.
inline detail::logical numbered_apart(const detail::logical& n) {
  detail::logical copy(n);
  copy.all = true;
  return copy;
}
inline bool is_numbered_apart(const detail::logical& n) { return n.what == detail::verb::select && n.all; }

// The partitions of a verb that lie in one of several partitions of a cluster: [begin, end), in their order.
struct owned_partitions {
  std::size_t begin = 0, end = 0;
  std::size_t size() const { return end - begin; }
};
inline owned_partitions owned_by(std::size_t owner, std::size_t partitions, std::size_t owners) {
  return {partitions * owner / owners, partitions * (owner + 1) / owners};
}
inline std::size_t owner_of(std::size_t partition, std::size_t partitions, std::size_t owners) {
  return ((partition + 1) * owners - 1) / partitions;
}

}  // namespace query::planner
