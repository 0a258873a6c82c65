// How much memory the table of a verb that could hand its rows on takes, before any of them is computed.
//
//   const auto most = most_table_bytes(vertex, context);
//   if (most && *most > room) ...                        // its reader had better take the rows as they come
#pragma once

#include <cstdint>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// With all that lies beside it while it is made. As if tests kept all rows; nothing where the number of rows is unknown.
std::optional<std::uint64_t> most_table_bytes(const planner::vertex& v, const runtime::run_context& context);

}  // namespace query::cpu
