// How a run is told to stop, by its settings: standard tokens call back, those of the user's own kinds are asked, the clock is read.
//
//   stop_watch watch(settings);
//   watch.flag->check();   // throws cancelled where a token is stopped already: no work begins after that
#pragma once

#include <algorithm>
#include <chrono>
#include <functional>
#include <list>
#include <optional>
#include <stop_token>
#include <typeinfo>
#include <utility>
#include <vector>

#include <query/session.hpp>

#include "runtime/cancellation.hpp"

namespace query::runtime {

inline std::optional<cancel_flag::clock::time_point> deadline_of(const detail::settings& s) {
  using clock = cancel_flag::clock;
  if (!s || s->seconds <= 0) return std::nullopt;
  const std::chrono::duration<double> seconds(s->seconds), most(std::chrono::hours(24 * 365 * 100));
  return clock::now() + std::chrono::duration_cast<clock::duration>(std::min(seconds, most));
}

struct stop_watch {
  // `called` by a standard token's callback, after the flag is set.
  explicit stop_watch(const detail::settings& s, std::function<void()> called = {}) {
    using detail::stop_call;
    std::vector<stop_call> asked;
    std::vector<std::stop_token> calling;
    for (const stop_call& c : s ? s->stops.all() : std::vector<stop_call>{}) {
      if (*c.type == typeid(std::stop_token)) calling.push_back(*static_cast<const std::stop_token*>(c.token.get()));
      else asked.push_back(c);
    }
    const auto any = [asked] {
      return std::any_of(asked.begin(), asked.end(), [](const stop_call& c) { return c.stop_requested(c.token.get()); });
    };
    if (asked.empty()) flag.emplace(std::stop_token(), deadline_of(s));
    else flag.emplace(any, deadline_of(s));
    for (const std::stop_token& t : calling) told.emplace_back(t, stop{&*flag, called});
    if (s) flag->name_limits(s->seconds);
  }
  struct stop {
    cancel_flag* flag;
    std::function<void()> called;
    void operator()() const {
      flag->cancel();
      if (called) called();
    }
  };
  std::optional<cancel_flag> flag;
  std::list<std::stop_callback<stop>> told;
};

}  // namespace query::runtime
