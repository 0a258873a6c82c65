// Verbs that take whole inputs, one or two, and do what comes before themselves.
#pragma once

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

struct whole_input_verb {
  void (*plan)(const planner::vertex&) = nullptr;
  result_rows (*run)(const planner::vertex&, vertex_run&) = nullptr;
};
// Without functions for all other vertices.
whole_input_verb whole_inputs(const planner::vertex& v);

}  // namespace query::gpu_engine
