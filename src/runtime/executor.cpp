#include "runtime/executor.hpp"

#include <algorithm>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include <query/detail/division_watch.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "ir/running.hpp"
#include "planner/interpretation.hpp"
#include "planner/names.hpp"
#include "planner/orders.hpp"
#include "planner/projection.hpp"
#include "planner/trace_memo.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/materialisation.hpp"
#include "runtime/part_done.hpp"
#include "runtime/partitions.hpp"
#include "runtime/rounds_run.hpp"
#include "runtime/run_history.hpp"
#include "runtime/source_rows.hpp"
#include "runtime/table_ports.hpp"

namespace query::runtime {

using detail::table;
using detail::verb;
using planner::vertex;

// Cached rows that an earlier run of the program has left in files are the session's from now on.
void executor::find_checkpoints() {
  for (const auto& v : graph_->vertices) {
    if (!v->node || v->node->checkpoint.empty() || v->node->what != verb::cached || v->partitions != 1) continue;
    if (!v->slots.empty())
      detail::fail("checkpoint", "rows that change in each round of a loop cannot have one: take it behind the loop", v->node->where);
    if (session_->find_cached(*v->node, v->ordered)) continue;
    checkpoint& files = checkpoints_.try_emplace(v.get(), *v->node, *session_, *context_).first->second;
    if (auto known = files.newest(v->row())) session_->keep_cached(*v->node, {std::move(known->rows), v->ordered, "cpu"});
    session_->history.note_pieces(v->node, "", files.told());
  }
}

void executor::begin() {
  checkpoints_.clear();
  if (context_->partition == 0) find_checkpoints();
  cached_ = find_cached_vertices(*graph_, *session_, context_->partition,
                                 [&](const vertex& v) { return !over_ || over_->others_have(v); });
  if (over_)
    for (const vertex* v : cached_.anew) {
      session_->forget_parts(*v->node);
      over_->make_anew(*v);
    }
  leave_to_joins(*graph_, *context_);
}

void executor::run_vertices() {
  begin();
  for (const vertex* v : graph_->top) {
    reached_ = v;
    if (!v->streamed && !v->in_place && !cached_.spared.contains(v) && !context_->left_to_joins.contains(v)) run(*v);
    else if (context_->progress)
      for (int p = 0; p < v->partitions; ++p) context_->progress->vertex_done();
  }
  reached_ = nullptr;
}

void executor::run_in_round(const std::vector<vertex*>& vertices) {
  for (const vertex* v : vertices)
    if (!v->streamed && !v->in_place) run(*v);
}

namespace {
// What went wrong, and at which verb: the innermost one, where vertices run within a loop's.
std::string with_verb(const resource_error& e, const vertex& v) {
  const detail::logical* n = last_verb(v);
  return n ? ir::while_running(e.what(), *n) : e.what();
}

// The bytes of a row as the vertex gives it: a record, or columns.
std::uint64_t row_bytes(const vertex& v) {
  if (!v.gives_columns) return v.row()->size;
  std::uint64_t bytes = 0;
  for (const planner::projected_part& p : v.gives_columns->parts) bytes += p.type->size;
  return bytes;
}

// Of rounds that an engine repeats by itself: where it fails its rows are no round's.
template <class F> auto repeated_by(const engine& e, F&& f) {
  try {
    return f();
  } catch (const engine_failure& trouble) {
    throw rows_lost(trouble.what(), std::string(e.name()));
  } catch (const internal_error& trouble) {
    throw rows_lost(trouble.what(), std::string(e.name()));
  }
}
}  // namespace

void executor::in_name_of(const vertex& v, function_ref<void()> f) {
  const profiled_run::scope now(context_->profile.get(), v.number);
  try {
    const detail::division_watch watch;
    f();
    watch.check();
  } catch (const detail::unplaced_error& e) {
    if (!v.node) throw;
    detail::fail_at(e, *v.node);
  } catch (const unplaced_cancelled& e) {
    if (const detail::logical* verb = last_verb(v)) fail_at(e, *verb);
    throw;
  } catch (const rows_lost& e) {
    throw rows_lost(with_verb(e, v), e.engine);
  } catch (const resource_error& e) {
    throw resource_error(with_verb(e, v));
  }
}

void executor::run_here(const vertex& v) {
  context_->cancel.check();
  for (const auto& joined : context_->joined_apart)
    std::erase_if(context_->tables, [&](const auto& t) { return t.second.kept == joined.second; });
  context_->joined_apart.clear();
  in_name_of(v, [&] {
    if (v.kept_if_it_fits) keep_if_it_fits(v);
    else if (!left_to_reader(v, *session_, *context_)) context_->tables[&v] = compute(v);
    if (v.node && v.node->what == verb::apply) planner::trace_memo::forget_here();
  });
  if (profiled_vertex* r = context_->profile ? context_->profile->at(v.number) : nullptr)
    if (const auto rows = context_->tables.find(&v); rows != context_->tables.end())
      r->gave(size_of(rows->second), size_of(rows->second) * row_bytes(v));
  if (context_->progress) context_->progress->vertex_done();
}

// Asked at every vertex, and the graph stays as it is while it runs.
bool executor::all_on_cpu() {
  if (!all_on_cpu_)
    all_on_cpu_ = graph_->result_engine == "cpu" && std::all_of(graph_->vertices.begin(), graph_->vertices.end(), [](const auto& w) {
      return w->engine == "cpu" && w->shares.empty();
    });
  return *all_on_cpu_;
}

bool executor::only_the_cpu_reads(const vertex& v) const {
  return v.engine == "cpu" && std::none_of(graph_->vertices.begin(), graph_->vertices.end(), [&](const auto& w) {
    return w->engine != "cpu" && std::any_of(w->inputs.begin(), w->inputs.end(), [&](const planner::branch& b) { return b.table == &v; });
  });
}

// The rows of a loop's invariant work may take half of the session's memory; the rounds need the rest. What does not fit is
// computed by each reader, which only the CPU engine can.
void executor::keep_if_it_fits(const vertex& v) {
  context_->too_large.erase(&v);
  const std::size_t most = context_->pool.limit();
  const bool must = !only_the_cpu_reads(v);
  try {
    vertex_rows rows = compute(v);
    if (!most || must || context_->pool.used() <= most / 2) {
      context_->tables[&v] = std::move(rows);
      return;
    }
  } catch (const resource_error&) {
    if (must) throw;
  }
  context_->tables.erase(&v);
  context_->too_large.insert(&v);
}

vertex_rows executor::compute(const vertex& v) {
  vertex_rows rows = computed(v);
  if (rows.kept && !rows.kept->stays() && !all_on_cpu()) context_->fetched(rows);  // engines know rows side by side, and their own
  return rows;
}

vertex_rows executor::computed(const vertex& v) {
  if (v.node && v.node->what == verb::do_while) return run_loop(v);
  if (!is_cached(v)) return run_placed(v);
  if (const auto it = cached_.found.find(&v); it != cached_.found.end()) return brought_there(v, it->second);
  const auto turn = session_->computing(*v.node);
  std::unique_lock hold(*turn, std::defer_lock);
  while (!hold.try_lock()) {  // g++'s thread sanitizer does not know the wait of a timed mutex
    context_->cancel.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const cached_part part = part_of(v, context_->partition);
  if (auto found = session_->find_cached(*v.node, v.ordered, part)) return brought_there(v, std::move(*found));
  if (context_->surely_cached.contains(&v)) throw internal_error("query: cached rows are gone that a query begins with");
  vertex_rows rows = run_placed(v);
  session_->keep_cached(*v.node, {rows, v.ordered, v.engine}, part);
  if (const auto files = checkpoints_.find(&v); files != checkpoints_.end()) {
    files->second.keep(1, rows);
    files->second.wait();
    session_->history.note_pieces(v.node, "", files->second.told());
  }
  return rows;
}

// Rows in host memory that an engine now wants of its own, as as_accelerated() was said behind cached(): it gets them, once, and the
// session has them in both places.
vertex_rows executor::brought_there(const vertex& v, session_state::cached_rows found) {
  if (v.engine == "cpu" || v.engine == found.engine || found.rows.kept || !v.shares.empty()) return found.rows;
  const auto held = [&] {
    brought_.push_back(std::make_unique<vertex>());
    return brought_.back().get();
  };
  vertex *from = held(), *copy = held();
  from->inputs.emplace_back().row = v.row();
  context_->tables[from] = found.rows;
  copy->node = v.node;
  copy->engine = v.engine;
  copy->accelerated = v.accelerated;
  copy->inputs.emplace_back().table = from;
  copy->inputs.front().row = v.row();
  found.rows.kept = run_placed(*copy).kept;
  context_->tables.erase(from);
  found.engine = v.engine;
  session_->keep_cached(*v.node, found);
  return found.rows;
}

vertex_rows executor::run_placed(const vertex& v) {
  vertex_rows rows = run_by_engines(v);
  if (!v.node && v.inputs.size() == 1 && v.limit == ~0ull) note_selectivity(v.inputs.front(), size_of(rows), *context_);
  return rows;
}

// The rows may hold a division by zero, or a null whose value is taken, that the engine has met, or has not come to.
static vertex taken_over_by_cpu(const vertex& v) {
  vertex checked = v;
  planner::check_traps(checked);
  return checked;
}

// While an error is caught: that of the CPU, which names the row. Where the CPU cannot run, as a stream has been read, what is caught.
vertex_rows executor::found_by_cpu(const vertex& v) {
  const std::exception_ptr caught = std::current_exception();
  fell_back_ = true;
  ran_on(v, "cpu");
  try {
    return run_on(*session_->cpu, taken_over_by_cpu(v), *session_->cpu, *context_);
  } catch (const resource_error&) {
  }
  std::rethrow_exception(caught);
}

// Other engines do not count the rows that they read: all rows of their inputs count.
void executor::ran_on(const vertex& v, std::string_view engine) const {
  profiled_vertex* const r = context_->profile ? context_->profile->at(v.number) : nullptr;
  if (!r) return;
  r->engine = engine;
  if (engine == "cpu") return;
  for (const planner::branch& b : v.inputs) r->add_rows_in(rows_into(b, *context_));
}

vertex_rows executor::run_by_engines(const vertex& v) {
  const struct until_it_has_run {
    const vertex& v;
    begun_streams& begun;
    ~until_it_has_run() {
      for (const planner::branch& b : v.inputs) begun.forget(b.number);
    }
  } begun_streams_of{v, context_->begun};
  pass_clock clock(v.accelerated && divisible(v) ? &v.inputs.front() : nullptr, v.shares.empty() ? std::string_view(v.engine) : "split",
                   context_->scheduler.concurrency(), v.folds);
  if (!v.shares.empty()) {
    std::string why;
    try {
      vertex_rows rows = run_divided(v, *session_, *context_, why);
      note_run(v, std::move(why));
      ran_on(v, "split");
      return rows;
    } catch (const row_unknown&) {
      clock.forget();
      return found_by_cpu(v);
    } catch (const resource_error& trouble) {
      why = trouble.what();
    }
    clock.forget();
    context_->cancel.check();
    note_run(v, std::move(why));
    ran_on(v, "cpu");
    return run_on(*session_->cpu, taken_over_by_cpu(v), *session_->cpu, *context_);
  }
  if (engine* e = session_->engine_named(v.engine)) {
    // Trouble of the engine's is retried, then the CPU takes over; the user's own exceptions are not.
    std::string why;
    std::optional<done_in_part> part;
    for (int attempt = 0; attempt <= e->retries() && !part; ++attempt) {
      try {
        vertex_rows rows = run_on(*e, v, *session_->cpu, *context_);
        note_run(v, "");
        ran_on(v, e->name());
        if (!rows.here()) clock.forget();  // who reads them fetches them
        return rows;
      } catch (const row_unknown&) {
        clock.forget();
        return found_by_cpu(v);
      } catch (const resource_error& trouble) {
        why = trouble.what();
        if (const auto* done = dynamic_cast<const done_in_part*>(&trouble)) part = *done;
        context_->cancel.check();
        if (e->is_gpu()) rethrow_if_gpu_demanded(v);
        if (e->is_gpu() && demanding_loop_) rethrow_for(*demanding_loop_);
      } catch (const cluster_error& trouble) {
        why = trouble.what();
      } catch (const internal_error& trouble) {  // a kernel that did not compile or a launch that failed
        if (!e->is_gpu()) throw;
        context_->cancel.check();
        rethrow_if_gpu_demanded(v);
        if (demanding_loop_) rethrow_for(*demanding_loop_);
        why = trouble.what();
      }
      context_->cancel.check();
    }
    note_run(v, why);
    ran_on(v, "cpu");
    clock.forget();
    fell_back_ = true;
    const vertex checked = taken_over_by_cpu(v);
    if (part) return run_rest(checked, *part, *session_->cpu, *context_);
    return taken_over(why, [&] { return run_on(*session_->cpu, checked, *session_->cpu, *context_); });
  }
  const detail::logical* const verb = verb_of_pieces(v);
  if (!verb) return run_on(*session_->cpu, v, *session_->cpu, *context_);
  const counted_pieces counted(*context_, verb);
  return run_on(*session_->cpu, v, *session_->cpu, *context_);
}

// For explain(): what went elsewhere, and why, and what did not go in one piece.
void executor::note_run(const vertex& v, std::string why) {
  std::string pieces = context_->pieces->taken();
  const auto [verb, terminal] = known_by(*graph_, v);
  if (!verb) return;
  session_->history.note_pieces(verb, terminal, why.empty() ? std::move(pieces) : std::string());
  session_->history.note_fallback(verb, terminal, std::move(why));
}

vertex_rows run_on(engine& e, const vertex& v, local_engine& local, run_context& context) {
  std::vector<std::unique_ptr<table_input>> inputs;
  std::vector<input_port*> ports;
  for (const planner::branch& b : v.inputs) {
    inputs.push_back(std::make_unique<table_input>(b, local, context));
    ports.push_back(inputs.back().get());
  }
  table_output out(v.row(), context.pool);
  const std::unique_ptr<running_vertex> task = e.start(v, ports, out, context);
  task->wait();
  return std::move(out).take();
}

void executor::forget(const std::vector<vertex*>& vertices) {
  if (over_) over_->forget(vertices);  // first: others may have to be sent what these tables hold, until all have it
  for (const vertex* w : vertices) {
    context_->tables.erase(w);
    context_->copies.erase(w);
  }
}

executor::round_result executor::one_round(const vertex& v, const vertex_rows& now) {
  const detail::logical& n = *v.node;
  context_->variables[n.slot] = now;
  run_in_round(v.body);
  round_result r;
  // Copied: the table may be one that the next round replaces.
  r.next = v.body_result.table ? session_->cpu->keep(v.body_result, v.captures, *context_) : now;
  forget(v.body);
  if (!n.count && !n.loop_test && v.test_result.table) {
    context_->variables[n.previous_slot] = now;
    context_->variables[n.next_slot] = r.next;
    run_in_round(v.test);
    r.answer = context_->tables.at(v.test_result.table);
    forget(v.test);
  }
  return r;
}

// Reads what the condition is about: rows that an engine keeps are fetched for it.
bool executor::another(const detail::logical& n, std::uint64_t round, vertex_rows& now, round_result& r) {
  if (n.count) return round < n.count;
  if (n.loop_test) {
    const table &before = context_->fetched(now), &after = context_->fetched(r.next);
    const bool goes_on = n.loop_test(n.functions.front().f.get(), before.rows, before.n, after.rows, after.n);
    planner::trace_memo::forget_here();
    return goes_on;
  }
  return holds(r.answer);
}

// What a condition that is a query gave.
bool executor::holds(vertex_rows& condition) const {
  const table& answer = context_->fetched(condition);
  if (!answer.type) return false;
  if (answer.n != 1) throw internal_error("query: do_while: the condition gave no value");
  return *static_cast<const bool*>(answer.rows);
}

namespace {

bool is_loop(const vertex& v) { return v.node && v.node->what == verb::do_while; }

// The first engine beside the CPU's that runs a vertex of a loop, or of loops in it; null: none does.
engine* engine_in(const vertex& loop, const session_state& session) {
  for (const auto* vertices : {&loop.body, &loop.test})
    for (const vertex* v : *vertices)
      if (engine* e = is_loop(*v) ? engine_in(*v, session) : session.engine_named(v->engine)) return e;
  return nullptr;
}

}  // namespace

// Where one engine runs the whole body and the condition, it may repeat rounds by itself.
std::unique_ptr<round_repeater> executor::repeater_of(const vertex& v, std::string& why_not) const {
  engine* const e = engine_in(v, *session_);
  std::unique_ptr<round_repeater> made = e ? e->repeater(v, *context_, why_not) : nullptr;
  if (!made) return nullptr;
  if (v.body.empty() || !v.body_result.table) why_not = "a round gives the rows that it got";
  if (v.node->loop_test) why_not = "its condition is a function that is given the rows in this process";
  for (const auto* vertices : {&v.body, &v.test})
    for (const vertex* w : *vertices) {
      const detail::logical* verb = last_verb(*w);
      if (is_loop(*w)) why_not = "there is a loop in it";
      else if (w->engine != e->name()) why_not = (verb ? planner::verb_of(*verb) : "a part") + " runs on the " + w->engine;
    }
  return why_not.empty() ? std::move(made) : nullptr;
}

vertex_rows executor::run_loop(const vertex& v) {
  if (v.variable_partitions > 1) return run_loop_in_partitions(v);
  const detail::logical& n = *v.node;
  // An engine that keeps the rows may read them where they are.
  const planner::branch& start = v.inputs.front();
  const bool as_it_is = start.table && !start.table->gives_columns && !context_->streams(*start.table) && start.stages.empty() &&
                        start.prefilters.empty();
  vertex_rows now = as_it_is ? context_->tables.at(start.table) : session_->cpu->keep(start, v.captures, *context_);
  if (now.kept && !now.kept->stays() && !all_on_cpu()) context_->fetched(now);
  const struct loop_scope {
    loop_scope(run_context& c, const detail::logical*& demanding, const vertex& v) : context(c), demands(demanding), outer(demanding) {
      ++context.loops;
      if (planner::demands_gpu(v)) demands = v.node;
    }
    ~loop_scope() {
      if (--context.loops == 0) context.copies.clear();
      demands = outer;
    }
    run_context& context;
    const detail::logical*& demands;
    const detail::logical* const outer;
  } inside(*context_, demanding_loop_, v);
  const std::uint64_t most = n.count ? n.count : n.most_rounds ? n.most_rounds : ~std::uint64_t{0};
  std::string why_not;
  std::optional<checkpoint> files;
  std::uint64_t round = 1;
  if (!n.checkpoint.empty()) {
    if (context_->loops > 1)
      detail::fail("checkpoint", "a loop within a loop cannot have one: take it behind the outermost loop", n.where);
    files.emplace(n, *session_, *context_);
    if (auto known = files->newest(v.row())) {
      now = std::move(known->rows);
      round = known->round + 1;
    }
  }
  const std::unique_ptr<round_repeater> repeater = files ? nullptr : repeater_of(v, why_not);
  const engine* repeats = repeater ? session_->engine_named(v.body.front()->engine) : nullptr;
  rounds_run ran;
  for (;; ++round) {
    // The first round brings what stays: the second can be like all that follow.
    std::optional<vertex_rows> watched;
    if (repeater && round > 1 && most - round > 1) watched = repeated_by(*repeats, [&] { return repeater->watch(now); });
    if (watched) now = *watched;
    context_->cancel.check();
    round_result r = one_round(v, now);
    if (watched) repeater->watched();
    const bool more = another(n, round, now, r);
    now = r.next;
    if (!more) break;
    check_rounds(n, round);
    if (files && files->is_worth_it()) files->keep(round, now);
    if (!watched) continue;
    const auto repeated =
        repeated_by(*repeats, [&] { return repeater->repeat(r.next, v.test_result.table ? &r.answer : nullptr, most - round); });
    if (!repeated) continue;
    now = repeated->variable;
    ran.repeated(round + 1, repeated->rounds, repeated->how);
    round += repeated->rounds;
    if (context_->progress)
      for (std::uint64_t i = 0; i < repeated->rounds * (v.body.size() + v.test.size()); ++i) context_->progress->vertex_done();
    if (repeated->ended || (n.count && round >= n.count)) break;
    check_rounds(n, round);
  }
  if (profiled_vertex* r = context_->profile ? context_->profile->at(v.number) : nullptr) r->rounds += round;
  context_->variables.erase(n.slot);
  context_->variables.erase(n.previous_slot);
  context_->variables.erase(n.next_slot);
  if (repeater) why_not = repeater->why_not();
  if (files) files->wait();
  session_->history.note_pieces(v.node, "",
                        files                          ? files->told()
                        : repeater || !why_not.empty() ? ran.told(round, why_not)
                                                       : std::string());
  return now;
}

}  // namespace query::runtime
