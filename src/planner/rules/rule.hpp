// What the rules share: the graph under rewriting, and traces of user functions that are made once for all rules.
//
//   void my_rule(rewriting& r) {
//     for (auto& v : r.graph.vertices) if (applies(*v)) note(r, v.get(), "my_rule: because ...");
//   }
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "planner/machine_graph.hpp"

namespace query::planner::rules {

class rewriting {
 public:
  rewriting(machine_graph& g, const plan_options& o) : graph(g), options(o) {}

  const ir::traced& trace(const detail::user_function& f);

  machine_graph& graph;
  const plan_options& options;
  // (v, w): all rows of v's table pass the test of the where w, which is therefore no filter above v.
  std::set<std::pair<const vertex*, const logical*>> passed;
  // The take that a vertex's limit comes from.
  std::map<const vertex*, const logical*> limited_by;
  std::optional<bool> order_asked;  // as_ordered() is said somewhere (remove_order)
  // By the rule at work: see remove_dropped (edges.hpp).
  std::unordered_set<const vertex*> dropped;

 private:
  std::unordered_map<const detail::user_function*, ir::traced> traces_;
};

// Leaves a note at a vertex; at the graph itself for null, where the result is read.
void note(rewriting& r, vertex* at, std::string text);
// "where @plan.cpp:12": a verb in notes.
std::string verb_at(const logical& n);

void merge_concat(rewriting& r);         // concatenations and unions of others of their kind
void remove_order(rewriting& r);         // sorts whose consumer does not care
void merge_distinct(rewriting& r);       // distinct of what is distinct already, or will be
void remove_partition(rewriting& r);     // partitions of what is partitioned so already, or will be made anew
void predicate_pushdown(rewriting& r);   // tests below sorts, sets, concatenations and joins
void limit_pushdown(rewriting& r);       // take(n) through verbs that keep order and number
void top_k(rewriting& r);                // order and take: keep the best rows only
void projection_pruning(rewriting& r);   // columns that nobody reads
void row_group_pruning(rewriting& r);    // groups of a file's rows that no reader wants, by statistics
void fuse_aggregate(rewriting& r);       // says which aggregates run inside the grouping
void keep_invariants(rewriting& r);      // row-wise work of loops on rows that do not change
void common_subplans(rewriting& r);      // says what is computed once for several readers
void hoist_invariants(rewriting& r);     // says what a loop keeps

}  // namespace query::planner::rules
