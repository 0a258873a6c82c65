// How much work a vertex is, judged from the plan before anything runs: rows of its sources (row_counts), bytes that cross the bus,
// operations of its expressions.
//
//   if (const auto w = work_of(vertex, &e)) ...  // nothing where it is not known how many rows there will be, and in loops: those are
//                                              // weighed as a whole (together.hpp)
#pragma once

#include <functional>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/engine.hpp"
#include "runtime/placement/row_counts.hpp"

namespace query::runtime {

// Groups that stay in the caches of the CPU and in shared memory.
inline constexpr double few_groups = 2048;

// `by`: the engine beside the CPU's that may take it, and has rows already. Null: there is none.
std::optional<work> work_of(const planner::vertex& v, const engine* by = nullptr);
// Operations of a vertex's expressions, as far as they are known; of a loop's vertex too.
double operations_in(const planner::vertex& v, const cost_model* there);

// The same of a vertex among others: where tables lie, and what comes anew in each round of a loop.
struct surroundings {
  const cost_model* there = nullptr;                           // of the engine beside the CPU's
  row_counts* rows = nullptr;
  std::function<bool(const planner::vertex&)> on_device;       // does it run there?
  std::function<bool(const planner::branch&)> stays;           // is what the branch reads the same in all rounds? Empty: there are none
  bool variable_on_device = false;                             // the rows of placeholders
  bool keeps_builds = false;                                   // are tables of build sides that stay kept? So the GPU does, not the CPU
};
struct round_work {
  work each, once;  // `once`: what invariants cost on their way, and what is made of them and kept, in the first round
};
std::optional<work> fold_among(const planner::branch& b, const std::vector<planner::binding>& captures, bool counts, const surroundings& s);
std::optional<round_work> work_among(const planner::vertex& v, const surroundings& s);

}  // namespace query::runtime
