// What on(engine) orders: the engine of one verb, found among the verbs that a vertex or a branch runs; and what is permitted.
//
//   if (const logical* n = ordered_to(vertex, engine::cpu)) v.why = "on(engine::cpu), of " + n->label;
#pragma once

#include "planner/machine_graph.hpp"

namespace query::planner {

// The first verb that was ordered there; null if none was.
const logical* ordered_to(const branch& b, query::engine e);
const logical* ordered_to(const vertex& v, query::engine e);
// Is the GPU demanded, by on(engine::gpu) or require_gpu()?
bool demands_gpu(const branch& b);
bool demands_gpu(const vertex& v);
// Does as_accelerated() apply to the last step of the branch, or to one below it?
bool accelerated(const branch& b);

}  // namespace query::planner
