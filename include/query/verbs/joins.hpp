// join (inner, left, right, full, semi, anti), group_join, cross_join, join_where.
//
// Equal keys match; a null matches nothing. Keys may be composite (tuple, record); the types of their numbers may differ between the
// two sides (detail/join_keys.hpp). The right side is another query, or what query::from takes. The order of the rows is unspecified
// unless .as_ordered() (outer row, then inner row). O(left + right + matches) time, O(right) memory for the hash table.
// Each takes an equality and a hash of keys as its last arguments, join(right, left_key, right_key, result, equal, hash);
// they never see a null, nor a composite key with a null part.
#pragma once

#include <query/detail/join_keys.hpp>
#include <query/detail/rows_function.hpp>
#include <query/verbs/breaker.hpp>

namespace query::verbs {

using detail::join_kind;

template <class Derived, class T> class joins {
 public:
  // left.join(right, left_key, right_key, [](auto l, auto r) { ... }); without a result function: std::pair<L, R>.
  template <class Q, class LF, class RF, class F = pair_rows>
  auto join(Q&& right, LF lf, RF rf, F f = {}, call_site at = call_site::here()) const {
    return pairs<check::join, join_kind::inner>("join", other_rows(std::forward<Q>(right), at), lf, rf, f, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return join(std::forward<Q>(right), lf, rf, pair_rows{}, equal, hash, at);
  }
  template <class Q, class LF, class RF, class F, key_function Equal, key_function Hash>
  auto join(Q&& right, LF lf, RF rf, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return pairs<check::join, join_kind::inner>("join", other_rows(std::forward<Q>(right), at), lf, rf, f, at, equal, hash);
  }
  // Every left row; r is a std::optional<R>, empty without a match.
  template <class Q, class LF, class RF, class F = pair_rows>
  auto left_join(Q&& right, LF lf, RF rf, F f = {}, call_site at = call_site::here()) const {
    return pairs<check::left_join, join_kind::left>("left_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto left_join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return left_join(std::forward<Q>(right), lf, rf, pair_rows{}, equal, hash, at);
  }
  template <class Q, class LF, class RF, class F, key_function Equal, key_function Hash>
  auto left_join(Q&& right, LF lf, RF rf, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return pairs<check::left_join, join_kind::left>("left_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at, equal, hash);
  }
  // Every right row; l is a std::optional<T>.
  template <class Q, class LF, class RF, class F = pair_rows>
  auto right_join(Q&& right, LF lf, RF rf, F f = {}, call_site at = call_site::here()) const {
    return pairs<check::right_join, join_kind::right>("right_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto right_join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return right_join(std::forward<Q>(right), lf, rf, pair_rows{}, equal, hash, at);
  }
  template <class Q, class LF, class RF, class F, key_function Equal, key_function Hash>
  auto right_join(Q&& right, LF lf, RF rf, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return pairs<check::right_join, join_kind::right>("right_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at, equal, hash);
  }
  // Every row of both sides; l and r are optionals.
  template <class Q, class LF, class RF, class F = pair_rows>
  auto full_join(Q&& right, LF lf, RF rf, F f = {}, call_site at = call_site::here()) const {
    return pairs<check::full_join, join_kind::full>("full_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto full_join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return full_join(std::forward<Q>(right), lf, rf, pair_rows{}, equal, hash, at);
  }
  template <class Q, class LF, class RF, class F, key_function Equal, key_function Hash>
  auto full_join(Q&& right, LF lf, RF rf, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return pairs<check::full_join, join_kind::full>("full_join", other_rows(std::forward<Q>(right), at), lf, rf, f, at, equal, hash);
  }
  // The left rows that have a match, each once.
  template <class Q, class LF, class RF> auto semi_join(Q&& right, LF lf, RF rf, call_site at = call_site::here()) const {
    return tested<check::semi_join>(join_kind::semi, "semi_join", other_rows(std::forward<Q>(right), at), lf, rf, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto semi_join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return tested<check::semi_join>(join_kind::semi, "semi_join", other_rows(std::forward<Q>(right), at), lf, rf, at, equal, hash);
  }
  // The left rows without a match.
  template <class Q, class LF, class RF> auto anti_join(Q&& right, LF lf, RF rf, call_site at = call_site::here()) const {
    return tested<check::anti_join>(join_kind::anti, "anti_join", other_rows(std::forward<Q>(right), at), lf, rf, at);
  }
  template <class Q, class LF, class RF, key_function Equal, key_function Hash>
  auto anti_join(Q&& right, LF lf, RF rf, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return tested<check::anti_join>(join_kind::anti, "anti_join", other_rows(std::forward<Q>(right), at), lf, rf, at, equal, hash);
  }
  template <class Q, class LF, class RF, key_function Equal>
  auto semi_join(const Q&, const LF&, const RF&, const Equal&) const { return forgot_hash<check::semi_join, Equal, T>(); }
  template <class Q, class LF, class RF, key_function Equal>
  auto anti_join(const Q&, const LF&, const RF&, const Equal&) const { return forgot_hash<check::anti_join, Equal, T>(); }
  // f(left row, const std::vector<R>& matches) for every left row, in order. Traced where both are `auto`: then the matches have
  // size(), empty(), [i], front() and back(), and query::sum(matches, f) and its kin for what goes through them all.
  template <class Q, class LF, class RF, class F>
  auto group_join(Q&& right, LF lf, RF rf, F f, call_site at = call_site::here()) const {
    return grouped(other_rows(std::forward<Q>(right), at), lf, rf, f, at);
  }
  template <class Q, class LF, class RF, class F, key_function Equal, key_function Hash>
  auto group_join(Q&& right, LF lf, RF rf, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return grouped(other_rows(std::forward<Q>(right), at), lf, rf, f, at, equal, hash);
  }
  template <class Q, class LF, class RF, class F, key_function Equal>
  auto group_join(const Q&, const LF&, const RF&, const F&, const Equal&) const { return forgot_hash<check::group_join, Equal, T>(); }
  template <class Q, class LF, class RF> auto group_join(const Q&, const LF&, const RF&) const {
    check::group_join::no_result<Q>();
    return check::after_error{};
  }
#define QUERY_DETAIL_NEEDS_KEYS(verb, rest) \
  QUERY_DETAIL_NEEDS(verb, 3, "takes a key of either side, also where they are the same: " #verb "(right, left key, right key" rest ")")
  QUERY_DETAIL_NEEDS_KEYS(join, "")
  QUERY_DETAIL_NEEDS_KEYS(left_join, "")
  QUERY_DETAIL_NEEDS_KEYS(right_join, "")
  QUERY_DETAIL_NEEDS_KEYS(full_join, "")
  QUERY_DETAIL_NEEDS_KEYS(semi_join, "")
  QUERY_DETAIL_NEEDS_KEYS(anti_join, "")
  QUERY_DETAIL_NEEDS_KEYS(group_join, ", result")
#undef QUERY_DETAIL_NEEDS_KEYS
  QUERY_DETAIL_NEEDS(cross_join, 1, "the other rows are missing: cross_join(rows)")
  template <class Q, class LF, key_function RF, class... More>
  check::after_error cross_join(const Q&, const LF&, const RF&, const More&...) const {
    static_assert(sizeof(Q) == 0, "query: cross_join: takes no keys, as every row meets every row: cross_join(right, result). Rows with "
                                  "equal keys: join(right, left key, right key, result)");
    return {};
  }
  // Every left row with every right row.
  template <class Q, class F = pair_rows>
  auto cross_join(Q&& right, F f = {}, call_site at = call_site::here(), const char* label = "cross_join") const {
    return crossed<check::cross_join>(other_rows(std::forward<Q>(right), at), f, at, label);
  }
  // Every left row with every right row for which condition(l, r) is true, in the order of the left rows, then of the right rows.
  //
  //   prices.join_where(spans, [](auto p, auto s) { return s.begin <= p.time && p.time < s.end; }, [](auto p, auto s) { ... })
  //
  // A traced condition is taken apart at its &&. Comparisons by <, <=, >, >= and == of a value of the left row with one of the right
  // row, numbers or strings of one type, find the candidates in sorted right rows, and the condition chooses among them: O(n log n)
  // for each side, and O(log n) more for each match of one or two such comparisons. Without one, and where the condition is opaque,
  // it is asked about every pair, and explain() says why. A comparison that a NaN or a null makes false matches nothing. O(right) memory.
  // Like Polars' join_where; the trees over sorted values: de Berg et al., Computational Geometry, chapter 10 (priority search trees).
  template <class Q, class C, class F = pair_rows>
  auto join_where(Q&& right, C condition, F f = {}, call_site at = call_site::here()) const {
    return crossed<check::join_where>(other_rows(std::forward<Q>(right), at), f, at, "join_where", condition);
  }
  QUERY_DETAIL_NEEDS(join_where, 2, "takes the other rows and a condition on a left and a right row: join_where(right, "
                                    "[](const auto& l, const auto& r) { return l.time < r.time; })")

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  // Condition: nothing, or a function of both rows.
  template <class Check, class Q, class F, class... Condition>
  auto crossed(const Q& right, const F& f, call_site at, const char* label, const Condition&... condition) const {
    using R = check::row_of_t<Q>;
    if constexpr (!may_be_copied<Check, R, check::is_query_v<Q> && std::is_same_v<F, pair_rows>>()) {
      return check::after_error{};
    } else if constexpr (!(check::join_where::template decides_on<Q, Condition, T>() && ...)) {
      return check::after_error{};
    } else if constexpr (!Check::template pairs<Q, F, T, R>()) {
      return check::after_error{};
    } else {
      using Out = detail::result_of<F, T, R>;
      auto n = new_node<Out>(detail::verb::cross_join, label, at, self(), right);
      if constexpr (sizeof...(condition) == 0) name_part(*n, "cross_join");
      (n->functions.push_back(detail::make_pair_filter<T, R>(condition)), ...);
      n->functions.push_back(detail::make_pair_map<T, false, R, false, Out>(f));
      return finish<Out>(std::move(n), self(), right);
    }
  }

  // The right side is a query, the keys meet in one type that the library, or the user's equality and hash, can tell apart.
  // Same: nothing, or that equality and hash.
  template <class Check, class Q, class LF, class RF, class... Same> static constexpr bool joinable() {
    if constexpr (!Check::template other<Q>()) return false;
    else if constexpr (!Check::template keys_callable<LF, T, RF, typename Q::row>()) return false;
    else return meet<Check, detail::result_of<LF, T>, detail::result_of<RF, typename Q::row>, Same...>();
  }
  template <class Check, class KL, class KR, class... Same> static constexpr bool meet() {
    return Check::template common_key<detail::common_key_t<KL, KR, Same...>, detail::first_part_apart<KL, KR>(), Same...>();
  }
  template <class Check, class Q, class LF, class RF, class... Same>
  auto tested(join_kind k, const char* label, const Q& right, const LF& lf, const RF& rf, call_site at, const Same&... same) const {
    if constexpr (!joinable<Check, Q, LF, RF, Same...>()) return check::after_error{};
    else return finish<T>(keyed<T, T>(k, label, right, lf, rf, at, same...), self(), right);
  }
  template <class Q, class LF, class RF, class F, class... Same>
  auto grouped(const Q& right, const LF& lf, const RF& rf, const F& f, call_site at, const Same&... same) const {
    using R = check::row_of_t<Q>;
    if constexpr (!joinable<check::group_join, Q, LF, RF, Same...>()) {
      return check::after_error{};
    } else if constexpr (!check::group_join::copied<R>()) {
      return check::after_error{};
    } else if constexpr (!check::group_join::pair_of<F, T, std::vector<R>,
                                                     detail::common_key_t<detail::result_of<LF, T>, detail::result_of<RF, R>>>()) {
      return check::after_error{};
    } else {
      using Out = detail::stored_t<std::invoke_result_t<const F&, const T&, const std::vector<R>&>>;
      auto n = keyed<Out, T>(join_kind::left, "group_join", right, lf, rf, at, same...);
      n->what = detail::verb::group_join;
      n->functions.push_back(detail::make_matches_map<T, R, Out>(f));
      static const ir::type* list = ir::describe<std::vector<R>>();
      n->source = std::shared_ptr<const void>(std::shared_ptr<void>(), list);  // the type of the matches
      return finish<Out>(std::move(n), self(), right);
    }
  }
  template <class Out, class L, class Q, class LF, class RF, class... Same>
  auto keyed(join_kind k, const char* label, const Q& right, const LF& lf, const RF& rf, call_site at, const Same&... same) const {
    using R = typename Q::row;
    using KL = detail::result_of<LF, T>;
    using KR = detail::result_of<RF, R>;
    using K = detail::common_key_t<KL, KR, Same...>;
    auto n = new_node<Out>(detail::verb::join, label, at, self(), right);
    n->join = k;
    if constexpr (sizeof...(same) > 0) n->keys = custom_keys<K>(same...);
    n->key = ir::describe<K>();
    n->functions.push_back(detail::make_map<T, K>("left key", detail::key_as<K, KL>(lf)));
    n->functions.push_back(detail::make_map<R, K>("right key", detail::key_as<K, KR>(rf)));
    return n;
  }
  template <class Check, join_kind Kind, class Q, class LF, class RF, class F, class... Same>
  auto pairs(const char* label, const Q& right, const LF& lf, const RF& rf, const F& f, call_site at, const Same&... same) const {
    using R = check::row_of_t<Q>;
    constexpr bool all_left = Kind == join_kind::left || Kind == join_kind::full;
    constexpr bool all_right = Kind == join_kind::right || Kind == join_kind::full;
    using L2 = detail::side_t<T, all_right>;
    using R2 = detail::side_t<R, all_left>;
    if constexpr (!joinable<Check, Q, LF, RF, Same...>()) {
      return check::after_error{};
    } else if constexpr (!may_be_copied<Check, R, all_left || std::is_same_v<F, pair_rows>>()) {
      return check::after_error{};
    } else if constexpr (!Check::template pair_of<F, L2, R2, detail::common_key_t<detail::result_of<LF, T>, detail::result_of<RF, R>>>()) {
      return check::after_error{};
    } else {
      using Out = detail::result_of<F, L2, R2>;
      auto n = keyed<Out, T>(Kind, label, right, lf, rf, at, same...);
      n->functions.push_back(detail::make_pair_map<T, all_right, R, all_left, Out>(f));
      return finish<Out>(std::move(n), self(), right);
    }
  }
};

}  // namespace query::verbs
