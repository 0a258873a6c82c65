#include "runtime/placement/weighing.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "planner/orders.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/placement/vertex_work.hpp"

namespace query::runtime {

using planner::vertex;

namespace {

constexpr double waits_of_a_fetch = 20;
constexpr double shorter_than_planning = 0.3e-3;  // seconds

// The same for next to no rows: what is left are waits.
work hardly_any(work w) {
  constexpr double part = 1e-9;
  for (double* x : {&w.up, &w.on_host, &w.down, &w.on_device, &w.for_device}) *x *= part;
  for (step& s : w.steps)
    for (double* x : {&s.rows, &s.bytes}) *x *= part;
  return w;
}
part_cost in_parts(double start, double all) { return {start, std::max(all - start, 1e-9)}; }

}  // namespace

weighing::weighing(const engine& there, const session_state& session, compile_debts::of_plan& saved)
    : there_(there), session_(session), saved_(saved), costs_(there.costs()), cpu_(costs_ ? session.cpu->costs() : nullptr) {}

double seconds_on_cpu(const cost_model& cpu, const cost_model& there, const work& w) {
  return cpu.seconds(w) + (w.on_device > 0 ? there.fetched(w.on_device) + waits_of_a_fetch * there.wait() : 0);
}

double weighing::charged(const std::vector<placed_work>& all, double saved) const {
  std::vector<missing_code> codes;
  double price = 0, seconds = 0;
  for (const placed_work& p : all) price += codes.emplace_back(costs_->to_compile(*p.v, p.amount)).seconds;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const double part = price > 0 ? codes[i].seconds / price : 0;
    seconds += session_.history.debts.charged(*all[i].v, std::move(codes[i]), saved * part, saved_);
  }
  return seconds;
}

// What both would need of work whose rows may be divided among them.
void weighing::divide(const planner::branch& b, const work& w, verdict& answer, expected_costs& s, double& saved) const {
  const std::optional<double> operations = cpu_->operations(b);
  if (!operations) return;
  work mine = w;
  for (step& x : mine.steps)
    if (x.what == operation::row_wise) x.operations = *operations;
  s.cpu = on_cpu(mine);
  const work least = hardly_any(w);
  part_costs& c = answer.costs.emplace();
  c.on = answer.why;
  c.here = in_parts(costs_->seconds(least), s.there);
  c.cpu = in_parts(on_cpu(least), s.cpu);
  costs_->beside_cpu(w, c);
  saved = s.cpu - s.there;
  if (const auto d = runtime::divide(std::array{c}, session_.scheduler->concurrency())) saved = std::max(saved, s.cpu - d->seconds);
}

verdict weighing::asked(const vertex& v) const {
  saved_.erase(&v);  // of another vertex, which lay there before
  if (std::string why = there_.refuses(v); !why.empty()) return {false, std::move(why)};
  const bool demanded = there_.is_gpu() && planner::demands_gpu(v);
  const std::optional<work> w = cpu_ && !demanded ? work_of(v, &there_) : std::nullopt;
  const bool weighed = w && weighs();
  if (weighed) {
    const expected_costs s{costs_->seconds(*w), on_cpu(*w)};
    if (s.cpu < shorter_than_planning && !s.pays()) return {false, s.reason()};  // done before code for it is looked up
  }
  verdict answer = there_.accepts(v);
  if (!answer) return answer;
  if (weighed) {
    expected_costs s{costs_->seconds(*w, {.devices = answer.devices}), on_cpu(*w)};
    double saved = s.cpu - s.there;
    if (answer.devices == 1 && divisible(v)) divide(v.inputs.front(), *w, answer, s, saved);
    s.to_compile = charged({{&v, *w}}, saved);
    if (s.to_compile > 0) answer.costs.reset();
    answer.expected = s;
    answer.why = (answer ? answer.why + ": " : "") + s.reason();
  }
  if (answer) answer.why += answer.notes;
  return answer;
}

}  // namespace query::runtime
