// Says whether a query should stop: by its caller's stop token, its deadline, or the engine itself.
//
// Checked at the border of every morsel and in long loops; a check costs a load, and a clock call if there is a deadline.
//
//   cancel_flag cancel(stop_token, std::chrono::steady_clock::now() + 5s);
//   cancel.check();   // throws query::cancelled
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <stop_token>
#include <utility>

#include <query/errors.hpp>

namespace query::runtime {

enum class stop_reason : unsigned char { none, stop_requested, deadline };

class cancel_flag {
 public:
  using clock = std::chrono::steady_clock;

  cancel_flag() = default;
  explicit cancel_flag(std::stop_token token, std::optional<clock::time_point> deadline = std::nullopt)
      : token_(std::move(token)), deadline_(deadline) {}
  explicit cancel_flag(clock::time_point deadline) : deadline_(deadline) {}
  cancel_flag(const cancel_flag&) = delete;
  cancel_flag& operator=(const cancel_flag&) = delete;

  // Stops the query; the first reason stays.
  void cancel(stop_reason why = stop_reason::stop_requested) noexcept { set(why); }

  // Why the query should stop, or none. Thread-safe.
  stop_reason reason() const noexcept {
    const stop_reason why = why_.load(std::memory_order_relaxed);
    if (why != stop_reason::none) return why;
    if (token_.stop_requested()) return set(stop_reason::stop_requested);
    if (deadline_ && clock::now() >= *deadline_) return set(stop_reason::deadline);
    return stop_reason::none;
  }
  bool stopped() const noexcept { return reason() != stop_reason::none; }

  // Throws query::cancelled if the query should stop.
  void check() const {
    const stop_reason why = reason();
    if (why == stop_reason::deadline) throw cancelled("query: cancelled: deadline");
    if (why != stop_reason::none) throw cancelled("query: cancelled: stop requested");
  }

 private:
  stop_reason set(stop_reason why) const noexcept {
    stop_reason before = stop_reason::none;
    return why_.compare_exchange_strong(before, why, std::memory_order_relaxed) ? why : before;
  }

  mutable std::atomic<stop_reason> why_{stop_reason::none};
  std::stop_token token_;
  std::optional<clock::time_point> deadline_;
};

}  // namespace query::runtime
