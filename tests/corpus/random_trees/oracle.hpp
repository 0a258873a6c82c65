// What a random tree is built of: each function is the plain C++ operation where its operands are traced, and by itself what
// the library promises of that operation where they are plain. Overflow wraps, conversions from float saturate, a division
// of integers by zero is a `trap`: where C++ says nothing, the native life of a tree must not be undefined.
//
//   plus(t.small, t.large)        natively wraps, traced is t.small + t.large
//   choose<In>(c, [&] { return t.id; }, [&] { return t.price; })
#pragma once

#include <limits>
#include <type_traits>

#include <query/functions.hpp>

// Natively the trees warn as a user's mixed arithmetic would.
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wfloat-conversion"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wextra"
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wbool-operation"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wbool-compare"
#endif
#pragma GCC diagnostic ignored "-Wunused-but-set-parameter"

namespace random_trees {

struct trap {};  // thrown where the interpreter must report a user_error

template <class... X> inline constexpr bool traced = query::detail::any_symbolic<X...>;

template <class R, class A, class B, class F> R wrapping(const A& a, const B& b, const F& f) {
  if constexpr (std::is_integral_v<R>) {
    using U = std::make_unsigned_t<R>;  // R is promoted: at least an int
    return static_cast<R>(f(static_cast<U>(static_cast<R>(a)), static_cast<U>(static_cast<R>(b))));
  } else {
    return f(static_cast<R>(a), static_cast<R>(b));
  }
}

#define QUERY_RANDOM_BINARY(name, sign)                                                  \
  template <class A, class B> auto name(const A& a, const B& b) {                        \
    if constexpr (traced<A, B>) return a sign b;                                         \
    else return wrapping<decltype(a sign b)>(a, b, [](auto x, auto y) { return x sign y; }); \
  }
QUERY_RANDOM_BINARY(plus, +)
QUERY_RANDOM_BINARY(minus, -)
QUERY_RANDOM_BINARY(times, *)
QUERY_RANDOM_BINARY(both_bits, &)
QUERY_RANDOM_BINARY(any_bits, |)
QUERY_RANDOM_BINARY(other_bits, ^)
#undef QUERY_RANDOM_BINARY

template <class A, class B> auto divided(const A& a, const B& b) {
  if constexpr (traced<A, B>) return a / b;
  else {
    using R = decltype(a / b);
    const R x = static_cast<R>(a), y = static_cast<R>(b);
    if constexpr (std::is_integral_v<R>) {
      if (y == 0) throw trap{};
      if constexpr (std::is_signed_v<R>)
        if (y == -1) return wrapping<R>(R{0}, x, [](auto p, auto q) { return p - q; });
    }
    return static_cast<R>(x / y);
  }
}
template <class A, class B> auto remainder(const A& a, const B& b) {
  if constexpr (traced<A, B>) return a % b;
  else {
    using R = decltype(a % b);
    const R x = static_cast<R>(a), y = static_cast<R>(b);
    if (y == 0) throw trap{};
    if constexpr (std::is_signed_v<R>)
      if (y == -1) return R{0};
    return static_cast<R>(x % y);
  }
}
// By 0 to 7 bits.
template <class A, class B> auto left(const A& a, const B& b) { return a << both_bits(b, 7); }
template <class A, class B> auto right(const A& a, const B& b) { return a >> both_bits(b, 7); }
template <class A> auto negated(const A& a) {
  if constexpr (traced<A>) return -a;
  else if constexpr (std::is_floating_point_v<A>) return -a;
  else return wrapping<decltype(-a)>(0, a, [](auto p, auto q) { return p - q; });
}
template <class A> auto absolute(const A& a) {
  if constexpr (traced<A> || !std::is_integral_v<A> || std::is_unsigned_v<A>) return query::abs(a);
  else return a < 0 ? negated(a) : +a;
}
template <class T, class A> auto to(const A& a) {
  if constexpr (!traced<A> && std::is_floating_point_v<A> && std::is_integral_v<T> && !std::is_same_v<T, bool>) {
    const auto past = std::ldexp(A{1}, std::numeric_limits<T>::digits);
    if (a != a) return T{0};
    if (a >= past) return std::numeric_limits<T>::max();
    if (a < (std::is_signed_v<T> ? -past : A{0})) return std::numeric_limits<T>::min();
    return static_cast<T>(a);
  } else {
    return query::cast<T>(a);
  }
}

// A condition of either life that does not fork: a bool, or a lazy_bool.
template <class In, class X> auto condition(const X& x) {
  if constexpr (!In::traced) return static_cast<bool>(x);
  else if constexpr (traced<X>) return query::lazy_bool(query::detail::node_as<bool>(x));
  else return query::lazy_bool(query::detail::literal(static_cast<bool>(x)));
}
template <class In, class A, class B> auto both(const A& a, const B& b) {
  if constexpr (In::traced) return a() && b();
  else return a() && b();
}
template <class In, class A, class B> auto either(const A& a, const B& b) {
  if constexpr (In::traced) return a() || b();
  else return a() || b();
}

// c ? a() : b() in their common type, natively without computing the other side: a trap there must not count.
template <class In, bool Fork = false, class C, class A, class B> auto choose(const C& c, const A& a, const B& b) {
  using query::detail::held_t;
  using R = typename query::detail::common<held_t<decltype(a())>, held_t<decltype(b())>>::type;
  if constexpr (In::traced && !Fork) {
    return query::iff(c, a(), b());
  } else {
    if (c) return query::detail::stored_as<In::traced, R>(a());
    return query::detail::stored_as<In::traced, R>(b());
  }
}

}  // namespace random_trees
