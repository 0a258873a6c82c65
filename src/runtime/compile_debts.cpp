#include "runtime/compile_debts.hpp"

#include <utility>

namespace query::runtime {

namespace {
constexpr std::size_t most_remembered = 4096;
}

double compile_debts::charged(const planner::vertex& v, missing_code code, double saved, of_plan& plan) const {
  if (code.name.empty()) return 0;
  const double price = code.seconds;
  if (price > 0 && saved <= 0) return price;  // it stays here anyway
  const saving& s = plan[&v] = {std::move(code), saved};
  if (price == 0) return 0;
  const std::lock_guard hold(lock_);
  const auto lost = lost_.find(s.code.name);
  return (lost == lost_.end() ? 0 : lost->second) + saved >= price ? 0 : price;
}

void compile_debts::begins(const planner::machine_graph& g, const of_plan& plan) {
  if (plan.empty()) return;
  const std::lock_guard hold(lock_);
  const auto begins = [&](const planner::vertex* v) {
    const auto at = plan.find(v);
    if (at == plan.end()) return;
    const missing_code& code = at->second.code;
    if (code.seconds == 0) {  // it was paid
      lost_.erase(code.name);
      return;
    }
    if (lost_.size() >= most_remembered && !lost_.contains(code.name)) lost_.clear();
    lost_[code.name] += at->second.seconds;
  };
  for (const auto& v : g.vertices) begins(v.get());
  begins(g.fold.get());
}

}  // namespace query::runtime
