// The rewriting of a machine graph: one rule a file in rules/, run in the order of rules.cpp.
//
// Between splitting the plan (build_graph.cpp) and placing its vertices. Rules annotate (limits, prefilters, wanted fields)
// and drop vertices; they never reorder the code that the user's compiler made. Each that fires leaves a note:
//
//   v3 order_by_descending ... note: top_k: only the first 10 rows are wanted by take(10)
#pragma once

#include "planner/machine_graph.hpp"

namespace query::planner {

void apply_rules(machine_graph& g, const plan_options& options);

}  // namespace query::planner
