// Verify mode: native functions and their traces, side by side on a sample of rows.
#pragma once

#include "planner/machine_graph.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

void verify_functions(const planner::machine_graph& g, runtime::run_context& context);

}  // namespace query::cpu
