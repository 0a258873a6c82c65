// What runs find out for the plans to come: how many rows came out of the row-wise verbs over a source.
//
// A query is often built anew for each run, so its functions' types and its rows' place in memory say whether it is the same one; values
// that functions capture do not. One memory for the process, of the last few thousand.
//
//   note_seen(branch, table.n, context);              // after a run that gave all rows
//   if (const auto a_row = seen_of(branch, i)) ...    // for each row of the source, behind stage i
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::runtime {

inline std::uint64_t size_of(const vertex_rows& r) { return r.here() ? r.rows.n : r.kept->size(); }

// `out`: rows, of all that the branch gives. Thread-safe.
void note_seen(const planner::branch& b, std::uint64_t out, const run_context& context);
std::optional<double> seen_of(const planner::branch& b, std::size_t stage);

}  // namespace query::runtime
