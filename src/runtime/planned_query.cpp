#include "runtime/planned_query.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <utility>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>

#include "planner/cluster_graph.hpp"
#include "planner/column_forms.hpp"
#include "planner/interpretation.hpp"
#include "planner/opaque_cut.hpp"
#include "planner/orders.hpp"
#include "planner/plan_shape.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/executor.hpp"
#include "runtime/gpu_placement.hpp"

namespace query::runtime {

using detail::fold_kind;
using detail::pipe;
using detail::settings;

std::shared_ptr<session_state> session_of(const settings& s) { return s && s->session ? s->session : Session::standard().state(); }

bool verifies(const session_state& session, const settings& s) { return session.options.verify || (s && s->verify); }

std::string stays_here::reason::place() const { return verb.empty() ? "" : verb + " (" + detail::place_of(where) + ")"; }
std::string stays_here::reason::text() const { return (verb.empty() ? "" : place() + ": ") + why; }

namespace {

planner::plan_options options_of(const session_state& s, const settings& of_query, const pipe& p) {
  planner::plan_options o;
  o.interpret = s.options.interpret;
  o.verify = verifies(s, of_query);
  o.checked = s.options.checked || o.verify;  // a sample is no proof that no row divides by zero
  // One may have been added; of one that was lost the placement tells.
  if (p.node->accelerated) o.gpu_status = s.gpu_to_ask() || gpu_is_lost(s) ? "" : s.why_no_gpu().why;
  o.settings = of_query;
  o.separate_result = !s.engines.empty();
  return o;
}

// A terminal verb that needs no engine: how many rows a table has.
bool counts_a_table(const planner::branch& result, std::optional<fold_kind> fold) {
  return fold == fold_kind::count && result.table && result.stages.empty() && result.prefilters.empty();
}
// Whether the terminal verb leaves nothing to the CPU's loops but to read what is there.
bool ends_on_gpu(const planner::machine_graph& g, std::optional<fold_kind> fold, const session_state& session) {
  if (!fold) return g.result.stages.empty() && g.result.prefilters.empty();
  const engine* const by = g.fold ? session.engine_named(g.fold->engine) : nullptr;
  return (by && by->is_gpu() && g.fold->shares.empty()) || counts_a_table(g.result, fold);
}

// QUERY_CLUSTER_REQUIRED=1: nobody wants to wait for one process without knowing.
void refuse_if_required(const stays_here::reason& r, planner::machine_graph& g, plan_for what) {
  const char* const required = std::getenv("QUERY_CLUSTER_REQUIRED");
  if (!required || std::string_view(required) != "1") return;
  if (what == plan_for::explain) {
    g.notes.push_back("QUERY_CLUSTER_REQUIRED=1 forbids one process: this query would throw when it runs");
    return;
  }
  const detail::logical& last = *g.root.node;
  const std::string why = "this query would run in one process, and QUERY_CLUSTER_REQUIRED=1 forbids that: " + r.why;
  if (r.verb.empty()) detail::fail(last.label, why, last.where);
  detail::fail(r.verb, why, r.where);
}

// Over the session's partitions.
void split_graph(planner::machine_graph& g, session_state& session, planner::reading how, plan_for what,
                 const planner::functions_here& here) {
  const cluster* const processes = session.processes.get();
  const auto can_travel = [&](const ir::type& row) { return processes ? processes->can_travel(row) : session.cpu->can_travel(row); };
  const auto why_rows_are_sent = [&](const planner::vertex& v) { return session.cpu->why_rows_are_sent(v); };
  const auto divides_file = [&](const planner::vertex& v) {
    const data::file_state file = session.cpu->state_of_file(v);
    return file.there && !file.whole && file.bytes >= session.least_divided_file && can_travel(*v.node->row);
  };
  const std::string whole = planner::split_over_partitions(
      g, {session.partitions, session.most_broadcast, can_travel, why_rows_are_sent, divides_file, how, &here});
  if (processes && !whole.empty())
    refuse_if_required({whole + ", such as those of a type that is not described (QUERY_RECORD)"}, g, what);
  for (const auto& v : g.vertices)
    if (const std::string last = v->sent_for ? session.history.pieces_of(v->sent_for, "exchange") : ""; !last.empty())
      v->notes.push_back("in the last run: " + last);
  planner::mark_streams(g, how);
  if (!processes || g.partitions == 1) return;
  g.processes = processes->name();
  g.transport = processes->transport();
}

// Which of the reasons still keeps the plan here, if functions run by their expressions in place of their closures; none: none. Those
// functions are added to `by_expression`.
std::optional<stays_here::reason> what_keeps(const planner::machine_graph& whole, const stays_here& e,
                                             planner::function_set& by_expression) {
  bool more = false;
  for (const stays_here::reason& r : e.because) {
    if (!r.function) return r;
    more = by_expression.insert(r.function).second || more;
  }
  if (!more) return e.because.front();
  // Between rounds, code of the user's may change what a function has captured by reference: expressions elsewhere would not know.
  const auto asks_user = [](const auto& v) {
    return v->node && (v->node->what == detail::verb::apply || (v->node->what == detail::verb::do_while && v->node->loop_test));
  };
  if (std::ranges::any_of(whole.vertices, asks_user)) {
    stays_here::reason r = e.because.front();
    r.why += ". Its expression cannot run in its place, as compiled code in between may change what it reads";
    return r;
  }
  const planner::left_compiled compiled = planner::run_by_expression(*planner::copy_of(whole).graph, by_expression);
  for (stays_here::reason r : e.because)
    if (const auto left = compiled.find(r.function); left != compiled.end()) {
      r.why += ". Its expression cannot run in its place: " + left->second;
      return r;
    }
  return std::nullopt;
}

// Functions of partition verbs and apply can run in the first process, and the rest of the query in all. True: some were added to `here`.
bool keep_here(const planner::machine_graph& whole, const stays_here& e, planner::functions_here& here) {
  bool more = false;
  for (const auto& v : whole.vertices) {
    const detail::logical* const n = v->node;
    if (!n || (n->what != detail::verb::partition && n->what != detail::verb::apply) || n->functions.empty()) continue;
    const void* const f = n->functions.front().f.get();
    for (const stays_here::reason& r : e.because)
      if (r.function == f) more = here.emplace(f, r.why).second || more;
  }
  return more;
}

// What other processes would not understand stays whole, in this one.
void split(planned_query& plan, session_state& session, planner::reading how, const planner::column_options& forms, bool verified,
           plan_for what) {
  const planner::graph_copy whole = planner::copy_of(*plan.graph);
  planner::function_set by_expression;
  planner::functions_here here;
  std::vector<std::string> notes;
  for (;;) {
    split_graph(*plan.graph, session, how, what, here);
    if (plan.graph->processes.empty()) return;
    try {
      plan.sent = session.processes->prepare(*plan.graph, forms, by_expression);
      if (const std::string lost = session.history.pieces_of(plan.graph->root.node.get(), "cluster"); !lost.empty())
        notes.push_back("in the last run: " + lost);
      plan.graph->notes.insert(plan.graph->notes.end(), notes.begin(), notes.end());
      return;
    } catch (const stays_here& e) {
      // Of verified queries all functions run as compiled.
      std::optional<stays_here::reason> stays;
      const bool again = keep_here(*whole.graph, e, here);
      if (!again) stays = verified ? e.because.front() : what_keeps(*whole.graph, e, by_expression);
      plan.graph = std::move(planner::copy_of(*whole.graph).graph);
      if (again) {
        if (!by_expression.empty()) (void)planner::run_by_expression(*plan.graph, by_expression);
        continue;
      }
      if (stays) {
        refuse_if_required(*stays, *plan.graph, what);
        plan.graph->notes.push_back("in one process: " + stays->text());
        planner::mark_streams(*plan.graph, how);
        return;
      }
      for (const stays_here::reason& r : e.because) {
        const std::string note = r.place() + " runs by its expression, as its closure cannot travel";
        if (std::ranges::find(notes, note) == notes.end()) notes.push_back(note);
      }
      (void)planner::run_by_expression(*plan.graph, by_expression);
    }
  }
}

planned_query plan_of(const pipe& p, const settings& s, session_state& session, const std::string& terminal, planner::reading how,
                      std::optional<fold_kind> fold, const engine_choices::choice& way, plan_for what) {
  const bool verified = verifies(session, s), here = way.by == engine_choices::way::cpu;
  bool there = way.by == engine_choices::way::gpu && gpu_to_plan_for(session);  // not lost since, and the plan is the same
  const bool divided = session.partitions > 1 && session.engines.empty();
  const std::string no_gpu = verified ? "verified queries run natively" : divided ? "partitions run on the CPU" : here ? way.why : "";
  planned_query plan;
  const bool gpu = p.node->accelerated && no_gpu.empty() && gpu_to_plan_for(session);
  std::uint64_t shape = 0;
  std::unique_ptr<planner::vertex> asked_whole;  // the fold that is not: engines count what it would have saved, when the plan runs
  const auto make = [&](bool separate, bool may_separate = true) {
    std::erase_if(plan.saved, [&](const auto& of) { return of.first != asked_whole.get(); });
    planner::plan_options options = options_of(session, s, p);
    options.separate_result = (options.separate_result || separate) && may_separate;
    plan.graph = planner::make_machine_graph(p, terminal, options);
    if (gpu) shape = planner::plan_shape(*plan.graph);
    there = there && shape == way.shape;
    if (there) place_on_gpu(*plan.graph, session, way.why, counts_a_table(plan.graph->result, fold) ? std::nullopt : fold);
    else place(*plan.graph, session, no_gpu, how, plan.saved);
  };
  std::string left_here;                // why rows are computed here
  std::vector<std::string> left_whole;  // why a fold is not divided
  std::optional<planner::expected_seconds> expected_of_rows;
  if (gpu && !fold) {
    make(true);
    // Where there is no such work, the plan is the same without a vertex for it: it is not made again.
    const planner::vertex* last = plan.graph->result.table;
    if (last && !last->node && last->engine == "cpu") {
      left_here = last->why;
      expected_of_rows = last->expected;
      if (const planner::vertex* before = last->inputs.front().table; before && before->cut_off) planner::drop_last(*plan.graph);
      else plan.graph = nullptr;
    }
  }
  // Engines that were added to the session take vertices; a share of a fold they take as such.
  if (fold && p.node->accelerated && !session.engines.empty() && !verified) {
    make(false, false);
    place(*plan.graph, session, *fold, nullptr, plan.saved);
    left_whole = plan.graph->fold->notes;
    if (plan.graph->fold->shares.empty()) {
      asked_whole = std::move(plan.graph->fold);
      plan.graph = nullptr;
    }
  }
  if (!plan.graph) make(false);
  if (!left_here.empty()) plan.graph->notes.push_back("rows: cpu: " + left_here);
  if (asked_whole) plan.graph->fold = std::move(asked_whole);
  if (gpu && fold && !there && (!plan.graph->fold || plan.graph->fold->shares.empty()))
    place(*plan.graph, session, *fold, session.gpu(), plan.saved);
  if (!left_whole.empty()) plan.graph->notes.push_back(terminal + ": " + left_whole.front());
  if (!gpu) {
    const std::string why = no_gpu.empty() ? gpu_status(session) : no_gpu;
    check_orders_of_result(plan.graph->result, why, &session);
    if (p.node->accelerated && session.engines.empty() && (fold || !plan.graph->result.stages.empty()))
      plan.graph->notes.push_back((fold ? terminal : std::string("rows")) + ": cpu: " + (no_gpu.empty() ? "" : "not on gpu: ") + why);
    const bool lost = p.node->accelerated && (fold || !plan.graph->result.stages.empty()) && gpu_is_lost(session);
    if (const std::string last = lost ? session.history.fallback_of(p.node.get(), fold ? terminal : "") : ""; !last.empty())
      plan.graph->notes.push_back((fold ? terminal : std::string("rows")) + ": the last run went to the cpu: " + last);
  }
  plan.expected = expected_of(*plan.graph, session);
  plan.expected.add(true, expected_of_rows);
  plan.expected.all_on_gpu &= plan.expected.elsewhere && ends_on_gpu(*plan.graph, fold, session);
  plan.expected.shape = shape;
  plan.by = way.by == engine_choices::way::gpu && !there ? engine_choices::way::asked : way.by;
  const bool folds_here = fold && (!plan.graph->fold || plan.graph->fold->engine == "cpu");
  const planner::column_options forms{how == planner::reading::columns, session.options.interpret, folds_here ? fold : std::nullopt};
  if (divided) split(plan, session, how, forms, verified, what);
  else planner::mark_streams(*plan.graph, how);
  // Where compiled functions are compared with their traces, all of them run as compiled.
  if (!verified) planner::choose_columns(*plan.graph, forms);
  if (plan.graph->fold) {
    plan.graph->fold->inputs.front() = plan.graph->result;
    plan.graph->fold->captures = plan.graph->captures;
  }
  return plan;
}

}  // namespace

planned_query plan_query(planner::trace_memo& traces, const pipe& p, const settings& s, session_state& session, const std::string& terminal,
                         planner::reading how, std::optional<fold_kind> fold, const engine_choices::choice& way, plan_for what) {
  const planner::trace_memo::scope traced(traces);
  const detail::division_scope divisions(detail::checks_functions(s));
  return plan_of(p, s, session, terminal, how, fold, way, what);
}

std::optional<std::uint64_t> known_query(const pipe& p, const settings& s, session_state& session, planner::reading how,
                                         std::optional<fold_kind> fold) {
  if (how == planner::reading::on_demand || !p.node->accelerated) return {};
  if (!session.engines.empty() || verifies(session, s) || !gpu_to_plan_for(session)) return {};
  return recognised(p, fold, session);
}

}  // namespace query::runtime
