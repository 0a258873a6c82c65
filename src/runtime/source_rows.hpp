// How many rows a branch begins with, where they lie in memory before it runs.
#pragma once

#include <cstdint>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

inline std::uint64_t size_of(const vertex_rows& r) { return r.here() ? r.rows.n : r.kept->size(); }
// Nothing: they come in pieces, or the vertex that gives them has not run.
std::optional<std::uint64_t> rows_lying_there(const planner::branch& b, const run_context& context);
// The same for profiles: of rows that come in pieces, the number that their source names, or 0.
std::uint64_t rows_into(const planner::branch& b, const run_context& context);

}  // namespace query::runtime
