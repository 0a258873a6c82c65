// Code that another engine would have to compile first, and what its absence has cost on the CPU so far.
//
// A vertex whose code is not there would be sent to the CPU for ever if compiling were charged in full each time. So what the CPU has cost
// more so far is held against it: once that reaches the price of compiling, it is paid (ski rental: at most twice the least). Plans that
// are made to be shown do not count.
//
//   compile_debts::of_plan saved;
//   costs.to_compile = debts.charged(v, model.to_compile(v, work), cpu - there, saved);
//   debts.begins(graph, saved);                          // the plan runs, wherever it placed the vertex
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "planner/machine_graph.hpp"
#include "runtime/placement/cost_model.hpp"

namespace query::runtime {

// Thread-safe.
class compile_debts {
 public:
  struct saving {
    missing_code code;
    double seconds = 0;  // that a run saves elsewhere, once all is compiled
  };
  using of_plan = std::unordered_map<const planner::vertex*, saving>;  // of vertices that were weighed for it

  // Seconds to add to the other engine's.
  double charged(const planner::vertex& v, missing_code code, double saved, of_plan& plan) const;
  void begins(const planner::machine_graph& g, const of_plan& plan);

 private:
  mutable std::mutex lock_;
  std::unordered_map<std::string, double> lost_;  // seconds on the CPU that the other engine would have saved
};

}  // namespace query::runtime
