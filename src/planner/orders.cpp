#include "planner/orders.hpp"

namespace query::planner {

const logical* ordered_to(const branch& b, query::engine e) {
  if (b.source && b.source->ordered_to == e) return b.source;
  for (const prefilter& p : b.prefilters)
    if (p.from->ordered_to == e) return p.from;
  for (const stage& s : b.stages) {
    if (s.join && s.join->ordered_to == e) return s.join;
    for (const logical* n : s.nodes)
      if (n->ordered_to == e) return n;
  }
  return nullptr;
}

const logical* ordered_to(const vertex& v, query::engine e) {
  if (v.node && v.node->ordered_to == e) return v.node;
  for (const branch& b : v.inputs)
    if (const logical* n = ordered_to(b, e)) return n;
  return nullptr;
}

bool demands_gpu(const branch& b) {
  if (ordered_to(b, query::engine::gpu) || (b.source && b.source->gpu_required)) return true;
  for (const stage& s : b.stages) {
    if (s.join && s.join->gpu_required) return true;
    for (const logical* n : s.nodes)
      if (n->gpu_required) return true;
  }
  return false;
}

bool demands_gpu(const vertex& v) {
  if (v.node && (v.node->gpu_required || v.node->ordered_to == query::engine::gpu)) return true;
  for (const branch& b : v.inputs)
    if (demands_gpu(b)) return true;
  return false;
}

bool accelerated(const branch& b) {
  if (!b.stages.empty()) {
    const stage& last = b.stages.back();
    return last.what == stage::kind::probe ? last.join->accelerated : last.nodes.empty() ? false : last.nodes.back()->accelerated;
  }
  return b.source ? b.source->accelerated : b.table->accelerated;
}

}  // namespace query::planner
