#include "planner/rules.hpp"

#include "planner/rules/rule.hpp"

namespace query::planner {

void apply_rules(machine_graph& g, const plan_options& options) {
  rules::rewriting r(g, options);
  // Chains of them are one vertex for all rules below.
  rules::merge_concat(r);
  // Vertices that are not needed go first, so that predicates and limits find their way past them.
  rules::remove_order(r);
  rules::merge_distinct(r);
  rules::remove_partition(r);
  // Verify mode compares predicates where they stand: traced ones further down would hide the rows that tell.
  if (!options.verify) rules::predicate_pushdown(r);
  // Rows that every predicate above lets through count as wanted one by one.
  rules::limit_pushdown(r);
  rules::top_k(r);
  // What is read is known once the prefilters are in their places.
  rules::projection_pruning(r);
  if (!options.verify) rules::row_group_pruning(r);
  rules::fuse_aggregate(r);
  rules::keep_invariants(r);
  rules::common_subplans(r);
  rules::hoist_invariants(r);
}

}  // namespace query::planner
