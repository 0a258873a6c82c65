// The engine's choice of what it takes: costs from rates, which are given or measured at the first question.
//
//   placement p;  p.by(fixed_rates);
//   if (const auto c = p.weigh(&vertex, sources, [&] { return work_of(vertex); }); c && !c->gpu_wins()) -> the CPU
#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>

#include "gpu_engine/placement/costs.hpp"
#include "gpu_engine/placement/known_kernels.hpp"

namespace query::runtime {
class engine;
}

namespace query::gpu_engine {

struct seconds_on {
  double gpu = 0, cpu = 0, to_compile = 0;
  bool gpu_wins() const { return gpu + to_compile <= cpu; }
  // "12 ms here, 40 ms on the CPU", as the engine says that has it.
  std::string reason() const {
    return gpu_wins() ? shown_seconds(gpu) + " here, " + shown_seconds(cpu) + " on the CPU"
                      : shown_seconds(gpu) + " there" +
                            (to_compile > 0 ? " and " + shown_seconds(to_compile) + " to compile it" : "") + ", " +
                            shown_seconds(cpu) + " here";
  }
};

// Thread-safe once rates or their measure were given.
class placement {
 public:
  void by(const rates& r) {
    measure_ = [r] { return std::optional(r); };
  }
  void by_measuring(std::function<std::optional<rates>()> measure) { measure_ = std::move(measure); }

  // Nothing without rates, or where `amount` does not know how much work there is. `amount` gives an optional<work>, `sources` is
  // what was generated to plan it; `devices` share it.
  template <class Amount> std::optional<seconds_on> weigh(const void* what, const std::string& sources, Amount amount,
                                                          std::size_t devices = 1) {
    kernels_.planned(what, sources);
    if (!measure_) return std::nullopt;
    const std::optional<work> w = amount();
    if (!w) return std::nullopt;
    std::call_once(measured_, [this] { rates_ = measure_(); });
    if (!rates_) return std::nullopt;
    seconds_on s{gpu_seconds(*rates_, *w, devices), cpu_seconds(*rates_, *w)};
    s.to_compile = kernels_.charged(what, seconds_to_compile(*w), s.cpu - s.gpu);
    return s;
  }
  known_kernels& kernels() { return kernels_; }

 private:
  std::function<std::optional<rates>()> measure_;
  std::once_flag measured_;
  std::optional<rates> rates_;
  known_kernels kernels_;
};

// The placement of an engine that make_engine made.
placement& placement_of(runtime::engine& e);

}  // namespace query::gpu_engine
