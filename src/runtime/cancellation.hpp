// Says whether a query should stop: by its caller's stop token, its deadline, or the engine itself.
//
// Checked at the border of every morsel and in long loops; a check costs a load, and a clock call if there is a deadline or a
// token of the user's own kind to ask. Loops over user functions look at state() alone (query/detail/stop.hpp); a deadline_watch
// asks in their place.
//
//   cancel_flag cancel(stop_token, std::chrono::steady_clock::now() + 5s);
//   cancel.check();   // throws query::cancelled
#pragma once

#include <atomic>
#include <chrono>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include <query/detail/plan.hpp>
#include <query/detail/stop.hpp>
#include <query/errors.hpp>

namespace query::runtime {

class buffer_pool;

enum class stop_reason : unsigned char { none, stop_requested, deadline };

// Thrown where a query stops; who runs its verbs says at which one, and throws cancelled.
struct unplaced_cancelled : cancelled {
  using cancelled::cancelled;
};
[[noreturn]] void fail_at(const unplaced_cancelled& e, std::string_view verb, detail::call_site where);
[[noreturn]] void fail_at(const unplaced_cancelled& e, const detail::logical& verb);

class cancel_flag : private detail::stop_state {
 public:
  using clock = std::chrono::steady_clock;

  cancel_flag() : stop_state{false, &throw_reason} {}
  explicit cancel_flag(std::stop_token token, std::optional<clock::time_point> deadline = std::nullopt)
      : stop_state{false, &throw_reason}, deadline_(deadline), told_(std::in_place, std::move(token), raise{this}) {}
  explicit cancel_flag(clock::time_point deadline) : stop_state{false, &throw_reason}, deadline_(deadline) {}
  // `asked` says whether to stop: it is called by the threads that check, one at a time, at most once a millisecond. What it
  // throws stops the query and is thrown by check().
  cancel_flag(std::function<bool()> asked, std::optional<clock::time_point> deadline)
      : stop_state{false, &throw_reason}, deadline_(deadline), asked_(std::move(asked)) {}
  cancel_flag(const cancel_flag&) = delete;
  cancel_flag& operator=(const cancel_flag&) = delete;

  // Of the query that this thread works for; outside of queries, one that nobody stops.
  static const cancel_flag& here();

  // What stops the query in its user's words, for the message: timeout(seconds), if there is one, and stop_on.
  void name_limits(double seconds) { limits_ = seconds; }
  // Where the query is, for the message of who looks at this flag alone.
  void name_place(std::string where) { place_ = std::move(where); }
  // The memory of the query's session, for what counts there and knows no more of the query than here(). Said before it begins.
  void count_in(const buffer_pool& memory) { memory_ = &memory; }
  const buffer_pool* memory() const { return memory_; }  // null: nobody counts
  // What compiled functions divide is watched while the query runs (query/detail/division_watch.hpp). Said before it begins.
  void check_divisions(bool checks) { checks_divisions = checks; }
  bool checks_them() const { return checks_divisions; }
  // Stops the query by an exception that check() throws.
  void fail(std::exception_ptr e) const noexcept {
    {
      const std::lock_guard hold(asking_);
      if (!thrown_) thrown_ = std::move(e);
    }
    set(stop_reason::stop_requested);
  }

  // Stops the query; the first reason stays.
  void cancel(stop_reason why = stop_reason::stop_requested) noexcept { set(why); }

  // Why the query should stop, or none. Thread-safe.
  stop_reason reason() const noexcept {
    const stop_reason why = why_.load(std::memory_order_acquire);
    if (why != stop_reason::none) return why;
    if (asked_ && ask()) return set(stop_reason::stop_requested);
    if (deadline_ && clock::now() >= *deadline_) return set(stop_reason::deadline);
    return stop_reason::none;
  }
  bool stopped() const noexcept { return reason() != stop_reason::none; }
  // Set by whoever finds a reason, or is told one.
  const detail::stop_state& state() const { return *this; }
  // When somebody must call reason() for the sake of those who look at state() only; none: a token tells by itself, or nothing.
  std::optional<clock::time_point> next_question(clock::time_point now) const {
    if (why_.load(std::memory_order_acquire) != stop_reason::none) return std::nullopt;
    if (asked_) return now + std::chrono::milliseconds(1);
    return deadline_;
  }

  // Throws query::cancelled if the query should stop.
  void check() const {
    const stop_reason why = reason();
    if (why == stop_reason::none) return;
    if (const std::lock_guard hold(asking_); thrown_) std::rethrow_exception(thrown_);
    throw_cancelled(why);
  }

 private:
  [[noreturn]] void throw_cancelled(stop_reason why) const;
  struct raise {
    cancel_flag* flag;
    void operator()() const noexcept { flag->set(stop_reason::stop_requested); }
  };
  static void throw_reason(const detail::stop_state& s) { static_cast<const cancel_flag&>(s).check(); }
  stop_reason set(stop_reason why) const noexcept {
    stop_reason before = stop_reason::none;
    const bool first = why_.compare_exchange_strong(before, why, std::memory_order_acq_rel);
    stopped_now.store(true, std::memory_order_relaxed);
    return first ? why : before;
  }
  bool ask() const noexcept {
    const std::unique_lock hold(asking_, std::try_to_lock);
    if (!hold) return false;
    const auto now = clock::now();
    if (now < next_) return false;
    next_ = now + std::chrono::milliseconds(1);
    try {
      return asked_();
    } catch (...) {
      thrown_ = std::current_exception();
      return true;
    }
  }

  mutable std::atomic<stop_reason> why_{stop_reason::none};
  std::optional<clock::time_point> deadline_;
  std::function<bool()> asked_;
  mutable std::mutex asking_;  // guards what follows
  mutable clock::time_point next_{};
  mutable std::exception_ptr thrown_;
  std::optional<std::stop_callback<raise>> told_;  // it may be called as soon as it is there, and sets why_ alone
  std::optional<double> limits_;                   // seconds of the timeout; 0: none
  std::string place_;
  const buffer_pool* memory_ = nullptr;
};

}  // namespace query::runtime
