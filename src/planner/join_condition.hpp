// The condition of a join_where, taken apart: which of its conjuncts find candidates among sorted right rows.
//
// Between tracing and running. The CPU engine sorts the right rows by what this finds (cpu_engine/join_candidates.hpp), and explain()
// says it. Conjuncts are only ever used to leave pairs out: the whole condition is asked about every candidate.
//
//   join_condition c = take_apart(node.functions.front());     // l.begin <= r.time && r.time < l.end && l.id != r.id
//   c.ranges[0].right                                          // r.time, with bounds ge l.begin and lt l.end
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::planner {

// Numbers or strings of one type; expressions over row 0 (left) and row 1 (right) that fail for no row.
struct equal_values {
  const ir::node* left;
  const ir::node* right;
};
struct bound_of_right {
  ir::op is;  // lt, le, gt, ge: what the right value is to the left one
  const ir::node* left;
};
struct right_range {
  const ir::node* right;
  std::vector<bound_of_right> bounds;
};

struct join_condition {
  std::shared_ptr<ir::arena> traced, made;  // own all nodes here
  const ir::node* tests[2] = {};  // what a left, and a right, row must pass to have any match; null: nothing
  std::vector<equal_values> equal;
  std::vector<right_range> ranges;  // by the first one the right rows are sorted
  std::string all_because;          // why every pair is a candidate; empty where conjuncts find some

  bool sorts() const { return !equal.empty() || !ranges.empty(); }
};

join_condition take_apart(const detail::user_function& condition);

// Is the node a join_where, whose functions are the condition and the result?
inline bool has_condition(const detail::logical& n) { return n.what == detail::verb::cross_join && n.functions.size() == 2; }

// "right rows sorted by end; ...", for explain().
std::string text_of(const join_condition& c);

}  // namespace query::planner
