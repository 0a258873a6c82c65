// How many numbers sequence(first, last, step) gives.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include <query/detail/failure.hpp>

namespace query::detail {

// Of integers, whose distance may be larger than their type.
template <class T, class L, class S> std::int64_t count_of_sequence(T first, L last, S step, call_site at) {
  using limits = std::numeric_limits<T>;
  const auto beyond = [](auto x) {
    if constexpr (std::is_signed_v<decltype(x)>)
      if (x < 0) return std::is_unsigned_v<T> || static_cast<std::int64_t>(x) < static_cast<std::int64_t>(limits::min());
    return static_cast<std::uint64_t>(x) > static_cast<std::uint64_t>(limits::max());
  };
  if (step == 0) fail("sequence", "the step must not be 0", at);
  if (beyond(last))
    fail("sequence", "the last number is " + std::to_string(last) + ", and their type, that of the first, goes from " +
                         std::to_string(limits::min()) + " to " + std::to_string(limits::max()), at);
  const T to = static_cast<T>(last);
  const bool down = step < S{0};
  if (down ? to > first : first > to) return 0;
  const auto low = static_cast<std::uint64_t>(down ? to : first), high = static_cast<std::uint64_t>(down ? first : to);
  const auto raw = static_cast<std::uint64_t>(step);
  const std::uint64_t steps = (high - low) / (down ? std::uint64_t{0} - raw : raw);
  if (steps >= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()))
    fail("sequence", "there are more than 2^63 - 1 numbers from " + std::to_string(first) + " to " + std::to_string(last), at);
  return static_cast<std::int64_t>(steps) + 1;
}

// Of fractions, and whether the last one of them is `last`. epsilon: of the type that they are given in.
template <class W> std::pair<std::int64_t, bool> count_of_fractions(W first, W last, W step, double epsilon, call_site at) {
  if (!std::isfinite(first) || !std::isfinite(last) || !std::isfinite(step)) fail("sequence", "the numbers must be finite", at);
  if (step == 0) fail("sequence", "the step must not be 0", at);
  if (first == last) return {1, true};
  if ((last < first) != (step < 0)) return {0, false};
  // Divided first: the distance may be infinite.
  const W a = first / step, b = last / step, steps = b - a;
  if (!(steps < W(9007199254740992.0))) fail("sequence", "the step is too small: there are more than 2^53 numbers", at);
  // What the rounding of the three, and that of the divisions, may have changed; nothing that a reader would call a part of a step.
  const W given = static_cast<W>(epsilon) / 2 * (std::abs(a) + std::abs(b) + steps);
  const W divided = 2 * std::numeric_limits<W>::epsilon() * (std::abs(a) + std::abs(b));
  const W nearest = std::round(steps);
  const W off = std::abs(nearest - steps);
  const bool meets = nearest >= 1 && off <= given + divided && off <= W(0.25);
  return {static_cast<std::int64_t>(meets ? nearest : std::floor(steps)) + 1, meets};
}

}  // namespace query::detail
