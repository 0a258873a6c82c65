// Verify mode: native functions and their traces, side by side on a sample of rows.
//
// What tracing cannot see, such as `if constexpr` on the type of a field, makes the two differ; here that becomes an error
// instead of an answer that depends on the engine. Compared are functions of rows (predicates, projections, keys of all
// verbs, both keys of joins), of pairs of rows (results of joins, cross_join and zip), and of groups.
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

// Before the vertex runs: its branches, then the functions of its verb on what they give. Throws user_error that names the
// verb, the call site, the row and both values.
void verify_vertex(const planner::vertex& v, runtime::run_context& context);
// The branch that the terminal verb reads.
void verify_branch(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context);

}  // namespace query::cpu
