#include <query/detail/asof_options.hpp>

#include "runtime/engine_choices.hpp"

#include <algorithm>
#include <bit>
#include <unordered_set>
#include <vector>

#include "runtime/part_costs.hpp"
#include "runtime/session_state.hpp"

namespace query::runtime {

using detail::logical;
using detail::verb;

namespace {

constexpr std::size_t most_remembered = 4096;
constexpr const char* as_before = "as in its last runs";
constexpr int most_until_asked_again = 4096;
// A host that others use as well makes one run of two as slow as it likes: where the least of them says little, more follow.
constexpr int fewest_to_try = 2, runs_to_try = 4, most_to_try = 12;
constexpr double far_slower = 2, says_little = 1.5;
constexpr double little_lost = 0.5e-3;  // seconds, by a run that is expected to be so much slower
// By so much the CPU must have been faster; and what takes so many times as long as before is another query under the same name.
constexpr double faster = 0.95, much_longer = 3, at_least = 1e-3;

class fingerprint {
 public:
  fingerprint(session_state& session) : session_(&session) {}

  void add(std::uint64_t x) { hash_ = std::rotl((hash_ ^ x) * 0x9E3779B97F4A7C15ull, 29); }
  void add(const void* p) { add(std::bit_cast<std::uintptr_t>(p)); }
  template <class R, class... A> void add(R (*f)(A...)) { add(std::bit_cast<std::uintptr_t>(f)); }

  bool add(const logical& n) {
    if (++nodes_ > most_nodes) return false;
    if (n.gpu_required || n.ordered_to) return false;
    switch (n.what) {
      case verb::source_file:
      case verb::placeholder:
      case verb::do_while:
      case verb::apply:
        return false;
      case verb::source_stream:
        if (!n.count) return false;
        break;
      case verb::cached:
        if (!session_->find_cached(n, n.ordered)) return false;
        add(n.kept_as.get());
        break;
      default:
        break;
    }
    add(static_cast<std::uint64_t>(n.what) | std::uint64_t{n.accelerated} << 8 | std::uint64_t{n.fast_math} << 9 |
        std::uint64_t{n.ordered} << 10 | std::uint64_t{n.all} << 11 | static_cast<std::uint64_t>(n.join) << 12);
    for (const std::uint64_t x : {n.count, n.step, n.seed}) add(x);
    add(static_cast<const void*>(n.row));
    add(static_cast<const void*>(n.key));
    add(n.aggregate.update);
    add(n.rows_call);
    add(n.keys.equal);
    if (const asof_options* asof = detail::asof_of(n)) add(std::uint64_t{asof->exact} << 2 | static_cast<std::uint64_t>(asof->direction));
    if (n.view) {
      detail::row_block rows;
      n.view(n.source.get(), rows);
      add(static_cast<const void*>(rows.columns ? rows.columns[0] : rows.rows));
      add(rows.n);
    }
    for (const detail::order_key& k : n.order) {
      add(std::uint64_t{k.descending} | std::uint64_t{k.nulls_first} << 1);
      add(k.custom.less);
    }
    for (const detail::user_function& f : n.functions)
      if (!add(f)) return false;
    return std::all_of(n.inputs.begin(), n.inputs.end(), [&](const detail::pipe& p) { return add(*p.node); });
  }
  std::uint64_t value() const { return hash_; }

 private:
  static constexpr int most_nodes = 256;

  bool add(const detail::user_function& f) {
    add(f.retrace);
    add(f.native.map);
    add(f.native.filter);
    add(f.native.map_pairs);
    add(f.native.expand);
    add(static_cast<const void*>(f.device.get()));
    if (f.held) add(f.trace().root->shape);  // its calls are those of every such function
    for (const auto& c : f.captures) {
      if (!c->owner) return false;  // rows that a query of its own gives
      add(c->size);
    }
    return true;
  }

  session_state* session_;
  std::uint64_t hash_ = 0;
  int nodes_ = 0;
};

}  // namespace

std::optional<std::uint64_t> recognised(const detail::pipe& p, std::optional<detail::fold_kind> fold, session_state& session) {
  fingerprint f(session);
  f.add(fold ? static_cast<std::uint64_t>(*fold) + 1 : 0);
  if (!f.add(*p.node)) return std::nullopt;
  return f.value();
}

engine_choices::choice engine_choices::chosen(const seen& s) {
  if (s.asked < runs_to_know) return {};
  if (!s.last.elsewhere && (s.last.may_save > worth_asking || s.chosen_least > too_short_to_ask)) return {};
  if (!s.last.elsewhere) return {way::cpu, as_before};
  const bool unasked = s.last.all_on_gpu && s.chosen_least < short_enough_to_try;
  const choice stays = unasked ? choice{way::gpu, as_before, s.last.shape} : choice{};
  if (unasked && s.gpu < runs_to_know) return stays;  // what it takes unasked is what the CPU has to beat
  // What was expected there may be less than any query takes there, which planning and waits are part of.
  const double there = std::max(s.last.there, s.chosen_least);
  if (!s.last.weighed || s.last.cpu > std::max(close * there, there + little_lost)) return stays;
  if (std::max(s.chosen_least, s.last.cpu) > short_enough_to_try) return stays;
  const double times = s.cpu_least / s.chosen_least;
  const bool slower = times > faster;
  const int tries = times > far_slower ? fewest_to_try : !slower || times > says_little ? runs_to_try : most_to_try;
  if (s.cpu < tries && unasked && s.gpu < s.cpu + runs_to_know) return stays;  // in turn: the least of more runs is less by itself
  if (s.cpu < tries)
    return {way::cpu, "tried, as " + shown_seconds(s.last.there) + " were expected there, " + shown_seconds(s.last.cpu) + " here"};
  if (slower) return stays;
  return {way::cpu, "its runs took " + shown_seconds(s.cpu_least) + " here, " + shown_seconds(s.chosen_least) + " there"};
}

engine_choices::choice engine_choices::choose(std::uint64_t query) {
  const std::lock_guard hold(lock_);
  const auto it = all_.find(query);
  if (it == all_.end()) return {};
  seen& s = it->second;
  if (++s.since > s.until) {
    const int until = std::min(2 * s.until, most_until_asked_again);
    s = {};
    s.until = until;
  }
  choice c = chosen(s);
  s.cpu += c.by == way::cpu;  // counted before it runs: one that throws was a run as well
  s.gpu += c.by == way::gpu;
  return c;
}

engine_choices::choice engine_choices::shown(std::uint64_t query) const {
  const std::lock_guard hold(lock_);
  const auto it = all_.find(query);
  if (it == all_.end()) return {};
  choice c = chosen(it->second);
  return c.why == as_before ? choice{} : c;
}

void engine_choices::forget(std::uint64_t query) {
  const std::lock_guard hold(lock_);
  all_.erase(query);
}

void engine_choices::forget_all() {
  const std::lock_guard hold(lock_);
  all_.clear();
}

void engine_choices::ran(std::uint64_t query, way by, const expected_way& expected, double seconds) {
  const std::lock_guard hold(lock_);
  if (all_.size() >= most_remembered && !all_.contains(query)) all_.clear();
  seen& s = all_[query];
  if (by == way::asked) {
    // Other functions, or another query: captured by reference, they may differ under one name.
    const bool another = s.last.elsewhere != expected.elsewhere || s.last.all_on_gpu != expected.all_on_gpu ||
                         (expected.elsewhere && s.last.shape != expected.shape);
    if (s.asked && another) s = {};
    ++s.asked;
    s.chosen_least = std::min(s.chosen_least, seconds);
    s.last = expected;
    return;
  }
  double& least = by == way::gpu ? s.chosen_least : s.cpu_least;
  const double before = by == way::gpu || s.last.elsewhere ? least : std::min(s.cpu_least, s.chosen_least);
  if (seconds > much_longer * before + at_least) {
    // Once may be what others do on the host or the GPU meanwhile.
    if (++s.slow == runs_to_know) all_.erase(query);
    return;
  }
  s.slow = 0;
  least = std::min(least, seconds);
}

bool lie_ready(const planner::vertex& v) {
  if (v.node || v.inputs.size() != 1) return false;
  const planner::branch& b = v.inputs.front();
  return b.source && b.source->view && b.stages.empty() && b.prefilters.empty();
}

expected_way expected_of(const planner::machine_graph& g, session_state& session) {
  expected_way all;
  all.all_on_gpu = true;
  std::unordered_set<const planner::vertex*> met;
  std::vector<const planner::vertex*> open;
  const auto need = [&](const planner::vertex* v) {
    if (v && met.insert(v).second) open.push_back(v);
  };
  const auto need_of = [&](const planner::branch& b) {
    need(b.table);
    for (const planner::stage& s : b.stages) need(s.build);
  };
  const auto add = [&](const planner::vertex& v) { all.add(v.engine == "cpu", v.shares.empty() ? v.expected : std::nullopt); };
  need_of(g.result);
  for (const planner::binding& c : g.captures) need(c.table);
  while (!open.empty()) {
    const planner::vertex& v = *open.back();
    open.pop_back();
    const engine* const by = session.engine_named(v.engine);
    const bool on_gpu = v.shares.empty() && by && by->is_gpu();
    all.all_on_gpu &= !v.cut_off && (!v.accelerated || (lie_ready(v) ? v.engine == "cpu" : on_gpu));
    if (v.node && v.node->what == verb::cached && session.find_cached(*v.node, v.ordered)) continue;
    for (const planner::branch& b : v.inputs) need_of(b);
    for (const planner::binding& c : v.captures) need(c.table);
    add(v);
  }
  if (g.fold) add(*g.fold);
  return all;
}

}  // namespace query::runtime
