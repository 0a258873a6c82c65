#include "runtime/run_profile.hpp"

#include <cstdio>
#include <numeric>
#include <utility>

#include "planner/names.hpp"
#include "runtime/terminal_plan.hpp"

namespace query::runtime {

using planner::vertex;

namespace {

thread_local const profiled_run* task_of = nullptr;  // whose task this thread runs

std::uint64_t value(const std::atomic<std::uint64_t>& n) { return n.load(std::memory_order_relaxed); }

void name_joins(const planner::branch& b, profiled_vertex* records) {
  for (const planner::stage& s : b.stages)
    if (s.build && !s.build->node && s.build->number >= 0)
      if (auto& verb = records[s.build->number].verb; verb.expired()) verb = s.join->weak_from_this();
}

// explain() numbers a loop before what it repeats.
int number_places(const vertex& v, profiled_vertex* records, int before) {
  records[v.number].place = ++before;
  for (const auto* inside : {&v.body, &v.test})
    for (const vertex* w : *inside) before = number_places(*w, records, before);
  return before;
}

void add(std::atomic<std::uint64_t>& to, std::uint64_t n, bool alone) {
  if (alone) to.store(value(to) + n, std::memory_order_relaxed);
  else to.fetch_add(n, std::memory_order_relaxed);
}

// Adds its lifetime to what threads spent in tasks of a vertex.
class counted_task {
 public:
  counted_task(const profiled_run* run, profiled_vertex& v, bool alone)
      : of_(&v), alone_(alone), outer_(std::exchange(task_of, run)), begin_(ticks()) {}
  ~counted_task() {
    const std::uint64_t end = ticks();
    task_of = outer_;
    add(of_->morsels, 1, alone_);
    if (end > begin_) add(of_->busy, end - begin_, alone_);
  }
  counted_task(const counted_task&) = delete;
  counted_task& operator=(const counted_task&) = delete;

 private:
  profiled_vertex* of_;
  bool alone_;
  const profiled_run* outer_;
  std::uint64_t begin_;
};

bool is_source(const planner::branch& b) { return b.source && b.source->what != detail::verb::placeholder; }

}  // namespace

profiled_run::profiled_run(planner::machine_graph& g, buffer_pool& pool, const scheduler& threads, std::uint64_t begin)
    : records_(few_),
      vertices_(static_cast<int>(g.vertices.size())),
      threads_(threads.concurrency()),
      many_(g.vertices.size() < few ? nullptr : std::make_unique<profiled_vertex[]>(g.vertices.size() + 1)),
      pool_(&pool),
      since_(begin),
      begin_(begin) {
  if (many_) records_ = many_.get();
  bool joins = false;
  for (int i = 0; i < vertices_; ++i) {
    vertex& v = *g.vertices[static_cast<std::size_t>(i)];
    v.number = i;
    profiled_vertex& r = records_[i];
    r.engine = v.engine;
    r.reads_source = v.node && v.node->what == detail::verb::source_file;
    for (const planner::branch& b : v.inputs) r.reads_source |= is_source(b);
    if (v.node) {
      r.has_verb = true;
      r.what = v.node->what;
      r.verb = v.node->weak_from_this();
    }
    joins |= !v.node;
  }
  of_result().engine = g.result_engine;
  if (g.fold) g.fold->number = result();
  of_result().reads_source = is_source(g.result);
  int place = 0;
  for (const vertex* v : g.top) place = number_places(*v, records_, place);
  if (joins) {
    for (const auto& v : g.vertices)
      for (const planner::branch& b : v->inputs) name_joins(b, records_);
    name_joins(g.result, records_);
  }
  pool_->follow(1);
}

int profiled_run::enter(int number) noexcept {
  // One thread at a time drives a run: nothing else changes these meanwhile.
  const std::uint64_t now = ticks(), since = value(since_), peak = pool_->take_recent_peak();
  const int before = current_.load(std::memory_order_relaxed);
  since_.store(now, std::memory_order_relaxed);
  current_.store(number, std::memory_order_relaxed);
  if (profiled_vertex* r = at(before)) {
    if (now > since) r->ticks.store(value(r->ticks) + now - since, std::memory_order_relaxed);
    if (peak > value(r->peak)) r->peak.store(peak, std::memory_order_relaxed);
  }
  if (profiled_vertex* r = at(number)) r->ran.store(true, std::memory_order_relaxed);
  return before;
}

profiled_run::scope::scope(profiled_run* run, int number) : run_(run && number >= 0 && task_of != run ? run : nullptr) {
  if (run_) before_ = run_->enter(number);
}

void profiled_run::clear() {
  for (int i = 0; i <= vertices_; ++i) {
    profiled_vertex& r = records_[i];
    for (auto* n : {&r.rows_in, &r.rows_out, &r.bytes_out, &r.morsels, &r.spilled, &r.rounds, &r.ticks, &r.busy, &r.peak, &r.perfect})
      *n = 0;
    r.ran = false;
  }
}

void profiled_run::end(const detail::logical& last, std::string_view terminal) noexcept {
  enter(nobody);
  pool_->follow(-1);
  pool_ = nullptr;  // the profile may outlive the session
  all_ = value(since_) - begin_;
  try {
    terminal_ = terminal.empty() || terminal == "value" ? "rows" : terminal;
    const user_query user = user_query_of(last);
    if (!user.added.empty()) {
      terminal_ += user.added;
      for (int i = 0; i < vertices_; ++i)
        for (const detail::logical* n = &last; n != user.last; n = n->inputs.front().node.get())
          if (records_[i].has_verb && records_[i].verb.lock().get() == n) added_.emplace_back(i, planner::verb_of(*n));
    }
    of_ = user.last;
    alive_ = user.last->weak_from_this();
  } catch (const std::bad_alloc&) {
    of_ = nullptr;  // nobody finds it
  }
}

bool profiled_run::fits(const planner::machine_graph& g) const {
  if (static_cast<int>(g.vertices.size()) != vertices_) return false;
  for (int i = 0; i < vertices_; ++i) {
    const vertex& v = *g.vertices[static_cast<std::size_t>(i)];
    const profiled_vertex& r = records_[i];
    if (r.has_verb != (v.node != nullptr)) return false;
    if (!v.node) continue;
    const auto verb = r.verb.lock();
    if (verb ? verb.get() != v.node : r.what != v.node->what) return false;
  }
  return true;
}

vertex_profile profiled_run::shown(const profiled_vertex& r) const {
  vertex_profile v;
  v.engine = r.engine;
  v.rows_in = value(r.rows_in);
  v.rows_out = value(r.rows_out);
  v.bytes_out = value(r.bytes_out);
  const double tick = seconds_a_tick();
  v.seconds = static_cast<double>(value(r.ticks)) * tick;
  v.busy_seconds = static_cast<double>(value(r.busy)) * tick;
  v.threads = threads_;
  v.morsels = value(r.morsels);
  v.peak_bytes = value(r.peak);
  v.spilled_bytes = value(r.spilled);
  v.rounds = value(r.rounds);
  return v;
}

std::string profiled_run::name_of(int i) const {
  const profiled_vertex& r = records_[i];
  if (i == vertices_) return "result";
  const std::string number = "v" + std::to_string(r.place) + " ";
  const auto verb = r.verb.lock();
  if (!r.has_verb) return number + (verb ? "hash table of " + verb->label : std::string("collect"));
  for (const auto& [vertex, name] : added_)
    if (vertex == i) return number + name;
  return number + (verb ? planner::verb_of(*verb) : std::string(detail::name_of(r.what)));
}

std::string profiled_run::text_of(int number) const {
  const profiled_vertex& r = records_[number];
  if (!r.ran) return {};
  const vertex_profile v = shown(r);
  std::string text = "ran in " + readable_seconds(v.seconds) + ": " + readable_count(v.rows_in) +
                     (v.rows_in == 1 ? " row in, " : " rows in, ") + readable_count(v.rows_out) + " out";
  if (v.rounds) text += ", " + readable_count(v.rounds) + (v.rounds == 1 ? " round" : " rounds");
  if (v.engine == "gpu") return text;
  if (v.rows_out) text += ", " + readable_bytes(v.bytes_out);
  if (v.morsels) {
    char share[8];
    std::snprintf(share, sizeof share, "%.0f %%", 100 * v.busy_share());
    text += ", " + std::to_string(v.threads) + (v.threads == 1 ? " thread busy " : " threads busy ") + share + ", " +
            readable_count(v.morsels) + (v.morsels == 1 ? " morsel" : " morsels");
  }
  if (v.peak_bytes) text += ", peak " + readable_bytes(v.peak_bytes);
  if (v.spilled_bytes) text += ", " + readable_bytes(v.spilled_bytes) + " written to temporary files";
  if (const std::uint64_t keys = value(r.perfect)) text += ", perfect hash table of " + readable_count(keys) + " keys";
  return text;
}

std::shared_ptr<const vertex_profile> profiled_run::observed(int number) const {
  const profiled_vertex& r = records_[number];
  return r.ran ? std::make_shared<const vertex_profile>(shown(r)) : nullptr;
}

run_profile profiled_run::shown() const {
  std::vector<int> in_order(static_cast<std::size_t>(vertices_) + 1);
  std::iota(in_order.begin(), in_order.end(), 0);
  std::stable_sort(in_order.begin(), in_order.end() - 1, [&](int a, int b) { return records_[a].place < records_[b].place; });
  run_profile p;
  for (const int i : in_order) {
    const profiled_vertex& r = records_[i];
    if (!r.ran) continue;
    vertex_profile& v = p.vertices.emplace_back(shown(r));
    v.name = name_of(i);
    if (r.reads_source) p.total.rows_in += v.rows_in;
    p.total.busy_seconds += v.busy_seconds;
    p.total.morsels += v.morsels;
    p.total.spilled_bytes += v.spilled_bytes;
    p.total.peak_bytes = std::max(p.total.peak_bytes, v.peak_bytes);
  }
  p.total.name = "total";
  p.total.seconds = static_cast<double>(all_) * seconds_a_tick();
  p.total.threads = threads_;
  p.total.rows_out = value(records_[vertices_].rows_out);
  p.total.bytes_out = value(records_[vertices_].bytes_out);
  return p;
}

void measured_scheduler::for_each(std::size_t n, function_ref<void(std::size_t)> task, const cancel_flag& cancel) {
  profiled_vertex* const of = run_ ? run_->now() : nullptr;
  if (!of) return threads_->for_each(n, task, cancel);
  if (n == 1 && task_of != run_) {  // in this thread, and no other counts
    const counted_task time(run_, *of, true);
    return threads_->for_each(1, task, cancel);
  }
  threads_->for_each(n, [&](std::size_t i) {
    if (task_of == run_) return task(i);
    const counted_task time(run_, *of, false);
    task(i);
  }, cancel);
}

// ---------------------------------------------------------------- words
std::string readable_seconds(double s) {
  char text[32];
  if (s < 1e-3) std::snprintf(text, sizeof text, "%.0f us", s * 1e6);
  else if (s < 1) std::snprintf(text, sizeof text, "%.1f ms", s * 1e3);
  else std::snprintf(text, sizeof text, "%.2f s", s);
  return text;
}

std::string readable_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  constexpr const char* units[] = {"KiB", "MiB", "GiB", "TiB"};
  double n = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  while (n >= 1024 && unit + 1 < std::size(units)) n /= 1024, ++unit;
  char text[32];
  std::snprintf(text, sizeof text, n < 10 ? "%.1f %s" : "%.0f %s", n, units[unit]);
  return text;
}

std::string readable_count(std::uint64_t n) {
  std::string digits = std::to_string(n);
  for (std::size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace query::runtime
