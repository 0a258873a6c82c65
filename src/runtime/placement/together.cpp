// Vertices that are weighed together.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <utility>

#include "planner/orders.hpp"
#include "runtime/placement/vertex_work.hpp"
#include "runtime/placement/weighing.hpp"

namespace query::runtime {

namespace {

using detail::verb;
using planner::branch;
using planner::vertex;

// Rounds of a loop whose condition says when it ends; how often rows are read that are cached: guesses.
constexpr double rounds_of_a_loop = 10, readings_of_cached_rows = 8;

// Which vertices the other engine has.
using placed_there = std::function<bool(const vertex&)>;
placed_there of(const engine& e) {
  return [&e](const vertex& v) { return v.engine == e.name(); };
}
// Before any was placed: could it be there?
bool may_be_there(const vertex& v) { return v.accelerated && !planner::ordered_to(v, query::engine::cpu); }
bool is_loop(const vertex& v) { return v.node && v.node->what == verb::do_while; }

void add(expected_costs& to, const expected_costs& s) {
  to.there += s.there;
  to.cpu += s.cpu;
}

// One loop, as its vertices have been placed, or might be at best, against all of them on the CPU.
class loop_costs {
 public:
  loop_costs(const vertex& loop, const weighing& w, row_counts& rows, bool nested, placed_there there)
      : loop_(loop), weighing_(w), rows_(rows), nested_(nested), there_(std::move(there)) {
    for (const auto* list : {&loop.body, &loop.test}) all_.insert(all_.end(), list->begin(), list->end());
    rows_.begin_loop(loop);
  }

  // there: as placed, cpu: all on the CPU. Nothing where some vertex's rows are unknown.
  std::optional<expected_costs> sum() {
    const detail::logical& n = *loop_.node;
    rounds_ = n.count ? static_cast<double>(n.count) : rounds_of_a_loop;
    if (!n.count && n.most_rounds) rounds_ = std::min(rounds_, static_cast<double>(n.most_rounds));
    const cost_model& costs = weighing_.there();
    expected_costs total;
    const bool graph = repeats();
    const double whole = graph ? std::min(rounds_, 2.0) : rounds_;
    for (const vertex* v : all_) {
      if (is_loop(*v)) {
        const auto inner = loop_costs(*v, weighing_, rows_, true, there_).sum();
        if (!inner) return std::nullopt;
        add(total, {inner->there * rounds_, inner->cpu * rounds_});
        continue;
      }
      const auto placed = work_in(*v, true), home = work_in(*v, false);
      if (!placed || !home) return std::nullopt;
      round_work p = *placed;
      if (there_(*v)) {
        p.each.down = 0;  // the next vertex reads it there, or fetches it (on_device)
        total.there += costs.seconds(p.once) + whole * costs.seconds(p.each) +
                       (rounds_ - whole) * costs.seconds(p.each, {.repeated = true});
        placed_work.push_back({v, p.each});
      } else {
        total.there += once_on_cpu(p.once) + rounds_ * weighing_.on_cpu(p.each);
      }
      total.cpu += once_on_cpu(home->once) + rounds_ * weighing_.on_cpu(home->each);
    }
    // The variable: brought over by the first round, fetched after the last, or for a condition of the host's after each.
    const double bytes = rows_.behind(loop_.inputs.front()).value_or(0) * static_cast<double>(loop_.node->row->size);
    if (variable_there()) total.there += costs.brought(bytes) + costs.fetched(bytes) * (n.loop_test ? rounds_ : 1) + costs.wait();
    if (loop_.test_result.table && there_(*loop_.test_result.table)) total.there += rounds_ * costs.wait(graph);
    return total;
  }
  double rounds() const { return rounds_; }

  std::vector<weighing::placed_work> placed_work;  // of those on the other engine, in each round
  const std::vector<const vertex*>& vertices() const { return all_; }

 private:
  double once_on_cpu(const work& w) const { return weighing_.there().fetched(w.on_device) + weighing_.cpu().brought(w.on_host); }
  bool inside(const vertex& v) const { return std::find(all_.begin(), all_.end(), &v) != all_.end(); }
  bool variable_there() const { return loop_.body_result.table && there_(*loop_.body_result.table); }
  // Will rounds be repeated without the host? As the executor and the engine decide it.
  bool repeats() const {
    if (nested_ || loop_.node->loop_test || !loop_.body_result.table) return false;
    return std::all_of(all_.begin(), all_.end(), [&](const vertex* v) { return there_(*v) && !(v->node && v->node->what == verb::apply); });
  }
  std::optional<round_work> work_in(const vertex& v, bool as_placed) const {
    surroundings s;
    s.there = &weighing_.there();
    s.rows = &rows_;
    s.on_device = [&, as_placed](const vertex& w) { return there_(w) && (as_placed || !inside(w)); };
    s.stays = [](const branch& b) { return b.table ? b.table->slots.empty() : b.source->what != verb::placeholder; };
    s.variable_on_device = as_placed && variable_there();
    s.keeps_builds = as_placed && there_(v);
    return work_among(v, s);
  }

  const vertex& loop_;
  const weighing& weighing_;
  row_counts& rows_;
  bool nested_;
  placed_there there_;
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
void weigh_unplanned_loop(vertex& loop, const weighing& w, std::vector<opinion>& out) {
  constexpr double not_long_beside_planning = 10e-3;
  bool any = false, asked_for = false;
  each_of_rounds(loop, [&](const vertex* v) {
    any |= may_be_there(*v);
    asked_for |= demanded(*v);
  });
  if (!any || asked_for) return;
  row_counts rows;
  loop_costs costs(loop, w, rows, false, may_be_there);
  const auto s = costs.sum();
  if (!s || s->cpu > not_long_beside_planning || s->pays()) return;
  const std::string why = "the loop, " + told_of_loop(costs.rounds(), loop.node->count) + ": " + s->reason();
  each_of_rounds(loop, [&](vertex* v) {
    if (v->accelerated && !is_loop(*v)) out.push_back({v, {false, why}});
  });
}

void weigh_loop(vertex& loop, const weighing& w, std::vector<opinion>& out) {
  row_counts rows;
  const placed_there there = of(w.by());
  loop_costs costs(loop, w, rows, false, there);
  const auto& all = costs.vertices();
  if (std::none_of(all.begin(), all.end(), [&](const vertex* v) { return there(*v); })) return;
  if (std::any_of(all.begin(), all.end(), [](const vertex* v) { return demanded(*v); })) return;
  auto s = costs.sum();
  if (!s) return;
  s->to_compile = w.charged(costs.placed_work, s->cpu - s->there);
  const std::string what = told_of_loop(costs.rounds(), loop.node->count);
  if (s->pays()) {
    out.push_back({&loop, {true, what + ": " + shown_seconds(s->there) + " on the GPU, " + shown_seconds(s->cpu) + " on the CPU"}});
    return;
  }
  each_of_rounds(loop, [&](vertex* v) {
    if (there(*v)) out.push_back({v, {false, "the loop, " + what + ": " + s->reason()}});
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
void weigh_cached(const planner::machine_graph& g, vertex& cached, const weighing& by, std::vector<opinion>& out) {
  row_counts rows;
  const cost_model& gpu = by.there();
  const placed_there there = of(by.by());
  const auto among = [&](bool kept_there) {
    surroundings s;
    s.there = &gpu;
    s.rows = &rows;
    s.on_device = [&, kept_there](const vertex& w) { return there(w) && (&w != &cached || kept_there); };
    return s;
  };
  const auto costs = [&](const vertex& v, bool kept_there) { return work_among(v, among(kept_there)); };
  const auto keeping = costs(cached, false);
  if (!keeping) return;
  work w = keeping->each;
  w.down = 0;
  expected_costs total{gpu.seconds(w), by.on_cpu(w)};
  bool read = false;
  for (const auto& v : g.vertices) {
    if (v.get() == &cached || !reads(*v, cached)) continue;
    if (!v->slots.empty() || demanded(*v) || is_loop(*v)) return;  // a loop reads it again and again
    const auto kept = costs(*v, true), home = costs(*v, false);
    if (!kept || !home) return;
    read = true;
    // It may run there only if it was accepted.
    const double by_cpu = by.on_cpu(home->each);
    total.there += readings_of_cached_rows * (there(*v) ? gpu.seconds(kept->each) : by.on_cpu(kept->each));
    total.cpu += readings_of_cached_rows * (there(*v) ? std::min(by_cpu, gpu.seconds(home->each)) : by_cpu);
  }
  // What a terminal verb folds is placed after this.
  if (g.result.table == &cached && !g.result.stages.empty()) {
    const auto kept = fold_among(g.result, g.captures, false, among(true)), home = fold_among(g.result, g.captures, false, among(false));
    if (!kept || !home || planner::demands_gpu(g.result)) return;
    read = true;
    total.there += readings_of_cached_rows * std::min(gpu.seconds(*kept), by.on_cpu(*kept));
    total.cpu += readings_of_cached_rows * std::min(gpu.seconds(*home), by.on_cpu(*home));
  }
  if (!read || total.pays()) return;
  out.push_back({&cached, {false, "with what reads it: " + total.reason()}});
}

// Partitions that nobody reads there come to the host.
void weigh_partition(const planner::machine_graph& g, vertex& partition, const weighing& by, std::vector<opinion>& out) {
  const placed_there there = of(by.by());
  if (std::any_of(g.vertices.begin(), g.vertices.end(), [&](const auto& v) { return there(*v) && reads(*v, partition); })) return;
  row_counts rows;
  const auto fetched = work_among(partition, {&by.there(), &rows, there, {}, false, false});
  if (!fetched) return;
  const expected_costs s{by.there().seconds(fetched->each), by.on_cpu(fetched->each)};
  if (!s.pays()) out.push_back({&partition, {false, s.reason()}});
}

}  // namespace

std::vector<opinion> weighing::not_worth_planning(const planner::machine_graph& g) const {
  std::vector<opinion> out;
  for (const auto& v : g.vertices)
    if (is_loop(*v) && v->slots.empty() && weighs()) weigh_unplanned_loop(*v, *this, out);
  return out;
}

std::vector<opinion> weighing::together(const planner::machine_graph& g) const {
  std::vector<opinion> out;
  const placed_there there = of(there_);
  for (const auto& v : g.vertices) {
    const bool loop = is_loop(*v) && v->slots.empty();  // one inside another is weighed with it
    const auto alone = [&](verb what) { return v->node && v->node->what == what && there(*v) && v->slots.empty() && !demanded(*v); };
    const bool cached = alone(verb::cached), partition = alone(verb::partition);
    if (!loop && !cached && !partition) continue;
    if (!weighs()) return out;
    if (loop) weigh_loop(*v, *this, out);
    else if (partition) weigh_partition(g, *v, *this, out);
    else weigh_cached(g, *v, *this, out);
  }
  return out;
}

}  // namespace query::runtime
