// How much work a vertex is, judged from the plan before anything runs: rows of its sources (row_counts), bytes that cross the bus,
// operations of its expressions.
//
//   if (const auto w = work_of(vertex)) ...    // nothing where it is not known how many rows there will be, and in loops: those are
//                                              // weighed as a whole (together.hpp)
#pragma once

#include <functional>
#include <optional>

#include "gpu_engine/placement/costs.hpp"
#include "gpu_engine/placement/row_counts.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

// Groups that stay in the caches of the CPU and in shared memory.
inline constexpr double few_groups = 2048;

std::optional<work> work_of(const planner::vertex& v);
// Operations of a vertex's expressions, as far as they are known; of a loop's vertex too.
double operations_in(const planner::vertex& v);

// The same of a vertex among others: where tables lie, and what comes anew in each round of a loop.
struct surroundings {
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

}  // namespace query::gpu_engine
