// How many rows of a table its reader wants: what limit_pushdown and top_k share.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/rules/edges.hpp"
#include "planner/rules/rule.hpp"

namespace query::planner::rules {

inline constexpr std::uint64_t no_limit = ~0ull;

struct wanted_rows {
  std::uint64_t first = no_limit;   // only the first so many
  const logical* because = nullptr; // of this verb
};

// Readers come after what they read: asked from the last vertex to the first, limits of readers are known.
wanted_rows rows_wanted(const rewriting& r, const edge_index& edges, const vertex& v);

}  // namespace query::planner::rules
