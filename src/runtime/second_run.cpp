#include "runtime/second_run.hpp"

#include <algorithm>

#include "planner/interpretation.hpp"
#include "planner/orders.hpp"
#include "runtime/executor.hpp"

namespace query::runtime {

namespace {

using detail::verb;

// What a function makes row by row may come from a channel that has handed its rows out: `generate` over an edge of a dataflow.
bool may_be_read_again(const planner::branch& b) {
  return !b.source || b.source->what != verb::source_stream || b.source->count > 0;
}

bool runs_by(const planner::vertex& v, const std::string& engine) {
  return v.engine == engine ||
         std::any_of(v.shares.begin(), v.shares.end(), [&](const planner::engine_share& s) { return s.engine == engine; });
}

}  // namespace

bool prepare_second_run(planner::machine_graph& g, session_state& session, run_context& context, const rows_lost& lost) {
  // A loop demands the GPU for its body and condition.
  const auto ran_there = [&](const planner::vertex& v) {
    const auto there = [&](const planner::vertex* w) { return w->engine == lost.engine; };
    return there(&v) || std::any_of(v.body.begin(), v.body.end(), there) || std::any_of(v.test.begin(), v.test.end(), there);
  };
  const auto refuses = [&](const auto& v) {
    return (ran_there(*v) && planner::demands_gpu(*v)) ||
           !std::all_of(v->inputs.begin(), v->inputs.end(), may_be_read_again);
  };
  if (std::any_of(g.vertices.begin(), g.vertices.end(), refuses) || !may_be_read_again(g.result)) return false;
  if (g.fold && refuses(g.fold)) return false;
  const auto leave_to_cpu = [&](planner::vertex& v) {
    if (!runs_by(v, lost.engine)) return;
    const auto [last, terminal] = known_by(g, v);
    if (last) session.history.note_fallback(last, terminal, lost.what());
    v.engine = "cpu";
    v.shares.clear();
    if (v.folds) planner::check_traps(g.result);  // which the CPU reads
    else planner::check_traps(v);
  };
  for (const auto& v : g.vertices) {
    if (v->node && v->node->what == verb::cached) session.forget_cached(*v->node, lost.engine);
    leave_to_cpu(*v);
  }
  if (g.fold) leave_to_cpu(*g.fold);
  context.tables.clear();
  context.too_large.clear();
  context.variables.clear();
  context.copies.clear();
  return true;
}

}  // namespace query::runtime
