// Verify mode: native functions and their traces, side by side on a sample of rows.
//
// What tracing cannot see, such as `if constexpr` on the type of a field, makes the two differ; here that becomes an error
// instead of an answer that depends on the engine.
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// Sends the first rows of a branch through its row-wise functions, then through `then` (functions of the branch's rows, of
// verb `reader`), natively and by expression. Throws user_error naming the verb, the call site, the row and both values.
void verify_branch(const planner::branch& b, const std::vector<planner::binding>& captures, const detail::logical* reader, runtime::run_context& context);

}  // namespace query::cpu
