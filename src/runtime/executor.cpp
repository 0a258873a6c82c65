#include "runtime/executor.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "planner/opaque_cut.hpp"
#include "planner/orders.hpp"
#include "planner/trace_memo.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/table_ports.hpp"

namespace query::runtime {

using detail::table;
using detail::verb;
using planner::vertex;

const table& run_context::fetched(vertex_rows& r) const {
  const std::lock_guard hold(fetching);
  if (r.here()) return r.rows;
  try {
    r.rows = r.kept->fetch(const_cast<run_context&>(*this));
  } catch (const engine_failure& e) {
    throw rows_lost(e.what(), std::string(r.kept->engine()));
  } catch (const internal_error& e) {  // a launch or a copy that failed
    throw rows_lost(e.what(), std::string(r.kept->engine()));
  }
  return r.rows;
}
const table& run_context::table_of(const vertex& v) const {
  const auto it = tables.find(&v);
  if (it == tables.end()) throw internal_error("query: a vertex was read before it ran");
  return fetched(it->second);
}
const table& run_context::variable(std::uint64_t slot) const {
  const auto it = variables.find(slot);
  if (it == variables.end()) throw detail::unplaced_error("a loop's placeholder was used outside its do_while");
  return fetched(it->second);
}
std::vector<detail::binding> run_context::bind(const std::vector<planner::binding>& captures) const {
  std::vector<detail::binding> b;
  for (const planner::binding& c : captures) {
    const table& t = table_of(*c.table);
    b.push_back({c.slot, t.rows, t.n});
  }
  return b;
}

std::string pieces_run::taken() {
  const auto times = [](std::uint64_t n, const char* one, const char* more) {
    return n ? std::to_string(n) + " " + (n == 1 ? one : more) : std::string();
  };
  std::string all;
  for (const std::string& part :
       {times(blocks.exchange(0), "block of rows", "blocks of rows"),
        times(partitions.exchange(0), "partition in host memory", "partitions in host memory"),
        times(spills.exchange(0), "spill of groups to host memory", "spills of groups to host memory")})
    if (!part.empty()) all += (all.empty() ? "" : ", ") + part;
  return all;
}

namespace {

// The verb that said require_gpu(), if one of the branch's, or of the vertex's, did: the last of them, which the plan names, too.
const detail::logical* gpu_required(const planner::branch& b) {
  for (auto s = b.stages.rbegin(); s != b.stages.rend(); ++s) {
    for (auto n = s->nodes.rbegin(); n != s->nodes.rend(); ++n)
      if ((*n)->gpu_required) return *n;
    if (s->join && s->join->gpu_required) return s->join;
  }
  return b.source && b.source->gpu_required ? b.source : nullptr;
}
const detail::logical* gpu_required(const vertex& v) {
  if (v.node && v.node->gpu_required) return v.node;
  for (const planner::branch& b : v.inputs)
    if (const detail::logical* n = gpu_required(b)) return n;
  return nullptr;
}

void not_as_required(const detail::logical& n, const std::string& why) {
  detail::fail("require_gpu", n.label + " runs on the CPU: " + why + "; use as_accelerated() to allow that", n.where);
}
void require_gpu(const vertex& v) {
  const detail::logical* n = gpu_required(v);
  if (n && v.engine != "gpu") not_as_required(*n, v.why);
}

// on(engine): throws where two verbs of one vertex are ordered apart.
const detail::logical* ordered_to_gpu(const vertex& v) {
  const detail::logical *cpu = ordered_to(v, query::engine::cpu), *gpu = ordered_to(v, query::engine::gpu);
  if (cpu && gpu)
    detail::fail("on", gpu->label + " is ordered to the GPU and " + cpu->label + " (" + detail::place_of(cpu->where) +
                           ") to the CPU, but one vertex runs both", gpu->where);
  return gpu;
}

void not_on_gpu(const detail::logical& n, const std::string& why) {
  detail::fail("on", n.label + " is ordered to the GPU but runs on the CPU: " + why, n.where);
}

// Several engines at once, where that is expected to be faster than the best of them.
void divide_if_faster(vertex& v, std::vector<offer> offers, const session_state& session) {
  if (offers.empty() || !divisible(v)) return;
  // Those that were not asked as one before them had accepted it.
  for (const auto& e : session.engines) {
    if (std::any_of(offers.begin(), offers.end(), [&](const offer& o) { return o.by == e.get(); })) continue;
    if (const verdict answer = e->accepts(v); answer.costs) offers.push_back({e.get(), *answer.costs});
  }
  if (auto d = divided_among(v.inputs.front(), offers, session.scheduler->concurrency())) {
    v.engine = "split";
    v.why = std::move(d->why);
    v.shares = std::move(d->shares);
  }
}

// What an engine failed with, and which verb it must not fail at.
[[noreturn]] void rethrow_for(const detail::logical& n) {
  const auto told = [&](const std::exception& e) {
    return std::string(e.what()) + ", while running " + n.label + " (" + detail::place_of(n.where) +
           (n.ordered_to == query::engine::gpu ? "), which on(engine::gpu) orders to the GPU" : "), for which require_gpu() was said");
  };
  try {
    throw;
  } catch (const rows_lost& e) {
    throw rows_lost(told(e), e.engine);
  } catch (const resource_error& e) {
    throw resource_error(told(e));
  } catch (const internal_error& e) {
    throw internal_error(told(e));
  }
}

}  // namespace

const detail::logical* last_verb(const vertex& v) {
  if (v.node || v.inputs.empty()) return v.node;
  const planner::branch& b = v.inputs.front();
  for (auto s = b.stages.rbegin(); s != b.stages.rend(); ++s) {
    if (!s->nodes.empty()) return s->nodes.back();
    if (s->join) return s->join;
  }
  return b.source;
}

void rethrow_if_gpu_demanded(const vertex& v) {
  if (const detail::logical* n = ordered_to(v, query::engine::gpu)) rethrow_for(*n);
  if (const detail::logical* n = gpu_required(v)) rethrow_for(*n);
}
void rethrow_if_gpu_demanded(const planner::branch& b) {
  if (const detail::logical* n = ordered_to(b, query::engine::gpu)) rethrow_for(*n);
  if (const detail::logical* n = gpu_required(b)) rethrow_for(*n);
}

void check_orders_of_result(const planner::branch& result, const std::string& why) {
  if (const detail::logical* n = ordered_to(result, query::engine::gpu)) not_on_gpu(*n, why);
  if (const detail::logical* n = gpu_required(result)) not_as_required(*n, why);
}

namespace {

// Vertices that an engine took are given back where all of them together cost less on the CPU.
void reconsider(const planner::machine_graph& g, const engine& e) {
  for (const opinion& o : e.on_second_thoughts(g)) {
    if (o.answer) {
      o.v->why += (o.v->why.empty() ? "" : "; ") + o.answer.why;
      continue;
    }
    o.v->engine = "cpu";
    o.v->why = "not on " + std::string(e.name()) + ": " + o.answer.why;
  }
}

}  // namespace

namespace {

// The GPU may take the verb of a vertex that it refused for an opaque function before the verb: then the CPU runs what comes up to
// that function as a vertex of its own. Returns how many vertices were put before v.
std::size_t cut_behind_opaque(planner::machine_graph& g, vertex& v, const engine& e) {
  std::optional<planner::opaque_cut> cut = planner::cut_behind_opaque(v);
  if (!cut) return 0;
  const verdict answer = e.accepts(cut->rest);
  if (!answer) return 0;
  for (const auto& front : cut->fronts) front->why = v.why;
  const std::size_t fronts = cut->fronts.size();
  planner::make_cut(g, v, std::move(*cut));
  v.engine = std::string(e.name());
  v.why = answer.why;
  return fronts;
}

}  // namespace

void place(planner::machine_graph& g, const session_state& session, bool gpu) {
  for (std::size_t i = 0; i < g.vertices.size(); ++i) {
    vertex* const v = g.vertices[i].get();
    v->engine = "cpu";
    if (v->node && v->node->what == verb::do_while) {
      if (v->accelerated && v->why.empty())
        v->why = "the host drives the loop; its body is placed vertex by vertex, then weighed as a whole";
      continue;
    }
    const detail::logical* to_gpu = ordered_to_gpu(*v);
    if (const detail::logical* n = ordered_to(*v, query::engine::cpu)) {
      v->why = "on(engine::cpu), said of " + n->label;
      require_gpu(*v);
      continue;
    }
    std::vector<offer> offers;
    const auto ask = [&](const engine& e) {
      const verdict answer = e.accepts(*v);
      if (answer.costs) offers.push_back({&e, *answer.costs});
      v->why = answer ? answer.why : "not on " + std::string(e.name()) + ": " + answer.why;
      if (answer) v->engine = std::string(e.name());
      return static_cast<bool>(answer);
    };
    bool placed = false, gpu_asked = false;
    for (const auto& e : session.engines) {
      gpu_asked = gpu_asked || e->name() == "gpu";
      if ((placed = ask(*e))) break;
    }
    if (!placed && v->accelerated && !gpu_asked) {
      if (!gpu) v->why = "not on gpu: verified queries run natively";
      else if (engine* there = session.gpu()) ask(*there);
      else v->why = session.gpu_status();
    } else if (!placed && v->node && v->node->gpu_call) {
      v->why = "as_accelerated() was not said: the function's form for the GPU is left out";
    }
    const engine* const there = v->accelerated && gpu && v->engine == "cpu" ? session.engine_named("gpu") : nullptr;
    if (there) i += cut_behind_opaque(g, *v, *there);
    if (gpu) divide_if_faster(*v, std::move(offers), session);
    if (to_gpu && v->engine != "gpu") not_on_gpu(*to_gpu, v->why);
    if (to_gpu) v->why += ", as on(engine::gpu) orders for " + to_gpu->label;
    const detail::logical* verb = v->engine == "cpu" ? nullptr : last_verb(*v);
    const std::string fallback = verb ? session.fallback_of(verb, "") : "";
    if (!fallback.empty()) v->notes.push_back("the last run went to the cpu: " + fallback);
    if (const std::string pieces = verb ? session.pieces_of(verb, "") : ""; !pieces.empty())
      v->notes.push_back("in the last run: " + pieces);
    require_gpu(*v);
  }
  for (const auto& e : session.engines) reconsider(g, *e);
  if (!std::any_of(g.vertices.begin(), g.vertices.end(), [](const auto& v) { return v->engine == "gpu"; })) return;
  if (const engine* there = gpu ? session.gpu() : nullptr) reconsider(g, *there);
}

void executor::run_vertices() {
  for (const vertex* v : graph_->top) {
    if (!v->streamed) run(*v);
    else if (context_->progress) context_->progress->vertex_done();
  }
}

void executor::run_in_round(const std::vector<vertex*>& vertices) {
  for (const vertex* v : vertices)
    if (!v->streamed) run(*v);
}

namespace {
// What went wrong, and at which verb: the innermost one, where vertices run within a loop's.
std::string with_verb(const resource_error& e, const vertex& v) {
  const std::string what = e.what();
  const detail::logical* n = last_verb(v);
  if (!n || what.find(" while running ") != std::string::npos) return what;
  return what + ", while running " + n->label + " (" + detail::place_of(n->where) + ")";
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

void executor::run(const vertex& v) {
  context_->cancel.check();
  try {
    if (v.kept_if_it_fits) keep_if_it_fits(v);
    else context_->tables[&v] = compute(v);
    if (v.node && v.node->what == verb::apply) planner::trace_memo::forget_here();
  } catch (const detail::unplaced_error& e) {
    if (!v.node) throw;
    detail::fail_at(e, *v.node);
  } catch (const rows_lost& e) {
    throw rows_lost(with_verb(e, v), e.engine);
  } catch (const resource_error& e) {
    throw resource_error(with_verb(e, v));
  }
  if (context_->progress) context_->progress->vertex_done();
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
  if (v.node && v.node->what == verb::do_while) return run_loop(v);
  if (!v.node || v.node->what != verb::cached || !v.slots.empty()) return run_placed(v);
  vertex_rows rows;
  if (session_->find_cached(v.node, rows)) return rows;
  const auto turn = session_->computing(v.node);
  std::unique_lock hold(*turn, std::defer_lock);
  while (!hold.try_lock()) {  // g++'s thread sanitizer does not know the wait of a timed mutex
    context_->cancel.check();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  if (session_->find_cached(v.node, rows)) return rows;
  rows = run_placed(v);
  session_->keep_cached(v.node->weak_from_this().lock(), rows);
  return rows;
}

vertex_rows executor::run_placed(const vertex& v) {
  if (!v.shares.empty()) {
    std::string why;
    try {
      vertex_rows rows = run_divided(v, *session_, *context_, why);
      note_run(v, std::move(why));
      return rows;
    } catch (const resource_error& trouble) {
      why = trouble.what();
    }
    context_->cancel.check();
    note_run(v, std::move(why));
    return run_on(*session_->cpu, v, *session_->cpu, *context_);
  }
  if (engine* e = session_->engine_named(v.engine)) {
    // Trouble of the engine's is retried, then the CPU takes over; the user's own exceptions are not.
    std::string why;
    for (int attempt = 0; attempt <= e->retries(); ++attempt) {
      try {
        vertex_rows rows = run_on(*e, v, *session_->cpu, *context_);
        note_run(v, "");
        return rows;
      } catch (const resource_error& trouble) {
        why = trouble.what();
        context_->cancel.check();
        if (v.engine == "gpu") rethrow_if_gpu_demanded(v);
        if (v.engine == "gpu" && demanding_loop_) rethrow_for(*demanding_loop_);
      } catch (const cluster_error& trouble) {
        why = trouble.what();
      } catch (const internal_error& trouble) {  // a kernel that did not compile or a launch that failed
        if (v.engine != "gpu") throw;
        context_->cancel.check();
        rethrow_if_gpu_demanded(v);
        if (demanding_loop_) rethrow_for(*demanding_loop_);
        why = trouble.what();
      }
      context_->cancel.check();
    }
    note_run(v, std::move(why));
  }
  return run_on(*session_->cpu, v, *session_->cpu, *context_);
}

// For explain(): what went elsewhere, and why, and what did not go in one piece.
void executor::note_run(const vertex& v, std::string why) {
  std::string pieces = context_->pieces->taken();
  const detail::logical* verb = last_verb(v);
  if (!verb) return;
  session_->note_pieces(verb, "", why.empty() ? std::move(pieces) : std::string());
  session_->note_fallback(verb, "", std::move(why));
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
  r.next = v.body_result.table ? context_->tables.at(v.body_result.table) : now;
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
  const table& answer = context_->fetched(r.answer);
  if (!answer.type) return false;
  if (answer.n != 1) throw internal_error("query: do_while: the condition gave no value");
  return *static_cast<const bool*>(answer.rows);
}

// Where one engine runs the whole body and the condition, it may repeat rounds by itself.
std::unique_ptr<round_repeater> executor::repeater_of(const vertex& v) const {
  const detail::logical& n = *v.node;
  if (v.body.empty() || !v.body_result.table || n.loop_test || (n.count && n.count < 3)) return nullptr;
  const auto elsewhere = [&](const vertex* w) {
    return w->engine != v.body.front()->engine || (w->node && w->node->what == verb::do_while);
  };
  if (std::any_of(v.body.begin(), v.body.end(), elsewhere) || std::any_of(v.test.begin(), v.test.end(), elsewhere)) return nullptr;
  engine* e = session_->engine_named(v.body.front()->engine);
  return e ? e->repeater(v, *context_) : nullptr;
}

vertex_rows executor::run_loop(const vertex& v) {
  const detail::logical& n = *v.node;
  // An engine that keeps the rows may read them where they are.
  const planner::branch& start = v.inputs.front();
  const bool as_it_is = start.table && !context_->streams(*start.table) && start.stages.empty() && start.prefilters.empty();
  vertex_rows now = as_it_is ? context_->tables.at(start.table) : vertex_rows(session_->cpu->collect(start, v.captures, *context_));
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
  const auto allowed = [&](std::uint64_t round) {
    if (!n.count && n.most_rounds && round >= n.most_rounds)
      detail::fail("do_while", "the condition still held after " + std::to_string(n.most_rounds) + " rounds, the most that were allowed",
                   n.where);
  };
  const std::unique_ptr<round_repeater> repeater = repeater_of(v);
  const engine* repeats = repeater ? session_->engine_named(v.body.front()->engine) : nullptr;
  for (std::uint64_t round = 1;; ++round) {
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
    allowed(round);
    if (!watched) continue;
    const auto repeated =
        repeated_by(*repeats, [&] { return repeater->repeat(r.next, v.test_result.table ? &r.answer : nullptr, most - round); });
    if (!repeated) continue;
    now = repeated->variable;
    round += repeated->rounds;
    if (context_->progress)
      for (std::uint64_t i = 0; i < repeated->rounds * (v.body.size() + v.test.size()); ++i) context_->progress->vertex_done();
    if (repeated->ended || (n.count && round >= n.count)) break;
    allowed(round);
  }
  context_->variables.erase(n.slot);
  context_->variables.erase(n.previous_slot);
  context_->variables.erase(n.next_slot);
  return now;
}

}  // namespace query::runtime
