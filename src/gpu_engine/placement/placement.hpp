// The engine's choice of what it takes: costs from rates, which are given or measured at the first question.
//
//   placement p;  p.by(fixed_rates);
//   if (const auto c = p.weigh(&vertex, sources, [&] { return work_of(vertex); }); c && !c->pays()) -> the CPU
#pragma once

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "gpu_engine/placement/costs.hpp"
#include "gpu_engine/placement/division_costs.hpp"
#include "gpu_engine/placement/known_kernels.hpp"
#include "runtime/engine.hpp"

namespace query::gpu_engine {

// Thread-safe once rates or their measure were given.
class placement {
 public:
  void by(const rates& r, int threads = 16) {
    measure_ = [r] { return std::optional(r); };
    threads_ = threads;
  }
  // `threads`: of the session.
  void by_measuring(std::function<std::optional<rates>()> measure, int threads) {
    measure_ = std::move(measure);
    threads_ = threads;
  }

  // Nothing without rates, or where `amount` does not know how much work there is. `amount` gives an optional<work>, `sources` is
  // what was generated to plan it; `devices` share it. `divisible`: what each of the rows takes, where they may be divided among `device`
  // and the CPU.
  template <class Amount>
  std::optional<runtime::expected_costs> weigh(const void* what, const std::string& sources, Amount amount, std::size_t devices = 1,
                                  const std::optional<row_expressions>& divisible = {}, const std::string& device = {}) {
    kernels_.planned(what, sources);
    if (!measure_) return std::nullopt;
    const std::optional<work> w = amount();
    if (!w) return std::nullopt;
    if (!known_rates()) return std::nullopt;
    runtime::expected_costs s{gpu_seconds(*rates_, *w, 1, devices), cpu_seconds(*rates_, *w)};
    double saved = s.cpu - s.there;
    if (divisible) {
      const work there = with_expressions(*rates_, *w, *divisible);
      s.cpu = cpu_seconds(*rates_, there);
      saved = s.cpu - s.there;
      s.parts = division_costs(*rates_, *w, there, device);
      if (const auto d = runtime::divide({&*s.parts, 1}, threads_)) saved = std::max(saved, s.cpu - d->seconds);
    }
    s.to_compile = kernels_.charged(what, seconds_to_compile(*w), saved);
    if (s.to_compile > 0) s.parts.reset();
    return s;
  }
  // The CPU has done it before the GPU's kernels are looked up: not worth generating them. Nothing otherwise.
  template <class Amount> std::optional<runtime::expected_costs> plainly_there(Amount amount) {
    constexpr double shorter_than_planning = 0.3e-3;
    if (!measure_) return std::nullopt;
    const std::optional<work> w = amount();
    const rates* r = w ? known_rates() : nullptr;
    if (!r) return std::nullopt;
    const runtime::expected_costs s{gpu_seconds(*r, *w), cpu_seconds(*r, *w)};
    return s.cpu < shorter_than_planning && !s.pays() ? std::optional(s) : std::nullopt;
  }
  // Measured now, if they never were; null where nothing is weighed.
  const rates* known_rates() {
    if (!measure_) return nullptr;
    std::call_once(measured_, [this] { rates_ = measure_(); });
    return rates_ ? &*rates_ : nullptr;
  }
  known_kernels& kernels() { return kernels_; }

 private:
  std::function<std::optional<rates>()> measure_;
  std::once_flag measured_;
  std::optional<rates> rates_;
  int threads_ = 1;
  known_kernels kernels_;
};

// The placement of an engine that make_engine made.
placement& placement_of(runtime::engine& e);

}  // namespace query::gpu_engine
