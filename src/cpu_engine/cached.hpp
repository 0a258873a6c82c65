// cached(): the rows of a query that the session keeps. Where they may be too many for its memory, as a stored_sequence.
#pragma once

#include "runtime/run_context.hpp"

namespace query::cpu {

runtime::vertex_rows cached_rows(const planner::vertex& v, runtime::run_context& context);

}  // namespace query::cpu
