// What `auto g` is in group_by(key).select([](auto g) { ... }): its members stand for aggregates that are kept up incrementally.
#pragma once

#include <span>
#include <string>
#include <utility>

#include <query/detail/aggregates_of_all.hpp>
#include <query/detail/check.hpp>
#include <query/detail/group_keys.hpp>
#include <query/detail/own_keys.hpp>
#include <query/detail/sketch_aggregates.hpp>

namespace query::agg {

#define QUERY_DETAIL_NEEDS_GROUP                                                                                       \
  "query: looking at the rows of a group materialises it. Name the parameter type to allow that: "                    \
  "[](const query::Group<Key, Row>& g) { ... }"

#define QUERY_DETAIL_NEEDS_VALUE(best, of_values)                                                                       \
  "query: " #best ": the function is missing: g." #best "([](auto t) { return t.price; }), the row whose price it is. The value alone: " \
  "g." #of_values "([](auto t) { return t.price; })"

// What g.where(p) gives after its error: aggregates of nothing.
struct refused_rows {
#define QUERY_DETAIL_REFUSED(name) template <class... A> refused name(const A&...) const { return {}; }
  QUERY_DETAIL_REFUSED(count) QUERY_DETAIL_REFUSED(sum) QUERY_DETAIL_REFUSED(mean) QUERY_DETAIL_REFUSED(average) QUERY_DETAIL_REFUSED(min)
  QUERY_DETAIL_REFUSED(max) QUERY_DETAIL_REFUSED(first) QUERY_DETAIL_REFUSED(last) QUERY_DETAIL_REFUSED(any) QUERY_DETAIL_REFUSED(all)
  QUERY_DETAIL_REFUSED(median) QUERY_DETAIL_REFUSED(count_distinct) QUERY_DETAIL_REFUSED(collect) QUERY_DETAIL_REFUSED(arg_min)
  QUERY_DETAIL_REFUSED(arg_max) QUERY_DETAIL_REFUSED(approx_count_distinct) QUERY_DETAIL_REFUSED(approx_quantile)
  QUERY_DETAIL_REFUSED(top_k_frequent)
#undef QUERY_DETAIL_REFUSED
};

template <class K, class T> struct recorder {
  auto key() const { return key_expression<K>(); }
  auto count() const { return agg::count{}; }
  template <class F> auto count(F f) const {
    if constexpr (!check::count::counts<F, T>()) return refused{};
    else return count_if<F>{{}, std::move(f)};
  }
  template <class F = itself> auto sum(F f = {}) const {
    if constexpr (!check::sum::number_of<F, T, true>()) return refused{};
    else return agg::sum<F>{{}, std::move(f)};
  }
  template <class F = itself> auto mean(F f = {}) const {
    if constexpr (!check::mean::number_of<F, T, true>()) return refused{};
    else return agg::mean<F>{{}, std::move(f)};
  }
  template <class F = itself> auto average(F f = {}) const {
    if constexpr (!check::average::number_of<F, T, true>()) return refused{};
    else return agg::mean<F>{{}, std::move(f)};
  }
  template <class F = itself> auto min(F f = {}) const {
    if constexpr (!check::min::ordered<F, T>()) return refused{};
    else return extreme<false, F>{{}, std::move(f)};
  }
  template <class F = itself> auto max(F f = {}) const {
    if constexpr (!check::max::ordered<F, T>()) return refused{};
    else return extreme<true, F>{{}, std::move(f)};
  }
  template <class F> auto arg_min(F f) const {
    if constexpr (!check::arg_min::ordered<F, T>()) return refused{};
    else return best_row<F>(arg_extreme<false, F>{{}, std::move(f)});
  }
  template <class F> auto arg_max(F f) const {
    if constexpr (!check::arg_max::ordered<F, T>()) return refused{};
    else return best_row<F>(arg_extreme<true, F>{{}, std::move(f)});
  }
  template <class D = void> refused arg_min() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_VALUE(arg_min, min)); return {}; }
  template <class D = void> refused arg_max() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_VALUE(arg_max, max)); return {}; }
  // By the user's own order of values, less(a, b).
  template <class F, class Less> auto min(F f, Less less) const {
    if constexpr (!check::min::custom_order<F, T, Less>()) return refused{};
    else return extreme_by<false, F, Less>{{}, std::move(f), std::move(less)};
  }
  template <class F, class Less> auto max(F f, Less less) const {
    if constexpr (!check::max::custom_order<F, T, Less>()) return refused{};
    else return extreme_by<true, F, Less>{{}, std::move(f), std::move(less)};
  }
  template <class F, class Less> auto arg_min(F f, Less less) const {
    if constexpr (!check::arg_min::custom_order<F, T, Less>()) return refused{};
    else return best_row<F>(arg_extreme_by<false, F, Less>{{}, std::move(f), std::move(less)});
  }
  template <class F, class Less> auto arg_max(F f, Less less) const {
    if constexpr (!check::arg_max::custom_order<F, T, Less>()) return refused{};
    else return best_row<F>(arg_extreme_by<true, F, Less>{{}, std::move(f), std::move(less)});
  }
  template <class F = itself> auto variance(F f = {}) const {
    if constexpr (!check::variance::number_of<F, T>()) return refused{};
    else return agg::variance<false, F>{{}, std::move(f)};
  }
  template <class F = itself> auto stddev(F f = {}) const {
    if constexpr (!check::stddev::number_of<F, T>()) return refused{};
    else return agg::variance<true, F>{{}, std::move(f)};
  }
  template <class F = itself> auto first(F f = {}) const {
    if constexpr (!check::first::value<F, T>()) return refused{};
    else return with_fields<given<F, T>>(edge<false, F>{{}, std::move(f)});
  }
  template <class F = itself> auto last(F f = {}) const {
    if constexpr (!check::last::value<F, T>()) return refused{};
    else return with_fields<given<F, T>>(edge<true, F>{{}, std::move(f)});
  }
  template <class F> auto any(F f) const {
    if constexpr (!check::any::predicate<F, T>()) return refused{};
    else return decided<false, F>{{}, std::move(f)};
  }
  template <class F> auto all(F f) const {
    if constexpr (!check::all::predicate<F, T>()) return refused{};
    else return decided<true, F>{{}, std::move(f)};
  }
  template <class F = itself> auto count_distinct(F f = {}) const {
    if constexpr (!check::count_distinct::key<F, T>()) return refused{};
    else return agg::count_distinct<F>{{}, std::move(f)};
  }
  // By the user's own equality and hash of the values.
  template <class F, class Equal, class Hash> auto count_distinct(F f, Equal equal, Hash hash) const {
    if constexpr (!check::count_distinct::custom_key<F, T, Equal, Hash>()) return refused{};
    else return count_distinct_by<F>{{}, std::move(f), detail::custom_keys<value_in<F, T>>(std::move(equal), std::move(hash))};
  }
  template <class F, class Equal> auto count_distinct(const F&, const Equal&) const {
    check::count_distinct::no_hash<Equal>();
    return refused{};
  }
  template <class F = itself> auto median(F f = {}) const {
    if constexpr (!check::median::number_of<F, T>()) return refused{};
    else return agg::quantile<F>{{}, std::move(f), 0.5};
  }
  template <class F = itself> auto quantile(F f, double q) const {
    if (!(q >= 0 && q <= 1)) throw detail::unplaced_error("g.quantile(f, q): q must lie between 0 and 1: " + std::to_string(q));
    if constexpr (!check::quantile::number_of<F, T>()) return refused{};
    else return agg::quantile<F>{{}, std::move(f), q};
  }
  template <class F = itself> auto collect(F f = {}) const {
    if constexpr (!check::collect::value<F, T>()) return refused{};
    else return agg::collect<F>{{}, std::move(f)};
  }
  template <class F = itself> auto approx_count_distinct(F f = {}) const {
    if constexpr (!check::approx_count_distinct::key<F, T>()) return refused{};
    else return agg::approx_count_distinct<F>{{}, std::move(f)};
  }
  template <class F> auto approx_quantile(F f, double q) const {
    if constexpr (!check::approx_quantile::number_of<F, T>()) return refused{};
    else return agg::approx_quantile<F>{{}, std::move(f), checked_share(q)};
  }
  auto approx_quantile(double q) const { return approx_quantile(itself{}, q); }
  template <class F, class N> auto top_k_frequent(F f, N k) const {
    if constexpr (!check::top_k_frequent::counted<F, N, T>()) return refused{};
    else return agg::top_k_frequent<F>{{}, std::move(f), checked_k(k)};
  }
  template <class N> auto top_k_frequent(N k) const { return top_k_frequent(itself{}, k); }
  // combine(seed, x) must be x: the seed starts every part of the rows.
  template <class S, class U, class C, class F = itself> auto aggregate(S seed, U update, C combine, F finish = {}) const {
    if constexpr (!check::aggregate::seed<S, U, C, F, T>()) return refused{};
    else return custom<S, U, C, F>{{}, std::move(seed), std::move(update), std::move(combine), std::move(finish)};
  }
  template <class S, class U> auto aggregate(const S&, const U&) const {
    check::aggregate::no_combine<S>();
    return refused{};
  }

  template <class D = void> const T* begin() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return nullptr; }
  template <class D = void> const T* end() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return nullptr; }
  template <class D = void> std::span<const T> rows() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return {}; }
  template <class D = void> std::size_t size() const { static_assert(detail::never<D>, QUERY_DETAIL_NEEDS_GROUP); return {}; }
  // A group is no query: its rows are chosen within the aggregate.
  template <class F> refused_rows where(const F&) const {
    static_assert(detail::never<F>, "query: where: a group has aggregates only. Choose rows within one: g.count(p), "
                                    "g.sum([](auto t) { return query::iff(t.qty > 100, t.price, 0.0); }); or before group_by, by where(p)");
    return {};
  }
#define QUERY_DETAIL_VERB_OF_ROWS(verb, instead)                                                                                       \
  template <class... A> refused verb(const A&...) const {                                                                               \
    static_assert(detail::never<std::tuple<A...>>, "query: " #verb ": a group has aggregates only" instead ". Verbs over its rows: "     \
                                                   "[](const query::Group<Key, Row>& g) { return query::from(g.rows())." #verb "..."); \
    return {};                                                                                                                          \
  }
  QUERY_DETAIL_VERB_OF_ROWS(distinct, ", such as g.count_distinct(f)") QUERY_DETAIL_VERB_OF_ROWS(select, ", such as g.collect(f)")
  QUERY_DETAIL_VERB_OF_ROWS(top, ", such as g.arg_max(f)") QUERY_DETAIL_VERB_OF_ROWS(take, ", such as g.first()")
  QUERY_DETAIL_VERB_OF_ROWS(order_by, ", such as g.arg_min(f)")
  QUERY_DETAIL_VERB_OF_ROWS(order_by_descending, ", such as g.arg_max(f)")
#undef QUERY_DETAIL_VERB_OF_ROWS

 private:
  // g.arg_max(f).price: of a row that is there for sure, the fields.
  template <class F, class A> static auto best_row(A a) {
    if constexpr (nullable<F, T>) return a;
    else return with_fields<T>(std::move(a));
  }
};

}  // namespace query::agg
