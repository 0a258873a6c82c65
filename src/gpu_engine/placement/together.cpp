#include "gpu_engine/placement/together.hpp"

#include <algorithm>
#include <cstdio>

#include "gpu_engine/placement/vertex_work.hpp"
#include "planner/orders.hpp"

namespace query::gpu_engine {

namespace {

using detail::verb;
using planner::branch;
using planner::vertex;
using runtime::expected_costs;

bool here(const vertex& v) { return v.engine == "gpu"; }
// Before any was placed: could it be there?
bool may_be_here(const vertex& v) { return v.accelerated && !planner::ordered_to(v, query::engine::cpu); }
bool is_loop(const vertex& v) { return v.node && v.node->what == verb::do_while; }

void add(expected_costs& to, const expected_costs& s) {
  to.there += s.there;
  to.cpu += s.cpu;
}

// One loop, as its vertices have been placed, or might be at best, against all of them on the CPU.
class loop_costs {
 public:
  using predicate = bool (*)(const vertex&);
  loop_costs(const vertex& loop, const rates& r, row_counts& rows, bool nested, predicate is_here = here)
      : loop_(loop), rates_(r), rows_(rows), nested_(nested), here_(is_here) {
    for (const auto* list : {&loop.body, &loop.test}) all_.insert(all_.end(), list->begin(), list->end());
    rows_.begin_loop(loop);
  }

  // gpu: as placed, cpu: all there. Nothing where some vertex's rows are unknown.
  std::optional<expected_costs> sum() {
    const detail::logical& n = *loop_.node;
    rounds_ = n.count ? static_cast<double>(n.count) : rounds_of_a_loop;
    if (!n.count && n.most_rounds) rounds_ = std::min(rounds_, static_cast<double>(n.most_rounds));
    expected_costs total;
    const bool graph = repeats();
    const double whole = graph ? std::min(rounds_, 2.0) : rounds_;
    for (const vertex* v : all_) {
      if (is_loop(*v)) {
        const auto inner = loop_costs(*v, rates_, rows_, true, here_).sum();
        if (!inner) return std::nullopt;
        add(total, {inner->there * rounds_, inner->cpu * rounds_});
        continue;
      }
      const auto placed = work_in(*v, true), home = work_in(*v, false);
      if (!placed || !home) return std::nullopt;
      round_work p = *placed;
      if (here_(*v)) {
        p.each.down = 0;  // the next vertex reads it there, or fetches it (on_device)
        total.there += gpu_seconds(rates_, p.once) + whole * gpu_seconds(rates_, p.each) +
                     (rounds_ - whole) * gpu_seconds(rates_, p.each, waits_of_a_graph);
        compile.push_back({v, seconds_to_compile(p.each)});
      } else {
        total.there += once_on_cpu(p.once) + rounds_ * cpu_seconds(rates_, p.each);
      }
      total.cpu += once_on_cpu(home->once) + rounds_ * cpu_seconds(rates_, home->each);
    }
    // The variable: brought over by the first round, fetched after the last, or for a condition of the host's after each.
    const double bytes = rows_.behind(loop_.inputs.front()).value_or(0) * static_cast<double>(loop_.node->row->size);
    if (variable_here()) total.there += bytes / rates_.up + bytes / rates_.down * (n.loop_test ? rounds_ : 1) + rates_.launch;
    if (loop_.test_result.table && here_(*loop_.test_result.table)) total.there += rounds_ * rates_.launch * (graph ? waits_of_a_graph : 1);
    return total;
  }
  double rounds() const { return rounds_; }

  struct compiled_vertex {
    const vertex* v;
    double seconds;
  };
  std::vector<compiled_vertex> compile;
  const std::vector<const vertex*>& vertices() const { return all_; }

 private:
  double once_on_cpu(const work& w) const { return w.on_device / rates_.down + w.on_host / rates_.host_memory; }
  bool inside(const vertex& v) const { return std::find(all_.begin(), all_.end(), &v) != all_.end(); }
  bool variable_here() const { return loop_.body_result.table && here_(*loop_.body_result.table); }
  // Will rounds be repeated without the host? As the executor and the engine decide it.
  bool repeats() const {
    if (nested_ || loop_.node->loop_test || !loop_.body_result.table) return false;
    return std::all_of(all_.begin(), all_.end(), [&](const vertex* v) { return here_(*v) && !(v->node && v->node->what == verb::apply); });
  }
  std::optional<round_work> work_in(const vertex& v, bool as_placed) const {
    surroundings s;
    s.rows = &rows_;
    s.on_device = [&, as_placed](const vertex& w) { return here_(w) && (as_placed || !inside(w)); };
    s.stays = [](const branch& b) { return b.table ? b.table->slots.empty() : b.source->what != verb::placeholder; };
    s.variable_on_device = as_placed && variable_here();
    s.keeps_builds = as_placed && here_(v);
    return work_among(v, s);
  }

  const vertex& loop_;
  const rates& rates_;
  row_counts& rows_;
  bool nested_;
  predicate here_;
  double rounds_ = 1;
  std::vector<const vertex*> all_;
};

bool demanded(const vertex& v) { return planner::demands_gpu(v); }

// All that runs in a loop's rounds, inner loops' vertices, too.
template <class F> void each_of_rounds(const vertex& loop, F f) {
  for (const auto* list : {&loop.body, &loop.test})
    for (vertex* v : *list) {
      f(v);
      if (is_loop(*v)) each_of_rounds(*v, f);
    }
}
std::string told_of_loop(double rounds, bool counted) {
  char times[32];
  std::snprintf(times, sizeof times, "%.0f rounds", rounds);
  return counted ? times : std::string("some ") + times;
}

// The CPU is through with the rounds before kernels for them are generated.
void weigh_unplanned_loop(vertex& loop, const rates& r, std::vector<runtime::opinion>& out) {
  constexpr double not_long_beside_planning = 10e-3;
  bool any = false, asked_for = false;
  each_of_rounds(loop, [&](const vertex* v) {
    any |= may_be_here(*v);
    asked_for |= demanded(*v);
  });
  if (!any || asked_for) return;
  row_counts rows;
  loop_costs costs(loop, r, rows, false, may_be_here);
  const auto s = costs.sum();
  if (!s || s->cpu > not_long_beside_planning || s->pays()) return;
  const std::string why = "the loop, " + told_of_loop(costs.rounds(), loop.node->count) + ": " + s->reason();
  each_of_rounds(loop, [&](vertex* v) {
    if (v->accelerated && !is_loop(*v)) out.push_back({v, {false, why}});
  });
}

void weigh_loop(vertex& loop, const rates& r, placement& p, std::vector<runtime::opinion>& out) {
  row_counts rows;
  loop_costs costs(loop, r, rows, false);
  const auto& all = costs.vertices();
  if (std::none_of(all.begin(), all.end(), [](const vertex* v) { return here(*v); })) return;
  if (std::any_of(all.begin(), all.end(), [](const vertex* v) { return demanded(*v); })) return;
  auto s = costs.sum();
  if (!s) return;
  double to_compile = 0;
  for (const auto& c : costs.compile) to_compile += c.seconds;
  for (const auto& c : costs.compile)
    s->to_compile += p.kernels().charged(c.v, c.seconds, (s->cpu - s->there) * c.seconds / std::max(to_compile, 1e-9));
  const std::string what = told_of_loop(costs.rounds(), loop.node->count);
  if (s->pays()) {
    out.push_back({&loop, {true, what + ": " + shown_seconds(s->there) + " on the GPU, " + shown_seconds(s->cpu) + " on the CPU"}});
    return;
  }
  each_of_rounds(loop, [&](vertex* v) {
    if (here(*v)) out.push_back({v, {false, "the loop, " + what + ": " + s->reason()}});
  });
}

bool reads(const vertex& v, const vertex& table) {
  const auto in = [&](const branch& b) {
    return b.table == &table || std::any_of(b.stages.begin(), b.stages.end(), [&](const planner::stage& s) { return s.build == &table; });
  };
  return std::any_of(v.inputs.begin(), v.inputs.end(), in) ||
         std::any_of(v.captures.begin(), v.captures.end(), [&](const planner::binding& b) { return b.table == &table; });
}

// Cached rows are for queries to come: what reads them in this plan stands for those. There, or by the CPU with each reader
// where it is cheaper then.
void weigh_cached(const planner::machine_graph& g, vertex& cached, const rates& r, std::vector<runtime::opinion>& out) {
  row_counts rows;
  const auto among = [&](bool kept_here) {
    surroundings s;
    s.rows = &rows;
    s.on_device = [&, kept_here](const vertex& w) { return here(w) && (&w != &cached || kept_here); };
    return s;
  };
  const auto costs = [&](const vertex& v, bool kept_here) { return work_among(v, among(kept_here)); };
  const auto keeping = costs(cached, false);
  if (!keeping) return;
  work w = keeping->each;
  w.down = 0;
  expected_costs total{gpu_seconds(r, w), cpu_seconds(r, w)};
  bool read = false;
  for (const auto& v : g.vertices) {
    if (v.get() == &cached || !reads(*v, cached)) continue;
    if (!v->slots.empty() || demanded(*v) || is_loop(*v)) return;  // a loop reads it again and again
    const auto there = costs(*v, true), home = costs(*v, false);
    if (!there || !home) return;
    read = true;
    // It may run on the GPU only if it was accepted.
    const double by_cpu = cpu_seconds(r, home->each);
    total.there += readings_of_cached_rows * (here(*v) ? gpu_seconds(r, there->each) : cpu_seconds(r, there->each));
    total.cpu += readings_of_cached_rows * (here(*v) ? std::min(by_cpu, gpu_seconds(r, home->each)) : by_cpu);
  }
  // What a terminal verb folds is placed after this.
  if (g.result.table == &cached && !g.result.stages.empty()) {
    const auto there = fold_among(g.result, g.captures, false, among(true)), home = fold_among(g.result, g.captures, false, among(false));
    if (!there || !home || planner::demands_gpu(g.result)) return;
    read = true;
    total.there += readings_of_cached_rows * std::min(gpu_seconds(r, *there), cpu_seconds(r, *there));
    total.cpu += readings_of_cached_rows * std::min(gpu_seconds(r, *home), cpu_seconds(r, *home));
  }
  if (!read || total.pays()) return;
  out.push_back({&cached, {false, "with what reads it: " + total.reason()}});
}

// Partitions that nobody reads here come to the host.
void weigh_partition(const planner::machine_graph& g, vertex& partition, const rates& r, std::vector<runtime::opinion>& out) {
  if (std::any_of(g.vertices.begin(), g.vertices.end(), [&](const auto& v) { return here(*v) && reads(*v, partition); })) return;
  row_counts rows;
  const auto fetched = work_among(partition, {&rows, [](const vertex& v) { return here(v); }, {}, false, false});
  if (!fetched) return;
  const expected_costs s{gpu_seconds(r, fetched->each), cpu_seconds(r, fetched->each)};
  if (!s.pays()) out.push_back({&partition, {false, s.reason()}});
}

}  // namespace

std::vector<runtime::opinion> not_worth_planning(const planner::machine_graph& g, placement& p) {
  std::vector<runtime::opinion> out;
  for (const auto& v : g.vertices)
    if (is_loop(*v) && v->slots.empty() && p.known_rates()) weigh_unplanned_loop(*v, *p.known_rates(), out);
  return out;
}

std::vector<runtime::opinion> together(const planner::machine_graph& g, placement& p) {
  std::vector<runtime::opinion> out;
  for (const auto& v : g.vertices) {
    const bool loop = is_loop(*v) && v->slots.empty();  // one inside another is weighed with it
    const bool cached = v->node && v->node->what == verb::cached && here(*v) && v->slots.empty() && !demanded(*v);
    const bool partition = v->node && v->node->what == verb::partition && here(*v) && v->slots.empty() && !demanded(*v);
    if (!loop && !cached && !partition) continue;
    const rates* r = p.known_rates();
    if (!r) return out;
    if (loop) weigh_loop(*v, *r, p, out);
    else if (partition) weigh_partition(g, *v, *r, out);
    else weigh_cached(g, *v, *r, out);
  }
  return out;
}

}  // namespace query::gpu_engine
