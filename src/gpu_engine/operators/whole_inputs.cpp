#include "gpu_engine/operators/whole_inputs.hpp"

namespace query::gpu_engine {

using detail::verb;

whole_input_verb whole_inputs(const planner::vertex& v) {
  if (!v.node) return {};
  switch (v.node->what) {
    case verb::join:
      return {plan_outer_join, run_outer_join};
    case verb::group_join:
      return {plan_group_join, run_group_join};
    case verb::cross_join:
      return {plan_cross_join, run_cross_join};
    case verb::distinct:
    case verb::union_with:
    case verb::intersect:
    case verb::except:
      return {plan_sets, run_sets};
    case verb::take:
    case verb::skip:
    case verb::take_last:
    case verb::skip_last:
    case verb::take_while:
    case verb::skip_while:
    case verb::default_if_empty:
      return {plan_slice, run_slice};
    case verb::concat:
    case verb::reverse:
    case verb::sample:
    case verb::zip:
    case verb::chunk:
    case verb::window:
      return {plan_gathered, run_gathered};
    case verb::partition:
      return {plan_partition, run_partition};
    default:
      return {};
  }
}

}  // namespace query::gpu_engine
