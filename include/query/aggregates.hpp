// Aggregates by name, for aggregate(...) forms: each is a function of a group.
//
//   using namespace query::aggregates;
//   trades.group_by(symbol).aggregate(sum([](auto t) { return t.qty; }), count(), max([](auto t) { return t.price; }))
//
// gives std::tuple<Key, std::int64_t, std::int64_t, double>; trades.aggregate(sum(...), count()) the same of all rows, without
// the key; trades.aggregate_by(symbol, sum(...)) is group_by and aggregate in one. One of your own is named once and used
// everywhere:
//
//   auto spread = aggregate(Range{}, [](auto s, auto t) { ... }, [](auto a, auto b) { ... }, [](auto s) { return s.high - s.low; });
//
// The same calls exist as members of `auto g` (query/group.hpp), and `spread(g)` is one beside them.
#pragma once

#include <concepts>
#include <tuple>
#include <type_traits>
#include <utility>

#include <query/detail/call_site.hpp>

namespace query::agg {

// A function of a group that is known to be one: verbs that take aggregates tell it from functions of rows. `where`: its place.
template <class F> struct named {
  F of;
  detail::call_site where;
  template <class G> auto operator()(const G& g) const { return of(g); }
};
template <class F> auto named_at(detail::call_site at, F f) { return named<F>{std::move(f), at}; }

template <class X> inline constexpr bool is_named = false;
template <class F> inline constexpr bool is_named<named<F>> = true;
// At least one of several functions of a group is told apart by its type.
template <class... X> concept any_named = (is_named<X> || ...);
template <class... X> concept all_named = sizeof...(X) > 0 && (is_named<X> && ...);

// A function, and no list: min(list, f) is query::min, also where a program uses both namespaces.
template <class X>
concept function_of_row = (std::is_class_v<X> && !std::is_same_v<X, detail::call_site> && !requires(const X& x) { x.begin(); }) ||
                          (std::is_pointer_v<X> && std::is_function_v<std::remove_pointer_t<X>>);

template <class First, class... More> detail::call_site place_of(const First& first, const More&... more) {
  if constexpr (is_named<First>) return first.where;
  else return place_of(more...);
}

// All aggregates of a call aggregate(sum(f), count()) over a whole query.
template <class... A> struct all_of {
  std::tuple<A...> a;
  template <class G> auto operator()(const G& g) const {
    return std::apply([&](const A&... x) { return std::make_tuple(x(g)...); }, a);
  }
};

}  // namespace query::agg

namespace query::aggregates {

inline auto count(detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [](const auto& g) { return g.count(); });
}
// f: a function of the row.
#define QUERY_DETAIL_AGGREGATE(name)                                                                     \
  template <class F> requires(!std::is_same_v<F, detail::call_site>)                                     \
  auto name(F f, detail::call_site at = detail::call_site::here()) {                                     \
    return agg::named_at(at, [f](const auto& g) { return g.name(f); });                                  \
  }
// Also of rows that are values themselves: sum().
#define QUERY_DETAIL_AGGREGATE_OF_ROWS(name)                                                             \
  inline auto name(detail::call_site at = detail::call_site::here()) {                                   \
    return agg::named_at(at, [](const auto& g) { return g.name(); });                                    \
  }                                                                                                      \
  QUERY_DETAIL_AGGREGATE(name)
// Also by the user's own order of f's values, less(a, b).
#define QUERY_DETAIL_AGGREGATE_BY_ORDER(name)                                                            \
  QUERY_DETAIL_AGGREGATE(name)                                                                           \
  template <agg::function_of_row F, agg::function_of_row Less>                                           \
  auto name(F f, Less less, detail::call_site at = detail::call_site::here()) {                          \
    return agg::named_at(at, [f, less](const auto& g) { return g.name(f, less); });                      \
  }
QUERY_DETAIL_AGGREGATE_OF_ROWS(sum)
QUERY_DETAIL_AGGREGATE_OF_ROWS(mean)
QUERY_DETAIL_AGGREGATE_OF_ROWS(average)
QUERY_DETAIL_AGGREGATE_OF_ROWS(variance)
QUERY_DETAIL_AGGREGATE_OF_ROWS(stddev)
QUERY_DETAIL_AGGREGATE_OF_ROWS(first)
QUERY_DETAIL_AGGREGATE_OF_ROWS(last)
QUERY_DETAIL_AGGREGATE_OF_ROWS(count_distinct)
QUERY_DETAIL_AGGREGATE_OF_ROWS(median)
QUERY_DETAIL_AGGREGATE_OF_ROWS(approx_count_distinct)
QUERY_DETAIL_AGGREGATE_OF_ROWS(collect)
QUERY_DETAIL_AGGREGATE_BY_ORDER(min)
QUERY_DETAIL_AGGREGATE_BY_ORDER(max)
QUERY_DETAIL_AGGREGATE_BY_ORDER(arg_min)
QUERY_DETAIL_AGGREGATE_BY_ORDER(arg_max)
QUERY_DETAIL_AGGREGATE(any)
QUERY_DETAIL_AGGREGATE(all)
#undef QUERY_DETAIL_AGGREGATE_BY_ORDER
#undef QUERY_DETAIL_AGGREGATE_OF_ROWS
#undef QUERY_DETAIL_AGGREGATE
inline auto min(detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [](const auto& g) { return g.min(); });
}
inline auto max(detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [](const auto& g) { return g.max(); });
}
template <class F> auto count_if(F f, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [f](const auto& g) { return g.count(f); });
}
template <class F, class Equal, class Hash>
auto count_distinct(F f, Equal equal, Hash hash, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [f, equal, hash](const auto& g) { return g.count_distinct(f, equal, hash); });
}
template <class F> auto quantile(F f, double q, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [f, q](const auto& g) { return g.quantile(f, q); });
}
// With an error that query/sketches.hpp states.
template <class F> auto approx_quantile(F f, double q, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [f, q](const auto& g) { return g.approx_quantile(f, q); });
}
inline auto approx_quantile(double q, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [q](const auto& g) { return g.approx_quantile(q); });
}
template <agg::function_of_row F, class N> auto top_k_frequent(F f, N k, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [f, k](const auto& g) { return g.top_k_frequent(f, k); });
}
template <std::integral N> auto top_k_frequent(N k, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [k](const auto& g) { return g.top_k_frequent(k); });
}
// Your own: seed; update(state, row) -> state; combine(state, state) -> state; finish(state) -> value. combine(seed, x) must be x.
template <class Seed, class Update, class Combine>
auto aggregate(Seed seed, Update update, Combine combine, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [seed, update, combine](const auto& g) { return g.aggregate(seed, update, combine); });
}
template <class Seed, class Update, class Combine, agg::function_of_row Finish>
auto aggregate(Seed seed, Update update, Combine combine, Finish finish, detail::call_site at = detail::call_site::here()) {
  return agg::named_at(at, [seed, update, combine, finish](const auto& g) { return g.aggregate(seed, update, combine, finish); });
}

}  // namespace query::aggregates
