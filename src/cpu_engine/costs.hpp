// The CPU engine's own costs, from rates that are given, or measured when they are first wanted.
#pragma once

#include <functional>
#include <utility>

#include "runtime/cpu_costs.hpp"
#include "runtime/placement/cost_model.hpp"

namespace query::cpu {

class cpu_costs final : public runtime::cost_model {
 public:
  // Null: nothing is known.
  explicit cpu_costs(std::function<const runtime::host_rates*()> rates) : rates_(std::move(rates)) {}
  bool known() const override { return rates_(); }
  double seconds(const runtime::work& w, const runtime::work_terms& = {}) const override;
  std::optional<double> operations(const planner::branch& b) const override;
  double brought(double bytes) const override { return bytes / rates_()->host_memory; }

 private:
  std::function<const runtime::host_rates*()> rates_;
};

}  // namespace query::cpu
