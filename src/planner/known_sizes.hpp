// How many rows there are, as far as sources and limits tell before anything has run.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/machine_graph.hpp"

namespace query::planner {

// The length of a pipe over rows in memory, if none of its verbs drops or adds rows; otherwise nothing.
std::optional<std::uint64_t> length_of(const pipe& end);

// A join whose left rows look up a table of the right ones, one by one.
bool is_probe(const detail::logical& n);
// Do row-wise verbs and the left sides of joins begin with a stream whose length nobody knows?
bool may_be_endless(const pipe& end);

// That a branch begins with. At most, but for verbs that multiply rows; ~0: nobody knows.
std::uint64_t most_rows(const branch& b);

// Rows of a source that is here, with what is made of each: a table of so many bytes at most.
bool is_small(const vertex& table, std::uint64_t most_bytes);

}  // namespace query::planner
