// The plan of a query as a run makes it, and what engines count of the run, without the rest of it.
#pragma once

#include <optional>
#include <string>

#include "planner/machine_graph.hpp"
#include "runtime/planned_query.hpp"
#include "runtime/session_state.hpp"

namespace query::gpu_engine {

template <class Q> std::string plan_of_run(const Q& q, const query::Session& s, std::optional<query::detail::fold_kind> fold = {}) {
  query::planner::trace_memo traces;
  const std::string terminal = fold ? query::runtime::fold_names[static_cast<std::size_t>(*fold)] : "rows";
  const auto how = fold ? query::planner::reading::folded : query::planner::reading::whole;
  const auto plan = query::runtime::plan_query(traces, q.to_pipe(), q.run_settings(), *s.state(), terminal, how, fold, {});
  s.state()->history.debts.begins(*plan.graph, plan.saved);
  return query::planner::explain(*plan.graph);
}

}  // namespace query::gpu_engine
