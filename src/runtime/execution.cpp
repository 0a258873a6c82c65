#include "runtime/execution.hpp"

#include "data/arrow_table.hpp"
#include "ir/running.hpp"
#include "planner/interpretation.hpp"
#include "planner/cluster_graph.hpp"
#include "planner/column_forms.hpp"
#include "planner/machine_graph.hpp"
#include "planner/orders.hpp"
#include "planner/rules/edges.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/executor.hpp"
#include "runtime/gpu_placement.hpp"
#include "runtime/second_run.hpp"
#include "runtime/source_rows.hpp"

namespace query::runtime {

using detail::fold_kind;

namespace {

// A compiled loop over columns that filters copies all fields of the rows that pass.
bool makes_whole_records(const planner::branch& b) {
  if (b.stages.empty() || !b.prefilters.empty()) return false;
  const planner::stage& first = b.stages.front();
  return first.how == planner::form::native && first.native && first.native->reads_columns() && planner::rules::only_filters(first);
}
// Do the CPU engine's batches alone take the source's columns (cpu_engine/coded_columns.hpp)? Others read values where they lie: compiled
// loops, the build sides of joins, engines of their own, and processes and partitions, who get ranges of the columns.
bool takes_codes(const planner::machine_graph& g, const planner::branch& b, const planner::vertex* reader, const run_context& context) {
  if (context.verify || g.partitions > 1 || (!reader && (g.result_engine != "cpu" || (g.fold && g.fold->engine != "cpu")))) return false;
  if (reader && (reader->engine != "cpu" || !reader->shares.empty())) return false;
  if (planner::is_bare_source(b) && reader && (reader->in_place || &b != &reader->inputs.front())) return false;
  const planner::stage* const first = b.prefilters.empty() && !b.stages.empty() ? &b.stages.front() : nullptr;
  return !first || first->how != planner::form::native || !first->native || !first->native->reads_columns();
}
// Columns of Arrow data that engines do not read as they lie are converted before a run reads them.
void prepare_arrow_columns(planner::machine_graph& g, const run_context& context) {
  const auto parallel = [&](std::size_t n, function_ref<void(std::size_t)> task) { context.scheduler.for_each(n, task, context.cancel); };
  const auto prepare = [&](const planner::branch& b, data::arrow_table::reads how) {
    const data::arrow_table* const table = b.source ? data::arrow_table::of(*b.source) : nullptr;
    if (!table) return;
    const bool whole = context.verify || (makes_whole_records(b) && !(&b == &g.result && b.stages.size() == 1 && g.terminal == "count"));
    table->prepare(whole ? std::vector<bool>{} : b.wanted, how, parallel);
  };
  using reads = data::arrow_table::reads;
  planner::rules::each_branch(g, [&](const planner::branch& b, const planner::vertex* reader) {
    prepare(b, takes_codes(g, b, reader, context) ? reads::codes : reads::values);
  });
  for (const auto& v : g.vertices) {
    prepare(v->body_result, reads::values);
    prepare(v->test_result, reads::values);
  }
}

}  // namespace

execution::execution(const detail::pipe& p, const detail::settings& s, const std::string& terminal, planner::reading how,
                     std::optional<fold_kind> fold, const char* reader, detail::call_site where, bool as_they_come, bool begins)
    : last(p.node),
      terminal_(reader ? reader : fold ? terminal : std::string(ir::verb_of(*last))),
      where_(reader ? where : last->where),
      session(session_of(s)),
      watch(s),
      watched(followed(s)),
      meter(s),
      beat_(meter, *watch.flag),
      query_(known_query(p, s, *session, how, fold)),
      way_(query_ ? session->history.ways.choose(*query_) : engine_choices::choice{}),
      plan(plan_query(traces, p, s, *session, terminal, how, fold, way_)),
      graph(plan.graph.get()),
      threads_(*session->scheduler),
      context{threads_, session->pool, *watch.flag},
      as_they_come_(as_they_come) {
  session->history.debts.begins(*graph, plan.saved);
  context.verify = verifies(*session, s);
  context.local = session->cpu.get();
  context.temp = &session->temp;
  std::size_t runs = static_cast<std::size_t>(graph->result_partitions);
  for (const planner::vertex* v : graph->top) runs += static_cast<std::size_t>(v->partitions);
  meter.expect(runs);
  context.progress = &meter;
  if (session->history.keeps_profiles) {
    context.profile = std::make_shared<profiled_run>(*graph, session->pool, *session->scheduler, begin_);
    threads_.measure(context.profile.get());
  }
  if (begins) read([] {});
  serving_ = true;
}

execution::~execution() {
  if (partitions) {
    partitions->count_pieces();
    session->history.note_pieces(last.get(), "cluster", partitions->repairs());
  }
  for (const auto& [verb, pieces] : context.of_vertices) session->history.note_pieces(verb, "", pieces->taken());
  const detail::stop_scope scope(watch.flag->state());  // tables go, which may take longer than the query has time
  context.tables.clear();
}

execution::kept_profile::~kept_profile() {
  if (!of.context.profile) return;
  of.threads_.measure(nullptr);
  of.context.profile->end(*of.last, of.graph->terminal);
  of.session->history.profiles.keep(std::move(of.context.profile));
}

void execution::gave(std::uint64_t rows) const {
  if (context.profile) context.profile->of_result().gave(rows, rows * last->row->size);
}
void execution::ran_on(std::string_view engine) const {
  if (context.profile) context.profile->of_result().engine = engine;
}

std::unique_ptr<deadline_watch::watched> execution::followed(const detail::settings& s) {
  watch.flag->check_divisions(detail::checks_functions(s));
  watch.flag->count_in(session->pool);
  try {
    watch.flag->check();
  } catch (const unplaced_cancelled& e) {
    fail_at(e, terminal_, where_);
  }
  return session->deadlines.follow(*watch.flag);
}

void execution::finished() {
  meter.finished();
  if (!query_) return;
  const double passed = static_cast<double>(ticks() - begin_) * seconds_a_tick();
  plan.expected.all_on_gpu &= !fell_back;
  if (fell_back && plan.by == engine_choices::way::gpu) session->history.ways.forget(*query_);
  else session->history.ways.ran(*query_, plan.by, plan.expected, passed);
}

std::optional<std::uint64_t> execution::rows_there() const {
  const planner::branch& b = graph->result;
  const auto it = b.stages.empty() && b.prefilters.empty() ? context.tables.find(b.table) : context.tables.end();
  if (it == context.tables.end()) return std::nullopt;
  if (partitions) return partitions->rows_of_result();
  return size_of(it->second);
}

pass_clock execution::clock(std::string_view way, std::optional<fold_kind> fold) const {
  const bool counts = last->accelerated && divisible(graph->result);
  return {counts ? &graph->result : nullptr, way, context.scheduler.concurrency(), fold};
}

void execution::run_vertices() {
  if (have_run_) return;
  prepare_arrow_columns(*graph, context);
  if (graph->partitions > 1 && !partitions) partitions = make_partitions(*graph, *session, context, plan.sent);
  leader = std::make_unique<executor>(*graph, *session, context, partitions.get());
  hands_on_ = as_they_come_ && partitions && !context.verify && planner::rows_come_in_pieces(*graph);
  if (partitions) partitions->hand_on(hands_on_ ? graph->result.table : nullptr);
  if (partitions) partitions->leads(*leader);
  leader->run_vertices();
  fell_back |= leader->fell_back();
  if (context.verify && partitions) partitions->verify_result();
  else if (context.verify) session->cpu->verify(graph->result, graph->captures, context);
  have_run_ = true;
}

bool execution::runs_again(const rows_lost& lost) {
  if (!prepare_second_run(*graph, *session, context, lost)) return false;
  have_run_ = false;
  if (context.profile) context.profile->clear();
  return fell_back = true;
}

void execution::named(const rows_lost& lost) const {
  throw resource_error(ir::while_running(lost.what(), *last));
}

}  // namespace query::runtime
