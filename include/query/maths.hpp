// Mathematical functions for lambdas: plain numbers natively, expressions while a lambda is traced, aggregates of groups.
//
// Results have the types of <cmath>: integers count as double, float stays float; abs, min, max and clamp keep integers.
// `sqrt(t.price)` finds them by argument-dependent lookup when traced; write query::sqrt to have them natively too. The
// functions of std (std::sqrt(t.price)) make a lambda opaque.
//
//   .where([](auto t) { return query::abs(t.price - 100) < query::max(t.low, 0.5); })
//
// min and max choose as std's do: the first of equals, and the first argument where one is NaN.
#pragma once

#include <cmath>

#include <query/detail/deferred.hpp>

namespace query {

namespace detail {

#define QUERY_DETAIL_MATHS(function, parameters, arguments)                          \
  struct function##_fn {                                                             \
    static constexpr const char* name = #function;                                   \
    static auto native parameters { return std::function arguments; }                \
    template <class... X> auto operator()(const X&... x) const { return call_by_name(*this, x...); } \
  };
#define QUERY_DETAIL_MATHS1(function) \
  QUERY_DETAIL_MATHS(function, (auto a), (a))
#define QUERY_DETAIL_MATHS2(function) \
  QUERY_DETAIL_MATHS(function, (auto a, auto b), (a, b))
QUERY_DETAIL_MATHS1(sqrt) QUERY_DETAIL_MATHS1(cbrt) QUERY_DETAIL_MATHS1(exp) QUERY_DETAIL_MATHS1(exp2) QUERY_DETAIL_MATHS1(expm1)
QUERY_DETAIL_MATHS1(log) QUERY_DETAIL_MATHS1(log2) QUERY_DETAIL_MATHS1(log10) QUERY_DETAIL_MATHS1(log1p)
QUERY_DETAIL_MATHS1(sin) QUERY_DETAIL_MATHS1(cos) QUERY_DETAIL_MATHS1(tan) QUERY_DETAIL_MATHS1(asin) QUERY_DETAIL_MATHS1(acos)
QUERY_DETAIL_MATHS1(atan) QUERY_DETAIL_MATHS1(sinh) QUERY_DETAIL_MATHS1(cosh) QUERY_DETAIL_MATHS1(tanh)
QUERY_DETAIL_MATHS1(asinh) QUERY_DETAIL_MATHS1(acosh) QUERY_DETAIL_MATHS1(atanh)
QUERY_DETAIL_MATHS1(erf) QUERY_DETAIL_MATHS1(erfc) QUERY_DETAIL_MATHS1(tgamma)
QUERY_DETAIL_MATHS1(floor) QUERY_DETAIL_MATHS1(ceil) QUERY_DETAIL_MATHS1(round) QUERY_DETAIL_MATHS1(trunc)
QUERY_DETAIL_MATHS2(pow) QUERY_DETAIL_MATHS2(atan2) QUERY_DETAIL_MATHS2(fmod) QUERY_DETAIL_MATHS2(hypot) QUERY_DETAIL_MATHS2(copysign)
QUERY_DETAIL_MATHS(fma, (auto a, auto b, auto c), (a, b, c))
#undef QUERY_DETAIL_MATHS2
#undef QUERY_DETAIL_MATHS1
#undef QUERY_DETAIL_MATHS

struct abs_fn {
  static constexpr const char* name = "abs";
  template <class A> static auto native(A a) {
    if constexpr (std::is_floating_point_v<A>) return std::abs(a);
    else if constexpr (std::is_unsigned_v<A>) return +a;
    else return a < 0 ? -a : +a;
  }
  template <class A> auto operator()(const A& a) const { return call_by_name(*this, a); }
};
struct min_fn {
  static constexpr const char* name = "min";
  template <class A, class B> static auto native(A a, B b) {
    using C = std::common_type_t<A, B>;
    const C x = static_cast<C>(a), y = static_cast<C>(b);
    return y < x ? y : x;
  }
  template <class A, class B> auto operator()(const A& a, const B& b) const { return call_by_name(*this, a, b); }
};
struct max_fn {
  static constexpr const char* name = "max";
  template <class A, class B> static auto native(A a, B b) {
    using C = std::common_type_t<A, B>;
    const C x = static_cast<C>(a), y = static_cast<C>(b);
    return x < y ? y : x;
  }
  template <class A, class B> auto operator()(const A& a, const B& b) const { return call_by_name(*this, a, b); }
};

// Questions about floating point numbers; an integer is never NaN or infinite.
#define QUERY_DETAIL_CLASSIFY(function)                                                                                     \
  struct function##_fn {                                                                                                    \
    static constexpr const char* name = #function;                                                                          \
    static bool native(auto a) { return std::function(a); }                                                                 \
    template <class A> auto operator()(const A& x) const {                                                                  \
      return ask_by_name(*this, +[](const A& a) -> const ir::node* {                                                        \
        if constexpr (deferred<A>) return nullptr;                                                                          \
        else {                                                                                                              \
          using F = decltype(std::sqrt(value_of_t<A>{}));                                                                   \
          return ir::current_arena().put(ir::op::call, ir::describe<bool>(), {node_as<F>(a)}, 0, 0, name);                  \
        }                                                                                                                   \
      }, x);                                                                                                                \
    }                                                                                                                       \
  };
QUERY_DETAIL_CLASSIFY(isnan) QUERY_DETAIL_CLASSIFY(isinf) QUERY_DETAIL_CLASSIFY(isfinite)
#undef QUERY_DETAIL_CLASSIFY

}  // namespace detail

// By value, so that a constrained overload wins over std's in programs that open both namespaces.
#define QUERY_DETAIL_MATHS(function) \
  template <detail::numeric A> auto function(A a) { return detail::function##_fn{}(a); }
QUERY_DETAIL_MATHS(sqrt) QUERY_DETAIL_MATHS(cbrt) QUERY_DETAIL_MATHS(exp) QUERY_DETAIL_MATHS(exp2) QUERY_DETAIL_MATHS(expm1)
QUERY_DETAIL_MATHS(log) QUERY_DETAIL_MATHS(log2) QUERY_DETAIL_MATHS(log10) QUERY_DETAIL_MATHS(log1p)
QUERY_DETAIL_MATHS(sin) QUERY_DETAIL_MATHS(cos) QUERY_DETAIL_MATHS(tan) QUERY_DETAIL_MATHS(asin) QUERY_DETAIL_MATHS(acos)
QUERY_DETAIL_MATHS(atan) QUERY_DETAIL_MATHS(sinh) QUERY_DETAIL_MATHS(cosh) QUERY_DETAIL_MATHS(tanh)
QUERY_DETAIL_MATHS(asinh) QUERY_DETAIL_MATHS(acosh) QUERY_DETAIL_MATHS(atanh)
QUERY_DETAIL_MATHS(erf) QUERY_DETAIL_MATHS(erfc) QUERY_DETAIL_MATHS(tgamma)
QUERY_DETAIL_MATHS(floor) QUERY_DETAIL_MATHS(ceil) QUERY_DETAIL_MATHS(round) QUERY_DETAIL_MATHS(trunc) QUERY_DETAIL_MATHS(abs)
QUERY_DETAIL_MATHS(isnan) QUERY_DETAIL_MATHS(isinf) QUERY_DETAIL_MATHS(isfinite)
#undef QUERY_DETAIL_MATHS
#define QUERY_DETAIL_MATHS(function) \
  template <detail::numeric A, detail::numeric B> auto function(A a, B b) { return detail::function##_fn{}(a, b); }
QUERY_DETAIL_MATHS(pow) QUERY_DETAIL_MATHS(atan2) QUERY_DETAIL_MATHS(fmod) QUERY_DETAIL_MATHS(hypot) QUERY_DETAIL_MATHS(copysign)
#undef QUERY_DETAIL_MATHS
template <detail::ranked A, detail::ranked B> auto min(A a, B b) { return detail::min_fn{}(a, b); }
template <detail::ranked A, detail::ranked B> auto max(A a, B b) { return detail::max_fn{}(a, b); }

template <detail::numeric A, detail::numeric B, detail::numeric C> auto fma(A a, B b, C c) { return detail::fma_fn{}(a, b, c); }
template <detail::ranked A, detail::ranked B, detail::ranked... C>
requires(sizeof...(C) > 0) auto min(A a, B b, C... c) { return query::min(query::min(a, b), c...); }
template <detail::ranked A, detail::ranked B, detail::ranked... C>
requires(sizeof...(C) > 0) auto max(A a, B b, C... c) { return query::max(query::max(a, b), c...); }

// x, but at least `low` and at most `high`, in their common type.
template <detail::ranked X, detail::ranked L, detail::ranked H> auto clamp(X x, L low, H high) {
  return query::min(query::max(x, low), high);
}

}  // namespace query
