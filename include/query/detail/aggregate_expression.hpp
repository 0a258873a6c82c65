// Arithmetic on aggregates: the result type of a group function IS its program (states, step, merge, value).
//
//   g.sum(f) / g.count()    apply<divide, sum<F>, count>: a tuple of states, divided when the groups are finished
#pragma once

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/divide.hpp>
#include <query/detail/own_aggregate.hpp>
#include <query/functions.hpp>

namespace query::agg {

// A row that an aggregate gives, as a struct of its fields (row_fields.hpp).
template <class X> inline constexpr bool is_row_shape = false;
template <class X> concept deferred = aggregate<X> || is_row_shape<std::remove_cvref_t<X>>;

template <class X> struct operand_of { using type = constant<X>; };
template <aggregate X> struct operand_of<X> { using type = X; };
template <class X> using operand_t = typename operand_of<std::decay_t<const X&>>::type;  // "text" is a const char*

template <class Fn, class... A> struct apply : expression {
  Fn fn;
  std::tuple<A...> parts;
  apply(Fn f, A... a) : fn(std::move(f)), parts(std::move(a)...) {}

  template <class T> static constexpr bool needs_rows = (A::template needs_rows<T> || ...);
  template <class T> static constexpr bool by_field = (A::template by_field<T> && ...);
  static constexpr bool own_state = (A::own_state || ...);
  template <class T> using state = std::tuple<typename A::template state<T>...>;
  using indices = std::index_sequence_for<A...>;

  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const { step_parts(s, t, indices{}); }
  template <class S> static void merge(S& a, S& b) { merge_parts(a, b, indices{}); }
  template <class T, class K, class S> auto value(const K& k, S& s) const { return value_of_parts<T>(k, s, indices{}); }

 private:
  template <class S, class T, std::size_t... I> QUERY_INLINE void step_parts(S& s, const T& t, std::index_sequence<I...>) const {
    (std::get<I>(parts).step(std::get<I>(s), t), ...);
  }
  template <class S, std::size_t... I> static void merge_parts(S& a, S& b, std::index_sequence<I...>) {
    (A::merge(std::get<I>(a), std::get<I>(b)), ...);
  }
  template <class T, class K, class S, std::size_t... I> auto value_of_parts(const K& k, S& s, std::index_sequence<I...>) const {
    const auto part = [&]<std::size_t Part>(std::index_sequence<Part>) -> decltype(auto) {
      return std::get<Part>(parts).template value<T>(k, std::get<Part>(s));
    };
    if constexpr (std::is_same_v<Fn, detail::iff_fn>) {  // the other part may have no value, as x / 0 has none
      using R = decltype(fn(part(std::index_sequence<I>{})...));
      if (part(std::index_sequence<0>{})) return detail::value_of_type<R>(part(std::index_sequence<1>{}));
      return detail::value_of_type<R>(part(std::index_sequence<2>{}));
    } else return fn(part(std::index_sequence<I>{})...);
  }
};

template <class Fn, class... A> auto make_apply(Fn fn, const A&... a) {
  return apply<Fn, operand_t<A>...>(std::move(fn), operand_t<A>(a)...);
}

template <class Out> struct maker {
  template <class... V> Out operator()(const V&... v) const { return query::make<Out>(v...); }
};
struct pairer {
  template <class A, class B> std::pair<A, B> operator()(A a, B b) const { return std::pair<A, B>(std::move(a), std::move(b)); }
};
struct tupler {
  template <class... V> std::tuple<V...> operator()(V... v) const { return std::tuple<V...>(std::move(v)...); }
};

// int64 / double and the like convert as they do in plain C++. The casts say so to the compiler, which would warn of an unsigned sum that
// is compared with a literal: here the literal is no constant any more. Pragmas alone do not last in precompiled headers.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#define QUERY_DETAIL_AGGREGATE(sign, name)                                                              \
  struct name {                                                                                         \
    template <class A, class B> auto operator()(const A& a, const B& b) const {                         \
      if constexpr (std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, B>) {      \
        using C = std::common_type_t<A, B>;                                                             \
        return static_cast<C>(a) sign static_cast<C>(b);                                                \
      } else return a sign b;                                                                           \
    }                                                                                                   \
  };                                                                                                    \
  template <class A, class B> requires(deferred<A> || deferred<B>) auto operator sign(const A& a, const B& b) { \
    return make_apply(name{}, a, b);                                                                    \
  }
QUERY_DETAIL_AGGREGATE(+, plus_fn)
QUERY_DETAIL_AGGREGATE(-, minus_fn)
QUERY_DETAIL_AGGREGATE(*, times_fn)
QUERY_DETAIL_AGGREGATE(<, less_fn)
QUERY_DETAIL_AGGREGATE(<=, less_equal_fn)
QUERY_DETAIL_AGGREGATE(>, greater_fn)
QUERY_DETAIL_AGGREGATE(>=, greater_equal_fn)
QUERY_DETAIL_AGGREGATE(==, equal_fn)
QUERY_DETAIL_AGGREGATE(!=, not_equal_fn)
#undef QUERY_DETAIL_AGGREGATE
#pragma GCC diagnostic pop
// A group may be empty: dividing by its count must not end the process.
#define QUERY_DETAIL_AGGREGATE(sign, name, apply)                                                                 \
  struct name {                                                                                                   \
    template <class A, class B> auto operator()(const A& a, const B& b) const { return detail::apply(a, b); }     \
  };                                                                                                              \
  template <class A, class B> requires(deferred<A> || deferred<B>) auto operator sign(const A& a, const B& b) { \
    return make_apply(name{}, a, b);                                                                              \
  }
QUERY_DETAIL_AGGREGATE(/, divide_fn, divided)
QUERY_DETAIL_AGGREGATE(%, modulo_fn, remainder)
#undef QUERY_DETAIL_AGGREGATE

// query::sqrt(g.sum(f)): functions of query::functions meet aggregates here (detail/deferred.hpp).
template <class Fn, class... A> auto defer(Fn fn, const A&... a) { return make_apply(std::move(fn), a...); }

// What a recorder gives for a call that a check has refused: nothing is made of a function that holds one.
struct refused : expression {
  template <class T> using state = nothing;
  template <class T, class K, class S> int value(const K&, S&) const { return 0; }
};
template <class X> inline constexpr bool is_refused = std::is_same_v<X, refused>;
template <class Fn, class... A> inline constexpr bool is_refused<apply<Fn, A...>> = (is_refused<A> || ...);

struct negate_fn {
  template <class A> auto operator()(const A& a) const { return -a; }
};
template <deferred A> auto operator-(const A& a) { return make_apply(negate_fn{}, a); }
// Outside groups, the mean of a query is optional: *rows.mean(f).
template <aggregate A> refused operator*(const A&) {
  static_assert(sizeof(A) == 0, "query: an aggregate of a group takes no `*`: leave it out. A group has rows, so its mean, min and max are "
                                "plain values; those that may be null, as the variance of one row, are null in the result, too");
  return {};
}

// A key that is a record or a tuple: g.key().field is asked of the key's value.
template <class Member> struct member_fn {
  Member member;
  template <class A> auto operator()(const A& a) const { return a.*member; }
};

}  // namespace query::agg
