// asof_join: each left row with the one right row of an equal key whose time is nearest.
//
//   trades.asof_join(quotes, symbol, symbol, time, time, [](auto t, auto q) { return ...; });   // q: a std::optional<Quote>
//
// Made of other verbs, so that every engine, cluster and memory limit knows it: of the rows of both sides, their keys, times and numbers
// are partitioned by the hash of the key, each partition is sorted and swept over (verbs/asof_sweep.hpp), and the numbers that match are
// put into the order of the left rows and joined with the rows themselves.
#pragma once

#include <query/detail/join_keys.hpp>
#include <query/verbs/asof_sweep.hpp>
#include <query/verbs/ordering.hpp>
#include <query/verbs/sequence.hpp>

namespace query::check {

struct asof_join : asof_join_keys {
  // Numbers, or optionals of them, that meet in one type.
  template <class LF, class L, class RF, class R> static constexpr bool times() {
    constexpr bool given = gives_value<LF, L>() && gives_value<RF, R>();
    static_assert(given, "query: asof_join: the times are functions of a left row and of a right row: asof_join(right, left key, right "
                         "key, left time, right time, result), or without the keys");
    if constexpr (!given) {
      return false;
    } else {
      using A = detail::result_of<LF, L>;
      using B = detail::result_of<RF, R>;
      return numbers<typename detail::present<A>::type, typename detail::present<B>::type>();
    }
  }
  template <class A, class B> static constexpr bool numbers() {
    constexpr bool both = std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !std::is_same_v<A, bool> && !std::is_same_v<B, bool>;
    static_assert(both, "query: asof_join: the times must be numbers, or optionals of numbers. Give the number that a time or date holds, "
                        "as in [](const auto& t) { return t.time.count(); }");
    if constexpr (!both) return false;
    else {
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

// {number, {key, time}} of a row, {number, time} without a key. Right rows count ~0, ~1...
template <class K, class Time, bool Right, class KF, class TF> class asof_row {
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
  asof_row(KF key, TF time) : key_(std::move(key)), time_{std::move(time)} {}

  template <class Row, class I> requires(taken<Row>())
  auto operator()(const Row& row, const I& i) const noexcept(nothrow<Row>()) {
    const auto number = [&] {
      if constexpr (Right) return -1 - i;
      else return i;
    }();
    if constexpr (keyed) {
      const detail::as_key<K, KF> key{key_};
      if constexpr (detail::is_twin_v<Row>) return make<indexed<std::pair<K, Time>>>(number, std::pair(key(row), time_(row)));
      else return indexed<std::pair<K, Time>>{number, {key(row), time_(row)}};
    } else {
      if constexpr (detail::is_twin_v<Row>) return make<indexed<Time>>(number, time_(row));
      else return indexed<Time>{number, time_(row)};
    }
  }

 private:
  [[no_unique_address]] KF key_;
  detail::as_key<Time, TF> time_;
};

// The result function over a left row with the number of its match, and that match with its number.
template <class T, class R, class F> class asof_result {
 public:
  explicit asof_result(F f) : f_(std::move(f)) {}

  template <class L2, class R2>
  requires(detail::is_twin_v<L2> && std::is_invocable_v<const F&, const detail::twin_t<T>&, const detail::twin_t<std::optional<R>>&>)
  auto operator()(const L2& left, const R2& right) const
      noexcept(std::is_nothrow_invocable_v<const F&, const detail::twin_t<T>&, const detail::twin_t<std::optional<R>>&>) {
    auto& a = ir::current_arena();
    const ir::type* type = ir::describe<std::optional<R>>();
    const ir::node* some = a.put(ir::op::some, type, {detail::to_node(right->value)});
    const ir::node* has = a.put(ir::op::has_value, ir::describe<bool>(), {detail::to_node(right)});
    return f_(left.value, detail::make_twin<std::optional<R>>(ir::make_select(a, has, some, a.put(ir::op::null, type))));
  }
  auto operator()(const indexed<T>& left, const std::optional<indexed<R>>& right) const {
    using Out = detail::result_of<F, T, std::optional<R>>;
    const std::optional<R> match = right ? std::optional<R>(right->value) : std::nullopt;
    return Out(detail::as_stored<Out>(detail::call(f_, left.value, match)));
  }

 private:
  [[no_unique_address]] F f_;
};

template <class Derived, class T> class asof_joins {
 public:
  // f(l, r) for each left row, in their order; r is a std::optional of the right row with an equal key whose time is the last at or
  // before the left row's, empty without a match. Without f: std::pair. The options: the first at or after it, or the nearer of both (the
  // earlier one where both are as near), {.direction = query::nearest::forward}; no match at the same time, {.exact = false}; how far
  // apart the times may be, {.tolerance = 5}, in their unit. Of right rows of one key and time, the last one of the source
  // matches backward, the first one forward. Keys: as in join. Times: numbers or optionals of them; a null or a NaN matches nothing.
  // user_error for a tolerance that is negative or NaN. O((left + right) log(rows of a partition)); O(n) for integers. Like DuckDB's
  // ASOF JOIN and Polars' join_asof.
  template <class Q, class LK, class RK, class LT, class RT>
  auto asof_join(Q&& right, LK lk, RK rk, LT lt, RT rt, asof_options how = {}, call_site at = call_site::here()) const {
    return keyed(other_rows(std::forward<Q>(right), at), lk, rk, lt, rt, pair_rows{}, how, at);
  }
  template <class Q, class LK, class RK, class LT, class RT, class F> requires(!std::is_same_v<F, asof_options>)
  auto asof_join(Q&& right, LK lk, RK rk, LT lt, RT rt, F f, asof_options how = {}, call_site at = call_site::here()) const {
    return keyed(other_rows(std::forward<Q>(right), at), lk, rk, lt, rt, f, how, at);
  }
  // The same without a key: all rows are one group, sorted by all threads and swept over by one.
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
      const auto rows = read_again(self(), at);
      const auto others = read_again(right, at);
      const auto left = rows.select(asof_row<K, Time, false, LK, LT>(lk, lt), at, "asof_join");
      const auto other = others.select(asof_row<K, Time, true, RK, RT>(rk, rt), at, "asof_join");
      const auto both = one_after_other(left, other, at);
      const auto together = brought_together<V>(both, at);
      const detail::asof_sweep<V> sweep(how);
      const auto found = run_caller::applied<indexed<std::int64_t>>(together, sweep, std::is_void_v<K>, "asof_join", at);
      return joined<F>(matched(rows, found, at), others, f, at);
    }
  }
  // Rows that are read twice, for their times and for the result: those that verbs before this one make are made once.
  template <class Row, class C> static Query<Row, cpu::rows<Row>> read_again(const Query<Row, C>& q, call_site at) {
    using detail::verb;
    const Query<Row, cpu::rows<Row>> rows = q;
    const verb last = rows.to_pipe().node->what;
    if (!detail::row_wise(last) && last != verb::source_stream && last != verb::source_file) return rows;
    return one_after_other(rows, Query<Row, cpu::rows<Row>>(rows_pipe<Row>({}, at), nullptr), at);
  }
  // Not `concat`: bases of a query must not share the name of a verb.
  template <class A, class B> static auto one_after_other(const A& a, const B& b, call_site at) {
    using Row = typename A::row;
    auto node = new_node<Row>(detail::verb::concat, "asof_join", at, a, b);
    name_part(*node, "concat");
    return finish<Row>(std::move(node), a, b);
  }
  // Those of equal keys; without a key all of them, in the order of their times.
  template <class V, class Both> static auto brought_together(const Both& both, call_site at) {
    if constexpr (detail::asof_parts<V>::keyed) {
      using K = typename detail::asof_parts<V>::key;
      auto node = new_node<indexed<V>>(detail::verb::partition, "asof_join", at, both);
      name_part(*node, "hash_partitioned_by");
      node->key = ir::describe<K>();
      node->functions.push_back(detail::make_map<indexed<V>, K>("key", [](const auto& r) { return r.value.first; }));
      node->seed = most_partitions;
      node->step = 0;
      return finish<indexed<V>>(std::move(node), both);
    } else {
      return sorted<indexed<V>>(both, [](const auto& r) { return r.value; }, at);
    }
  }
  template <class Row, class Rows, class F> static auto sorted(const Rows& rows, const F& f, call_site at) {
    auto node = new_node<Row>(detail::verb::order_by, "asof_join", at, rows);
    name_part(*node, "order_by");
    add_order<Row>(*node, f, false, nulls::last);
    return finish<Row>(std::move(node), rows);
  }
  // The left rows with the numbers of their matches.
  template <class Left, class Found> static auto matched(const Left& left, const Found& found, call_site at) {
    const auto in_order = sorted<indexed<std::int64_t>>(found, [](const auto& r) { return r.index; }, at);
    auto node = new_node<indexed<T>>(detail::verb::zip, "asof_join", at, left, in_order);
    name_part(*node, "zip");
    using number = indexed<std::int64_t>;
    if constexpr (ir::described_v<T>)
      node->functions.push_back(detail::make_pair_map<T, false, number, false, indexed<T>>(
          [](const auto& t, const auto& m) { return make<indexed<T>>(m.value, t); }));
    else
      node->functions.push_back(detail::make_pair_map<T, false, number, false, indexed<T>>(
          [](const T& t, const number& m) { return indexed<T>{m.value, t}; }));
    return finish<indexed<T>>(std::move(node), left, in_order);
  }
  template <class F, class Left, class Q> static auto joined(const Left& left, const Q& right, const F& f, call_site at) {
    using R = typename Q::row;
    using Out = detail::result_of<F, T, std::optional<R>>;
    const auto numbered = [&] {
      if constexpr (ir::described_v<R>)
        return right.select([](const auto& r, const auto& i) { return make<indexed<R>>(i, r); }, at, "asof_join");
      else return right.select([](const R& r, std::int64_t i) { return indexed<R>{i, r}; }, at, "asof_join");
    }();
    auto node = new_node<Out>(detail::verb::join, "asof_join", at, left, numbered);
    name_part(*node, "left_join");
    node->join = detail::join_kind::left;
    node->ordered = true;
    node->key = ir::describe<std::int64_t>();
    node->functions.push_back(detail::make_map<indexed<T>, std::int64_t>("left number", number_of<T>()));
    node->functions.push_back(detail::make_map<indexed<R>, std::int64_t>("right number", number_of<R>()));
    node->functions.push_back(
        detail::make_pair_map<indexed<T>, false, indexed<R>, true, Out>(asof_result<T, R, F>(f)));
    return finish<Out>(std::move(node), left, numbered);
  }
  template <class Row> static auto number_of() {
    if constexpr (ir::described_v<Row>) return [](const auto& r) { return r.index; };
    else return [](const indexed<Row>& r) { return r.index; };
  }

  static constexpr std::uint64_t most_partitions = 1024;
};

}  // namespace query::verbs

namespace query::detail {

// Opaque where either function is.
template <class K, class Time, bool Right, class KF, class TF> struct wrapper<verbs::asof_row<K, Time, Right, KF, TF>> {
  static constexpr bool opaque = wrapper<KF>::opaque || wrapper<TF>::opaque;
  static constexpr bool must_trace = wrapper<KF>::must_trace || wrapper<TF>::must_trace;
  static constexpr bool generic = (wrapper<KF>::generic || std::is_same_v<KF, verbs::no_key>) && wrapper<TF>::generic;
};
template <class T, class R, class F> struct wrapper<verbs::asof_result<T, R, F>> : wrapper<F> {};

}  // namespace query::detail
