// Which engine runs a vertex, and what holds where the GPU is demanded for it.
#include <algorithm>
#include <optional>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "planner/opaque_cut.hpp"
#include "planner/orders.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/engine_failure.hpp"
#include "runtime/executor.hpp"
#include "runtime/gpu_placement.hpp"

namespace query::runtime {

using detail::verb;
using planner::vertex;

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
  detail::fail("require_gpu", n.label + " runs on the CPU: " + why + "; use as_accelerated() to allow that", n.where);
}
void require_gpu(const vertex& v, const session_state& session) {
  const detail::logical* n = gpu_required(v);
  if (n && v.engine != "gpu") not_as_required(*n, v.why, &session);
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
  detail::fail("on", n.label + " is ordered to the GPU but runs on the CPU: " + why + "; use as_accelerated() to allow that", n.where);
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

}  // namespace

void rethrow_for(const detail::logical& n) {
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

void check_orders_of_result(const planner::branch& result, const std::string& why, const session_state* session) {
  if (const detail::logical* n = ordered_to(result, query::engine::gpu)) not_on_gpu(*n, why, session);
  if (const detail::logical* n = gpu_required(result)) not_as_required(*n, why, session);
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
      if (const detail::logical* n = gpu_required(*v)) check_loss(*n, gpu_status(session), &session);
      continue;
    }
    const detail::logical* to_gpu = ordered_to_gpu(*v);
    if (const detail::logical* n = ordered_to(*v, query::engine::cpu)) {
      v->why = "on(engine::cpu), said of " + n->label;
      require_gpu(*v, session);
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
      else if (engine* there = gpu_to_plan_for(session)) ask(*there);
      else v->why = gpu_status(session);
    } else if (!placed && v->node && v->node->gpu_call) {
      v->why = "as_accelerated() was not said: the function's form for the GPU is left out";
    }
    const engine* const there = v->accelerated && gpu && v->engine == "cpu" ? session.engine_named("gpu") : nullptr;
    if (there) i += cut_behind_opaque(g, *v, *there);
    if (gpu) divide_if_faster(*v, std::move(offers), session);
    if (to_gpu && v->engine != "gpu") not_on_gpu(*to_gpu, v->why, &session);
    if (to_gpu) v->why += ", as on(engine::gpu) orders for " + to_gpu->label;
    const bool lost = v->accelerated && v->engine == "cpu" && gpu_is_lost(session);
    const detail::logical* verb = v->engine == "cpu" && !lost ? nullptr : last_verb(*v);
    const std::string fallback = verb ? session.fallback_of(verb, "") : "";
    if (!fallback.empty()) v->notes.push_back("the last run went to the cpu: " + fallback);
    if (const std::string pieces = verb ? session.pieces_of(verb, "") : ""; !pieces.empty())
      v->notes.push_back("in the last run: " + pieces);
    require_gpu(*v, session);
  }
  for (const auto& e : session.engines) reconsider(g, *e);
  if (!std::any_of(g.vertices.begin(), g.vertices.end(), [](const auto& v) { return v->engine == "gpu"; })) return;
  if (const engine* there = gpu ? gpu_to_plan_for(session) : nullptr) reconsider(g, *there);
}

}  // namespace query::runtime
