// asof_join: each left row with the one right row of an equal key whose time is nearest.
//
//   trades.asof_join(quotes, symbol, symbol, time, time, [](auto t, auto q) { return ...; });   // q: a std::optional<Quote>
//
// A left join whose keys are pairs of key and time, or times alone: the right side is sorted once, and each left row looks up the
// nearest time (src/cpu_engine/asof_table.hpp).
#pragma once

#include <query/detail/asof_options.hpp>
#include <query/detail/join_keys.hpp>
#include <query/detail/make_function.hpp>
#include <query/verbs/breaker.hpp>

namespace query::check {

struct asof_join : asof_join_keys {
  // Numbers or times, or optionals of them, that meet in one type.
  template <class LF, class L, class RF, class R> static constexpr bool times() {
    constexpr bool given = gives_value<LF, L>() && gives_value<RF, R>();
    static_assert(given || fails_inside<LF, L> || fails_inside<RF, R>,
                         "query: asof_join: the times are functions of a left row and of a right row: asof_join(right, left key, right "
                         "key, left time, right time, result), or without the keys");
    if constexpr (!given) {
      return false;
    } else {
      using A = detail::result_of<LF, L>;
      using B = detail::result_of<RF, R>;
      return numbers<typename detail::present<A>::type, typename detail::present<B>::type>();
    }
  }
  template <class N>
  static constexpr bool number = std::is_arithmetic_v<N> && !std::is_same_v<N, bool> && !std::is_same_v<N, long double>;
  template <class N> static constexpr bool time = number<N> || ir::ticking<N>;
  template <class A, class B> static constexpr bool numbers() {
    constexpr bool both = time<A> && time<B>;
    static_assert(both, "query: asof_join: the times must be numbers, but not long double, or times of std::chrono, or optionals of them. "
                        "Give the number that another time holds, as in [](const auto& t) { return t.time.count(); }");
    if constexpr (!both) return false;
    else if constexpr (!number<A> || !number<B>) {
      static_assert(std::is_same_v<A, B>, "query: asof_join: the times have different types. Convert one of them, as by "
                                          "query::time_point_cast<std::chrono::seconds>(t.time) of query/times.hpp");
      return std::is_same_v<A, B>;
    } else {
      constexpr bool meet = std::is_arithmetic_v<detail::common_key_t<A, B>>;
      static_assert(meet, "query: asof_join: a std::uint64_t and a signed integer have no type that holds both. Convert one time: "
                          "query::cast<std::int64_t>(t.time)");
      return meet;
    }
  }
};

}  // namespace query::check

namespace query::verbs {

struct no_key {};  // of an asof_join without keys

// {key, time} of a row, or the time alone.
template <class K, class Time, class KF, class TF> class asof_key {
  static constexpr bool keyed = !std::is_same_v<KF, no_key>;
  template <class Row> static constexpr bool taken() {
    if constexpr (keyed) return std::is_invocable_v<const KF&, const Row&> && std::is_invocable_v<const TF&, const Row&>;
    else return std::is_invocable_v<const TF&, const Row&>;
  }
  template <class Row> static constexpr bool nothrow() {
    // Of placeholders: what says that a function does not trace. Rows' own keys may throw where they are copied.
    if constexpr (!detail::is_twin_v<Row>) return false;
    else if constexpr (keyed)
      return std::is_nothrow_invocable_v<const KF&, const Row&> || std::is_nothrow_invocable_v<const TF&, const Row&>;
    else return std::is_nothrow_invocable_v<const TF&, const Row&>;
  }

 public:
  asof_key(KF key, TF time) : key_(std::move(key)), time_{std::move(time)} {}

  template <class Row> requires(taken<Row>())
  auto operator()(const Row& row) const noexcept(nothrow<Row>()) {
    if constexpr (keyed) return std::pair(detail::as_key<K, KF>{key_}(row), time_(row));
    else return time_(row);
  }

 private:
  [[no_unique_address]] KF key_;
  detail::as_key<Time, TF> time_;
};

template <class Derived, class T> class asof_joins {
 public:
  // f(l, r) for each left row, in their order; r is a std::optional of the right row with an equal key whose time is the last at or
  // before the left row's, empty without a match. Without f: std::pair. The options: the first at or after it, or the nearer of both (the
  // earlier one where both are as near), {.direction = query::nearest::forward}; no match at the same time, {.exact = false}; how far
  // apart the times may be, {.tolerance = 5}, in their unit, or {.tolerance = 5s}. Of right rows of one key and time, the last one of the
  // source matches backward, the first one forward. Keys: as in join. Times: std::chrono's, numbers or optionals of them; a null or a NaN
  // matches nothing.
  // user_error for a tolerance that is negative or NaN. The right rows are sorted by time, unless they are already; left rows in the
  // order of their times find theirs in O(1), others in O(log right). O(right) memory. Like DuckDB's ASOF JOIN and Polars' join_asof.
  template <class Q, class LK, class RK, class LT, class RT>
  auto asof_join(Q&& right, LK lk, RK rk, LT lt, RT rt, asof_options how = {}, call_site at = call_site::here()) const {
    return keyed(other_rows(std::forward<Q>(right), at), lk, rk, lt, rt, pair_rows{}, how, at);
  }
  template <class Q, class LK, class RK, class LT, class RT, class F> requires(!std::is_same_v<F, asof_options>)
  auto asof_join(Q&& right, LK lk, RK rk, LT lt, RT rt, F f, asof_options how = {}, call_site at = call_site::here()) const {
    return keyed(other_rows(std::forward<Q>(right), at), lk, rk, lt, rt, f, how, at);
  }
  // The same without a key.
  template <class Q, class LT, class RT>
  auto asof_join(Q&& right, LT lt, RT rt, asof_options how = {}, call_site at = call_site::here()) const {
    return timed<void>(other_rows(std::forward<Q>(right), at), no_key{}, no_key{}, lt, rt, pair_rows{}, how, at);
  }
  template <class Q, class LT, class RT, class F> requires(!std::is_same_v<F, asof_options>)
  auto asof_join(Q&& right, LT lt, RT rt, F f, asof_options how = {}, call_site at = call_site::here()) const {
    return timed<void>(other_rows(std::forward<Q>(right), at), no_key{}, no_key{}, lt, rt, f, how, at);
  }
  QUERY_DETAIL_NEEDS(asof_join, 3, "takes the time of either side, also where they are the same: asof_join(right, left time, right time), "
                                   "and for rows with equal keys asof_join(right, left key, right key, left time, right time)")

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }

  template <class Q, class LK, class RK, class LT, class RT, class F>
  auto keyed(const Q& right, const LK& lk, const RK& rk, const LT& lt, const RT& rt, const F& f, asof_options how, call_site at) const {
    using R = check::row_of_t<Q>;
    if constexpr (!check::asof_join::other<Q>() || !check::asof_join::keys_callable<LK, T, RK, R>()) {
      return check::after_error{};
    } else {
      using KL = detail::result_of<LK, T>;
      using KR = detail::result_of<RK, R>;
      using K = detail::common_key_t<KL, KR>;
      if constexpr (!check::asof_join::common_key<K, detail::first_part_apart<KL, KR>()>()) return check::after_error{};
      else return timed<K>(right, lk, rk, lt, rt, f, how, at);
    }
  }
  template <class K, class Q, class LK, class RK, class LT, class RT, class F>
  auto timed(const Q& right, const LK& lk, const RK& rk, const LT& lt, const RT& rt, const F& f, asof_options how, call_site at) const {
    using R = check::row_of_t<Q>;
    if constexpr (!check::asof_join::other<Q>() || !check::asof_join::times<LT, T, RT, R>()) {
      return check::after_error{};
    } else if constexpr (!check::asof_join::copied<T>() || !check::asof_join::copied<R>() ||
                         !check::asof_join::pair<F, T, std::optional<R>>()) {
      return check::after_error{};
    } else {
      if (!how.tolerance.valid()) detail::fail("asof_join", "the tolerance must not be negative or NaN", at);
      using Time = detail::common_key_t<detail::result_of<LT, T>, detail::result_of<RT, R>>;
      using V = std::conditional_t<std::is_void_v<K>, Time, std::pair<K, Time>>;
      using Out = detail::result_of<F, T, std::optional<R>>;
      auto node = new_node<Out>(detail::verb::join, "asof_join", at, self(), right);
      node->join = detail::join_kind::left;
      node->ordered = true;
      if (!how.tolerance.convert(ir::unit_of<typename detail::present<Time>::type>()))
        detail::fail("asof_join", "the tolerance is a duration, and the times are numbers: give a number in their unit", at);
      node->options = std::make_shared<const asof_options>(how);
      node->key = ir::describe<V>();
      constexpr bool keyed = !std::is_void_v<K>;
      node->functions.push_back(detail::make_map<T, V>(keyed ? "left key and time" : "left time", asof_key<K, Time, LK, LT>(lk, lt)));
      node->functions.push_back(detail::make_map<R, V>(keyed ? "right key and time" : "right time", asof_key<K, Time, RK, RT>(rk, rt)));
      node->functions.push_back(detail::make_pair_map<T, false, R, true, Out>(f));
      return finish<Out>(std::move(node), self(), right);
    }
  }
};

}  // namespace query::verbs

namespace query::detail {

// Opaque where either function is.
template <class K, class Time, class KF, class TF> struct wrapper<verbs::asof_key<K, Time, KF, TF>> {
  static constexpr bool opaque = wrapper<KF>::opaque || wrapper<TF>::opaque;
  static constexpr bool must_trace = wrapper<KF>::must_trace || wrapper<TF>::must_trace;
  static constexpr bool generic = (wrapper<KF>::generic || std::is_same_v<KF, verbs::no_key>) && wrapper<TF>::generic;
};

}  // namespace query::detail
