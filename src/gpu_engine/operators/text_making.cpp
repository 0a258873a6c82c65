// Row-wise work that makes strings, before a fold, a group_by or an order_by: collected, so that the kernels behind find them made.
#include <unordered_set>

#include "gpu_engine/operators/operators.hpp"

namespace query::gpu_engine {

namespace {

using planner::branch;
using planner::stage;

bool makes_texts(const ir::node* root) {
  std::vector<const ir::node*> stack = {root};
  std::unordered_set<const ir::node*> seen;
  while (!stack.empty()) {
    const ir::node* n = stack.back();
    stack.pop_back();
    if (!seen.insert(n).second) continue;
    if (n->type && n->type->k == ir::kind::string &&
        (n->what == ir::op::add || (n->what == ir::op::call && (n->text == "to_lower" || n->text == "to_upper"))))
      return true;
    stack.insert(stack.end(), n->kids.begin(), n->kids.end());
  }
  return false;
}

bool makes_texts(const branch& b) {
  kernel_source k;  // traces need one
  for (const planner::prefilter& p : b.prefilters)
    if (makes_texts((p.expression ? p.expression : k.trace(*p.from, *p.function)).root)) return true;
  for (const stage& s : b.stages)
    for (const detail::logical* n : s.nodes)
      if (s.what == stage::kind::rowwise && !n->functions.empty() && makes_texts(k.trace(*n, n->functions.front()).root)) return true;
  return false;
}

}  // namespace

branch plan_text_making(const branch& b) {
  if (!makes_texts(b)) return b;
  plan_collect_before(b);
  return behind(b);
}

branch run_text_making(const branch& b, vertex_run& run) {
  if (!makes_texts(b)) return b;
  run.supply(run_collect_before(b, run));
  return behind(b);
}

}  // namespace query::gpu_engine
