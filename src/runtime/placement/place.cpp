// Which engine runs a vertex, and what holds where the GPU is demanded for it.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "ir/running.hpp"
#include "planner/opaque_cut.hpp"
#include "planner/orders.hpp"
#include "planner/rules/edges.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/executor.hpp"
#include "runtime/gpu_placement.hpp"
#include "runtime/placement/weighing.hpp"

namespace query::runtime {

using detail::verb;
using planner::vertex;

namespace {

// Does an engine have the vertex that on(engine::gpu) and require_gpu() mean?
bool on_gpu(const vertex& v, const session_state& session) {
  const engine* const e = v.engine == "cpu" ? nullptr : session.engine_named(v.engine);
  return e && e->is_gpu();
}

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

// Nothing is wrong with the program where the GPU was lost.
void check_loss(const detail::logical& n, const std::string& why, const session_state* session) {
  if (!session || !gpu_is_lost(*session)) return;
  try {
    throw resource_error("gpu: " + why);
  } catch (...) {
    rethrow_for(n);
  }
}
void not_as_required(const detail::logical& n, const std::string& why, const session_state* session) {
  check_loss(n, why, session);
  detail::fail("require_gpu", n.label + " runs on the CPU: " + why + "; write as_accelerated() to use a GPU only where it can run",
               n.where);
}
void require_gpu(const vertex& v, const session_state& session) {
  const detail::logical* n = gpu_required(v);
  if (n && !on_gpu(v, session)) not_as_required(*n, v.why, &session);
}

// on(engine): throws where two verbs of one vertex are ordered apart.
const detail::logical* ordered_to_gpu(const vertex& v) {
  const detail::logical *cpu = ordered_to(v, query::engine::cpu), *gpu = ordered_to(v, query::engine::gpu);
  if (cpu && gpu)
    detail::fail("on", gpu->label + " is ordered to the GPU and " + cpu->label + " (" + detail::place_of(cpu->where) +
                           ") to the CPU, but one vertex runs both", gpu->where);
  return gpu;
}

void not_on_gpu(const detail::logical& n, const std::string& why, const session_state* session) {
  check_loss(n, why, session);
  detail::fail("on",
               n.label + " is ordered to the GPU but runs on the CPU: " + why +
                   "; write as_accelerated() to use a GPU only where it can run",
               n.where);
}

// Several engines at once, where that is expected to be faster than the best of them.
void divide_if_faster(vertex& v, std::vector<offer> offers, const session_state& session, compile_debts::of_plan& saved) {
  if ((offers.empty() && !v.folds) || !divisible(v)) return;
  // Those that were not asked as one before them had accepted it.
  for (const auto& e : session.engines) {
    if (std::any_of(offers.begin(), offers.end(), [&](const offer& o) { return o.by == e.get(); })) continue;
    compile_debts::of_plan by_this;
    if (const verdict answer = weighing(*e, session, by_this).asked(v); answer.costs) offers.push_back({e.get(), *answer.costs});
    saved.merge(by_this);
  }
  divided d = divided_among(v, offers, session.scheduler->concurrency());
  if (!d.shares.empty()) {
    v.engine = "split";
    v.why = std::move(d.why);
    v.shares = std::move(d.shares);
  } else if (!d.why.empty()) {
    v.notes.push_back(std::move(d.why));
  }
}

}  // namespace

std::string expected_costs::reason() const {
  if (pays()) return shown_seconds(there) + " here, " + shown_seconds(cpu) + " on the CPU";
  const std::string compiling = to_compile > 0 ? " and " + shown_seconds(to_compile) + " to compile it" : "";
  return shown_seconds(there) + " there" + compiling + ", " + shown_seconds(cpu) + " here";
}

void rethrow_for(const detail::logical& n) {
  const auto told = [&](const std::exception& e) {
    return ir::while_running(e.what(), n) +
           (n.ordered_to == query::engine::gpu ? ", which on(engine::gpu) orders to the GPU" : ", for which require_gpu() was said");
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

std::pair<const detail::logical*, std::string_view> known_by(const planner::machine_graph& g, const vertex& v) {
  if (v.folds) return {g.root.node.get(), g.terminal};
  return {last_verb(v), ""};
}

void check_orders_of_result(const planner::branch& result, const std::string& why, const session_state* session) {
  if (const detail::logical* n = ordered_to(result, query::engine::gpu)) not_on_gpu(*n, why, session);
  if (const detail::logical* n = gpu_required(result)) not_as_required(*n, why, session);
}

namespace {

// The vertex is the engine's if it takes it.
verdict ask(vertex& v, const weighing& w, std::vector<offer>& offers) {
  const engine& e = w.by();
  verdict answer = w.asked(v);
  if (answer.costs) offers.push_back({&e, *answer.costs});
  v.expected = answer.expected;
  v.why = answer ? answer.why : "not on " + std::string(e.name()) + ": " + answer.why;
  if (answer) v.engine = std::string(e.name());
  return answer;
}

// Vertices that an engine took are given back where all of them together cost less on the CPU.
void reconsider(const planner::machine_graph& g, const weighing& w) {
  for (const opinion& o : w.together(g)) {
    if (o.answer) {
      o.v->why += (o.v->why.empty() ? "" : "; ") + o.answer.why;
      continue;
    }
    o.v->engine = "cpu";
    o.v->why = "not on " + std::string(w.by().name()) + ": " + o.answer.why;
  }
  w.by().placed(g);
}

// What comes before opaque functions may be worth the GPU by itself. Returns how many vertices were put before v.
std::size_t cut_before_opaque(planner::machine_graph& g, vertex& v, const weighing& w, const session_state& session,
                              compile_debts::of_plan& saved) {
  std::size_t fronts = 0;
  for (std::size_t i = 0; i < v.inputs.size(); ++i) {
    std::optional<planner::opaque_cut> cut = planner::cut_before_opaque(v, i);
    if (!cut || !cut->fronts.front()->accelerated) continue;
    vertex& front = *cut->fronts.front();
    const verdict answer = w.asked(front);
    if (!answer) continue;
    front.engine = std::string(w.by().name());
    front.why = answer.why;
    planner::make_cut(g, v, std::move(*cut));
    if (answer.costs) divide_if_faster(front, {{&w.by(), *answer.costs}}, session, saved);
    ++fronts;
  }
  return fronts;
}

// Of a vertex that the GPU refused, it may take what stands behind opaque functions, and what stands before them: then the CPU runs these
// as a vertex of their own. Returns how many vertices were put before v.
std::size_t cut_at_opaque(planner::machine_graph& g, vertex& v, bool whole, const weighing& w, const session_state& session,
                          compile_debts::of_plan& saved) {
  if (planner::demands_gpu(v)) return 0;  // of an opaque function itself, or where no cut can be
  std::optional<planner::opaque_cut> cut = planner::cut_behind_opaque(v, whole);
  verdict answer;
  if (cut) {
    std::swap(v, cut->rest);  // engines know vertices by their addresses
    answer = w.asked(v);
    std::swap(v, cut->rest);
  }
  const bool weighed = v.slots.empty() && !v.kept_if_it_fits;  // a loop's vertices are not, one by one
  if (!answer) return weighed && (whole || planner::reads_all(v)) ? cut_before_opaque(g, v, w, session, saved) : 0;
  std::vector<vertex*> fronts;
  for (const auto& f : cut->fronts) {
    f->why = v.why;
    fronts.push_back(f.get());
  }
  planner::make_cut(g, v, std::move(*cut));
  v.engine = std::string(w.by().name());
  v.why = answer.why;
  v.expected = answer.expected;
  std::size_t made = fronts.size();
  for (vertex* f : fronts)
    if (weighed) made += cut_before_opaque(g, *f, w, session, saved);
  return made;
}

// The vertex of a fold was cut: so is the result.
void read_by_fold(planner::machine_graph& g, const vertex& fold) {
  g.result = fold.inputs.front();
  g.captures = fold.captures;
}

// Before engines are asked: verbs that are ordered apart are not of one vertex.
void cut_as_ordered(planner::machine_graph& g, const session_state& session, planner::reading how) {
  const std::set<const vertex*> whole = planner::read_whole(g, how);
  std::vector<vertex*> demanding;
  for (const auto& v : g.vertices)
    if (v->accelerated && planner::demands_gpu(*v) && session.gpu_to_ask()) demanding.push_back(v.get());
  for (vertex* v : demanding) planner::cut_as_ordered(g, *v, whole.contains(v));
  if (how != planner::reading::folded || !planner::demands_gpu(g.result) || !session.gpu_to_ask()) return;
  vertex fold = planner::fold_vertex(g, detail::fold_kind::count);  // or another
  if (planner::cut_as_ordered(g, fold, true)) read_by_fold(g, fold);
}

// What explain() says of the run before.
void note_pieces(vertex& v, const detail::logical* verb, const session_state& session) {
  const std::string pieces = verb ? session.history.pieces_of(verb, "") : "";
  if (!pieces.empty()) v.notes.push_back("in the last run: " + pieces);
}

// The same of joins that are stages: with their reader.
void note_joins(planner::machine_graph& g, const session_state& session) {
  planner::rules::each_branch(g, [&](planner::branch& b, vertex* reader) {
    if (reader && reader->engine != "cpu") return;
    for (const planner::stage& s : b.stages) {
      if (s.what != planner::stage::kind::probe) continue;
      if (const std::string pieces = session.history.pieces_of(s.join, ""); !pieces.empty())
        (reader ? reader->notes : g.notes).push_back(s.join->label + ": in the last run: " + pieces);
    }
  });
}

// A checkpoint is of rows in host memory.
void note_checkpointed_loops(planner::machine_graph& g, const session_state& session) {
  const auto there = [&](const vertex* v) { return on_gpu(*v, session); };
  for (const auto& v : g.vertices)
    if (v->node && v->node->what == verb::do_while && !v->node->checkpoint.empty() && std::any_of(v->body.begin(), v->body.end(), there))
      v->notes.push_back("checkpoint: its rounds are not repeated as graphs of the GPU, as each ends in host memory");
}

// Was a GPU added to the session's engines, which are asked before the session's own?
bool gpu_was_added(const session_state& session) {
  return std::any_of(session.engines.begin(), session.engines.end(), [](const auto& e) { return e->is_gpu(); });
}

// Vertices that need not be asked about, with the reason.
std::unordered_map<const vertex*, std::string> refused_at_first_sight(const planner::machine_graph& g, const session_state& session,
                                                                      bool gpu, compile_debts::of_plan& saved) {
  std::unordered_map<const vertex*, std::string> refused;
  const auto ask = [&](const engine& e) {
    for (const opinion& o : weighing(e, session, saved).not_worth_planning(g))
      refused.emplace(o.v, "not on " + std::string(e.name()) + ": " + o.answer.why);
  };
  for (const auto& e : session.engines) ask(*e);
  const bool loops = std::any_of(g.vertices.begin(), g.vertices.end(),
                                 [](const auto& v) { return v->accelerated && v->node && v->node->what == verb::do_while; });
  if (engine* there = gpu && loops && !gpu_was_added(session) ? gpu_to_plan_for(session) : nullptr) ask(*there);
  return refused;
}

}  // namespace

void place_on_gpu(planner::machine_graph& g, session_state& session, const std::string& why, std::optional<detail::fold_kind> fold) {
  engine& gpu = *session.gpu();
  const auto take = [&](vertex& v) {
    v.engine = std::string(gpu.name());
    v.why = why;
    gpu.takes_again(v);
  };
  for (const auto& v : g.vertices)
    if (v->accelerated && !lie_ready(*v)) take(*v);
  if (!fold) return;
  g.fold = std::make_unique<vertex>(planner::fold_vertex(g, *fold));
  take(*g.fold);
  g.result_engine = g.fold->engine;
}

void place(planner::machine_graph& g, const session_state& session, detail::fold_kind fold, const engine* gpu,
           compile_debts::of_plan& saved) {
  g.fold = std::make_unique<vertex>(planner::fold_vertex(g, fold));
  vertex& v = *g.fold;
  const detail::logical* const here = ordered_to(v, query::engine::cpu);
  std::string why = here ? "on(engine::cpu) after " + here->label : "";  // it is the CPU's
  std::vector<offer> offers;
  if (gpu && !here) {
    const weighing by(*gpu, session, saved);
    why = ask(v, by, offers).why;
    if (v.engine == "cpu" && cut_at_opaque(g, v, true, by, session, saved)) read_by_fold(g, v);
  }
  if (gpu && v.engine == "cpu") check_orders_of_result(g.result, why, &session);
  if (!here) divide_if_faster(v, std::move(offers), session, saved);
  g.result_engine = planner::engine_of_forms(v.engine, v.shares);
  const auto note = [&](const std::string& text) { g.notes.push_back(g.terminal + ": " + text); };
  if (!v.shares.empty()) {
    note("split: " + v.why);
  } else if (v.engine != "cpu") {
    note("gpu: " + v.why);
    const auto [verb, terminal] = known_by(g, v);
    if (const std::string last = session.history.fallback_of(verb, terminal); !last.empty()) note("the last run went to the cpu: " + last);
    if (const std::string pieces = session.history.pieces_of(verb, terminal); !pieces.empty()) note("in the last run: " + pieces);
  } else if (gpu) {
    note("cpu: not on gpu: " + why);
  }
  for (const std::string& n : v.notes) note(n);
}

void place(planner::machine_graph& g, const session_state& session, const std::string& no_gpu, planner::reading how,
           compile_debts::of_plan& saved) {
  const bool gpu = no_gpu.empty();
  if (gpu) cut_as_ordered(g, session, how);
  const std::set<const vertex*> whole = planner::read_whole(g, how);
  const std::unordered_map<const vertex*, std::string> refused = refused_at_first_sight(g, session, gpu, saved);
  for (std::size_t i = 0; i < g.vertices.size(); ++i) {
    vertex* const v = g.vertices[i].get();
    v->engine = "cpu";
    if (v->node && v->node->what == verb::do_while) {
      if (v->accelerated && v->why.empty())
        v->why = "the host drives the loop; its body is placed vertex by vertex, then weighed as a whole";
      note_pieces(*v, v->node, session);
      if (const detail::logical* n = gpu_required(*v)) check_loss(*n, gpu_status(session), &session);
      continue;
    }
    const detail::logical* to_gpu = ordered_to_gpu(*v);
    if (const detail::logical* n = ordered_to(*v, query::engine::cpu)) {
      v->why = "on(engine::cpu) after " + n->label;
      require_gpu(*v, session);
      continue;
    }
    if (const auto r = refused.find(v); r != refused.end()) {
      v->why = r->second;
      continue;
    }
    std::vector<offer> offers;
    const bool placed = std::any_of(session.engines.begin(), session.engines.end(),
                                    [&](const auto& e) { return static_cast<bool>(ask(*v, {*e, session, saved}, offers)); });
    if (!placed && v->accelerated && !gpu_was_added(session)) {
      if (!gpu) v->why = "not on gpu: " + no_gpu;
      else if (engine* there = gpu_to_plan_for(session)) ask(*v, {*there, session, saved}, offers);
      else v->why = gpu_status(session);
    } else if (!placed && v->node && v->node->gpu_call) {
      v->why = "as_accelerated() was not said: the function's form for the GPU is left out";
    }
    const engine* const there = v->accelerated && gpu && v->engine == "cpu" ? session.gpu_to_ask() : nullptr;
    if (there) i += cut_at_opaque(g, *v, whole.contains(v), {*there, session, saved}, session, saved);
    if (gpu) divide_if_faster(*v, std::move(offers), session, saved);
    if (to_gpu && !on_gpu(*v, session)) not_on_gpu(*to_gpu, v->why, &session);
    if (to_gpu) v->why += ", as on(engine::gpu) orders for " + to_gpu->label;
    const bool lost = v->accelerated && v->engine == "cpu" && gpu_is_lost(session);
    const detail::logical* verb = v->engine == "cpu" && !lost ? nullptr : last_verb(*v);
    const std::string fallback = verb ? session.history.fallback_of(verb, "") : "";
    if (!fallback.empty()) v->notes.push_back("the last run went to the cpu: " + fallback);
    note_pieces(*v, verb ? verb : verb_of_pieces(*v), session);
    require_gpu(*v, session);
  }
  note_joins(g, session);
  for (const auto& e : session.engines) reconsider(g, {*e, session, saved});
  if (std::none_of(g.vertices.begin(), g.vertices.end(), [&](const auto& v) { return on_gpu(*v, session); })) return;
  if (const engine* there = gpu ? gpu_to_plan_for(session) : nullptr) reconsider(g, {*there, session, saved});
  note_checkpointed_loops(g, session);
}

}  // namespace query::runtime
