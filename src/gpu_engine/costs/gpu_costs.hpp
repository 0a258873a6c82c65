// The GPU engine's own costs: from rates that are given, or measured when they are first wanted, and from which kernels are compiled.
//
//   gpu_costs c;  c.by(fixed_rates);
//   if (c.known()) seconds = c.seconds(work);
#pragma once

#include <functional>
#include <optional>
#include <utility>

#include "gpu_engine/costs/known_kernels.hpp"
#include "gpu_engine/costs/rates.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

// Thread-safe once rates or their measure were given.
class gpu_costs final : public runtime::cost_model {
 public:
  void by(const rates& r) {
    by_measuring([r] { return &r; });
  }
  // Called again and again. Null: nothing is known.
  void by_measuring(std::function<const rates*()> rates) { rates_ = std::move(rates); }
  explicit operator bool() const { return static_cast<bool>(rates_); }
  known_kernels& kernels() { return kernels_; }

  bool known() const override { return rates_ && rates_(); }
  double seconds(const work& w, const runtime::work_terms& terms = {}) const override;
  double brought(double bytes) const override { return bytes / rates_()->up; }
  double fetched(double bytes) const override { return bytes / rates_()->down; }
  double wait(bool repeated = false) const override;
  runtime::missing_code to_compile(const planner::vertex& v, const work& w) const override;
  void beside_cpu(const work& w, runtime::part_costs& c) const override;
  std::optional<runtime::nearest_work> search(const planner::branch& b, const detail::logical* keyed) const override;

 private:
  std::function<const rates*()> rates_;
  mutable known_kernels kernels_;
};

// The costs of an engine that make_engine made.
gpu_costs& costs_of(runtime::engine& e);

}  // namespace query::gpu_engine
