// Where a vertex costs less: the one place that compares what engines expect, and decides.
//
// An engine beside the CPU's that can run a vertex gets it where its time, and what it would have to compile first, are no more than the
// CPU's time and the way of the rows that the engine has. Some vertices are weighed together, when each has been asked about: those of a
// loop, which would move rows in each round if they were apart; rows that are cached, with all that reads them (together.cpp).
//
//   weighing w(engine, session, saved);
//   if (const verdict v = w.asked(vertex)) ...         // it is the engine's; v.why says so
//   for (const opinion& o : w.together(graph)) ...     // o.v: o.answer, or better on the CPU
#pragma once

#include <vector>

#include "runtime/compile_debts.hpp"
#include "runtime/engine.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

// About a vertex that was placed: not yes means that the CPU is to take it.
struct opinion {
  planner::vertex* v = nullptr;
  verdict answer;
};

// With the way of rows that the other engine has.
double seconds_on_cpu(const cost_model& cpu, const cost_model& there, const work& w);

class weighing {
 public:
  // `saved`: the plan's, for when it runs.
  weighing(const engine& there, const session_state& session, compile_debts::of_plan& saved);
  const engine& by() const { return there_; }

  verdict asked(const planner::vertex& v) const;
  // Before any vertex was asked about: loops of so little work that the CPU is through with them before code for them is looked up.
  std::vector<opinion> not_worth_planning(const planner::machine_graph& g) const;
  // When all vertices have been placed.
  std::vector<opinion> together(const planner::machine_graph& g) const;

  double on_cpu(const work& w) const { return seconds_on_cpu(*cpu_, *costs_, w); }
  const cost_model& there() const { return *costs_; }
  const cost_model& cpu() const { return *cpu_; }
  // Seconds to add to the other engine's for code that is missing, where a run of all of them saves so many.
  struct placed_work {
    const planner::vertex* v = nullptr;
    work amount;
  };
  double charged(const std::vector<placed_work>& all, double saved) const;

 private:
  // False: nobody knows what anything takes, and whatever the engine can run is its.
  bool weighs() const { return cpu_ && costs_->known() && cpu_->known(); }
  void divide(const planner::branch& b, const work& w, verdict& answer, expected_costs& s, double& saved) const;

  const engine& there_;
  const session_state& session_;
  compile_debts::of_plan& saved_;
  const cost_model *costs_, *cpu_;
};

}  // namespace query::runtime
