// Division as interpreted functions do it: by an integer 0 it is a user_error, and so is INT_MIN / -1; INT_MIN % -1 is 0. For the
// operators of aggregates and of query::Value, which run once a group: a user's own function divides as C++ does.
//
//   divided(g.sum(), g.count())
#pragma once

#include <limits>
#include <type_traits>

#include <query/detail/failure.hpp>

namespace query::detail {

template <class A, class B> inline constexpr bool integers = std::is_integral_v<A> && std::is_integral_v<B>;

[[noreturn]] inline void division_by_zero() {
  throw unplaced_error("division by zero: the divisor of an integer / or % is 0; test it first "
                       "(of groups: query::iff(n != 0, sum / n, 0))");
}
[[noreturn]] inline void division_overflow() {
  throw unplaced_error("division overflow: the smallest integer, divided by -1, does not fit its type; test it first");
}

// Calls `by` with both as the type that C++ divides in, unless that is undefined; `by_minus_one` where the divisor is -1.
template <class A, class B, class By, class ByMinusOne> auto divided_integers(A a, B b, By by, ByMinusOne by_minus_one) {
  using R = decltype(a / b);
  const R x = static_cast<R>(a), y = static_cast<R>(b);
  if (y == 0) division_by_zero();
  if constexpr (std::is_signed_v<R>)
    if (y == -1) return by_minus_one(x);
  return by(x, y);
}

// int64 / double and the like convert as they do in plain C++.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
template <class A, class B> auto divided(const A& a, const B& b) {
  if constexpr (integers<A, B>) {
    using R = decltype(a / b);
    const auto negated = [](R x) {
      if (x == std::numeric_limits<R>::min()) division_overflow();
      return static_cast<R>(-x);
    };
    return divided_integers(a, b, [](R x, R y) { return static_cast<R>(x / y); }, negated);
  } else return a / b;
}
template <class A, class B> auto remainder(const A& a, const B& b) {
  if constexpr (integers<A, B>) {
    using R = decltype(a % b);
    return divided_integers(a, b, [](R x, R y) { return static_cast<R>(x % y); }, [](R) { return R{0}; });
  } else return a % b;
}
#pragma GCC diagnostic pop

}  // namespace query::detail
