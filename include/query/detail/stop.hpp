// How loops over user functions notice that their query should stop: by its token, its deadline, or an error elsewhere.
//
// The runtime (src/runtime/cancellation.hpp) names the state of the query that a thread works for; loops look at it after every
// `calls_a_look` calls, in headers and library alike. A look is a load: no clock is read here, another thread does that.
//
//   query::detail::in_runs(0, n, [&](std::size_t i, std::size_t j) QUERY_INLINE { for (; i < j; ++i) f(rows[i]); });
#pragma once

#include <atomic>
#include <cstddef>

#include <query/detail/call.hpp>

namespace query::detail {

// Calls of a user's function between two looks: few, as a function may take milliseconds.
inline constexpr std::size_t calls_a_look = 64;
inline constexpr std::size_t quick_calls_a_look = 256;  // in branch-free loops, at a fraction of a nanosecond a row

struct stop_state {
  mutable std::atomic<bool> stopped_now{false};
  void (*raise)(const stop_state&) = nullptr;  // throws why
  bool checks_divisions = false;               // of compiled functions (division_watch.hpp)
};

inline constinit const stop_state never_stopped{};
// Of the query that this thread works for; outside of queries, one that never stops.
extern constinit thread_local const stop_state* stop_here;

[[noreturn]] void throw_stopped(const stop_state& s);

// What this thread looks at. Made once before a loop.
class stop_point {
 public:
  stop_point() = default;
  explicit stop_point(const stop_state& s) : state_(&s) {}  // of that query, on whatever thread
  QUERY_INLINE void check() const {
    if (state_->stopped_now.load(std::memory_order_relaxed)) [[unlikely]]
      throw_stopped(*state_);
  }

 private:
  const stop_state* state_ = stop_here;
};

// This thread works for another query now; restored at the end.
class stop_scope {
 public:
  explicit stop_scope(const stop_state& s) : before_(stop_here) { stop_here = &s; }
  ~stop_scope() { stop_here = before_; }
  stop_scope(const stop_scope&) = delete;
  stop_scope& operator=(const stop_scope&) = delete;

 private:
  const stop_state* before_;
};

// body(i, j) for consecutive runs of [i, n), with a look after each.
template <std::size_t Calls = calls_a_look, class Body> QUERY_INLINE inline void in_runs(std::size_t i, std::size_t n, Body&& body) {
  const stop_point stop;
  while (i < n) {
    const std::size_t j = n - i < Calls ? n : i + Calls;
    body(i, j);
    i = j;
    stop.check();
  }
}

}  // namespace query::detail
