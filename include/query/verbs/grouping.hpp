// group_by, aggregate, count_by, aggregate_by, distinct groups and their selectors.
#pragma once

#include <query/aggregates.hpp>
#include <query/detail/discard.hpp>
#include <query/detail/growing_list.hpp>
#include <query/group.hpp>
#include <query/lookup.hpp>
#include <query/verbs/breaker.hpp>
#include <query/verbs/grouping_sets.hpp>
#include <query/verbs/ordering.hpp>
#include <query/verbs/sets.hpp>

namespace query {

namespace agg {

template <class K, class T, class F> auto recorded(const F& f) { return f(recorder<K, T>{}); }
// What a group function returns, as an aggregate expression.
template <class... A> auto as_expression(const std::tuple<A...>& x) {
  if constexpr (is_key_shape<std::tuple<A...>>) return operand_t<std::tuple<A...>>(x);
  else return std::apply([](const A&... a) { return make_apply(tupler{}, a...); }, x);
}
template <class A, class B> auto as_expression(const std::pair<A, B>& x) {
  if constexpr (is_key_shape<std::pair<A, B>>) return operand_t<std::pair<A, B>>(x);
  else return make_apply(pairer{}, x.first, x.second);
}
template <class X> auto as_expression(const X& x) {
  if constexpr (is_key_shape<X>) return operand_t<X>(x);
  else if constexpr (is_row_shape<X>) return whole_of(x);
  else if constexpr (!check::groups::expression<aggregate<X>>()) return refused{};
  else return x;
}
template <class K, class T, class F> auto program_of(const F& f) {
  if constexpr (!check::groups::taken<F, recorder<K, T>, Group<K, T>>()) return refused{};
  else if constexpr (!check::groups::value<decltype(recorded<K, T>(f))>()) return refused{};
  else return as_expression(recorded<K, T>(f));
}
template <class K, class T, class F> using program_t = decltype(program_of<K, T>(std::declval<const F&>()));

template <class K, class T, class F> ir::traced trace_group(const void* f) {
  return ir::run_trace([&]() -> const ir::node* {
    if constexpr (!ir::described_v<K> || !ir::described_v<T>) ir::give_up(detail::no_record<K, T>());
    else return detail::to_node((*static_cast<const F*>(f))(traced_group<K, T>{}));
  });
}

struct nothing_key {};
// The same of all rows, of which there may be none: std::optionals where there is no value then.
template <class T, class F> auto program_of_all(const F& f) {
  using A = program_t<nothing_key, T, F>;
  return of_all<T, A>::from(program_of<nothing_key, T>(f));
}
template <class T, class F> ir::traced trace_all(const void* f) {
  using A = decltype(program_of_all<T>(std::declval<const F&>()));
  return ir::run_trace([&]() -> const ir::node* {
    if constexpr (!ir::described_v<T>) ir::give_up(detail::no_record<T>());
    else return trace_of_all(detail::to_node((*static_cast<const F*>(f))(traced_group<std::int64_t, T>{})),
                             ir::describe<value_of<A, nothing_key, T>>());
  });
}

// All aggregates of a call aggregate(sum(f), count()) as one tuple with the key in front.
template <class... A> struct key_and {
  std::tuple<A...> a;
  template <class G> auto operator()(const G& g) const {
    return std::apply([&](const A&... x) { return std::tuple(g.key(), x(g)...); }, a);
  }
};
// The rows of a group as a value that a function of Group takes.
template <class K, class T, class F> struct with_rows : expression {
  F f;
  template <class> using state = detail::growing_list<T>;
  template <class S> void step(S& s, const T& t) const { s.emplace_back(t); }
  template <class S> static void merge(S& a, S& b) { a.append(b); }
  template <class, class S> auto value(const K& k, S& s) const {
    using R = detail::stored_t<std::invoke_result_t<const F&, Group<K, T>>>;
    held made{Group<K, T>(k, s.take())};
    return R(detail::as_stored<R>(f(std::move(made.group))));  // what refers to the group is stored while it lives
  }

 private:
  struct held {
    Group<K, T> group;
    ~held() {
      std::vector<T> rows = std::move(group).rows();
      const detail::let_go gone(rows);
    }
  };
};
template <class K, class T, class F> with_rows<K, T, F> rows_of(const F& f) { return {{}, f}; }
template <class K, class T> struct whole_group {
  Group<K, T> operator()(Group<K, T> g) const { return g; }
};
// The same with f(row) for each row.
template <class K, class T, class F> struct with_elements : expression {
  F f;
  using element = detail::result_of<F, T>;
  template <class> using state = detail::growing_list<element>;
  template <class S> void step(S& s, const T& t) const {
    s.emplace_back(detail::as_stored<element>(detail::call(f, detail::seen_by<F>(t))));
  }
  template <class S> static void merge(S& a, S& b) { a.append(b); }
  template <class, class S> auto value(const K& k, S& s) const { return Group<K, element>(k, s.take()); }
};
template <class K, class T, class F> with_elements<K, T, F> elements_of(const F& f) { return {{}, f}; }
template <class K, class T, class F> ir::traced trace_elements(const void* f) {
  return ir::run_trace([&]() -> const ir::node* {
    using U = detail::result_of<F, T>;
    if constexpr (!ir::described_v<K> || !ir::described_v<T> || !ir::described_v<U>) {
      ir::give_up(detail::no_record<K, T, U>());
    } else if constexpr (!detail::wrapper<F>::generic) {
      ir::give_up("its parameter is not generic (write `auto`)");
    } else {
      const traced_group<K, T> g;
      const auto elements = g.collect(*static_cast<const F*>(f));
      return detail::make_array(ir::describe<Group<K, U>>(), {detail::to_node(g.key()), detail::to_node(elements)});
    }
  });
}
// A group with its rows as expressions: its key and the list of its rows.
template <class K, class T> ir::traced trace_groups(const void*) {
  return ir::run_trace([]() -> const ir::node* {
    if constexpr (!ir::described_v<K> || !ir::described_v<T>) {
      ir::give_up(detail::no_record<K, T>());
    } else {
      const traced_group<K, T> g;
      return detail::make_array(ir::describe<Group<K, T>>(), {detail::to_node(g.key()), detail::to_node(g.collect())});
    }
  });
}

}  // namespace agg

namespace verbs {

using detail::said_of_groups;

// rows.group_by(key): choose what becomes of each group. The verbs of sequences that it has itself are those of .groups().
template <class Q, class T, class K, class KF> class Grouped {
 public:
  Grouped(Q q, KF f, detail::key_calls keys, call_site at, const char* label, said_of_groups said = {})
      : q_(std::move(q)), f_(std::move(f)), keys_(std::move(keys)), at_(at), label_(label), said_(std::move(said)) {}

  // One row a group. f(auto g): aggregates, kept up incrementally; f(const Group<K, T>& g): groups with their rows.
  // O(rows) time; O(groups) memory for aggregates, O(rows) for materialised groups.
  template <class F> auto select(F f, call_site at = call_site::here()) const {
    if constexpr (detail::names_its_types<F>) {
      if constexpr (!check::groups::takes_rows<F, Group<K, T>>()) {
        return check::after_error{};
      } else if constexpr (!check::groups::kept<detail::stored_t<std::invoke_result_t<const F&, Group<K, T>>>, Group<K, T>>()) {
        return check::after_error{};
      } else {
        using A = agg::with_rows<K, T, F>;
        return finish<A, F, agg::rows_of<K, T, F>>("groups", f, at, [](const void*) {
          ir::traced t;
          t.reason = "groups are materialised (the parameter is query::Group)";
          return t;
        });
      }
    } else {
      using A = agg::program_t<K, T, F>;
      if constexpr (agg::is_refused<A>) return check::after_error{};
      else return finish<A, F, agg::program_of<K, T, F>>("select", f, at, &agg::trace_group<K, T, F>);
    }
  }
  // aggregate(sum(f), count(), ...): std::tuple<K, values...>. Aggregates are functions of a group:
  // aggregate([](auto g) { return g.sum(f); }, ...) or those of query::aggregates.
  template <class... A> auto aggregate(A... a) const {
    if constexpr ((!check::groups::taken<A, agg::recorder<K, T>, Group<K, T>>() || ...)) return check::after_error{};
    else return select(agg::key_and<A...>{std::tuple<A...>(std::move(a)...)}, at_);
  }
  template <class Seed, class... F> requires std::is_arithmetic_v<Seed> auto aggregate(Seed, F...) const {
    static_assert(sizeof(Seed) == 0, "query: group_by(...).aggregate: takes aggregates of the group, not a seed: aggregate(sum(f), "
                                     "count()). By a seed: aggregate_by(key, seed, update, combine)");
    return check::after_error{};
  }
  auto count(call_site at = call_site::here()) const {
    return select([](auto g) { return std::tuple(g.key(), g.count()); }, at);
  }
  // Query<Group<K, T>>: each group with its rows.
  auto groups(call_site at = call_site::here()) const {
    using F = agg::whole_group<K, T>;
    return finish<agg::with_rows<K, T, F>, F, agg::rows_of<K, T, F>>("groups", F{}, at, &agg::trace_groups<K, T>);
  }
  // Query<Group<K, U>>: the same with a U = f(row) in the place of each row.
  template <class F> auto elements(F f, call_site at = call_site::here()) const {
    if constexpr (!check::elements::value<F, T>()) return check::after_error{};
    else return finish<agg::with_elements<K, T, F>, F, agg::elements_of<K, T, F>>("groups", f, at, &agg::trace_elements<K, T, F>);
  }
  auto keys(call_site at = call_site::here()) const {
    return select([](auto g) { return g.key(); }, at);
  }

  // ---- rows of the groups, in the order of the rows. Keys with an equality of the user's are a user_error.
  // The n rows of each group that have the largest f: over(key).top(n, f).
  template <class N, class F> auto top(N n, F f) const {
    own_keys_refused("top", "order_by(f).group_by(key, equal, hash).select_many(...)");
    return said_of(q_.over(f_, at_, "top").top(n, std::move(f)));
  }
  // Of each group's rows that are equal, or have an equal f, the first.
  auto distinct(call_site at = call_site::here()) const { return distinct_by(whole_row{}, at, "distinct"); }
  template <class F> auto distinct_by(F f, call_site at = call_site::here(), const char* label = "distinct_by") const {
    own_keys_refused(label, "distinct_by(pair of both keys, equal, hash)");
    if constexpr (!check::distinct_by::key<F, T>()) return check::after_error{};
    else if constexpr (detail::wrapper<KF>::generic && detail::wrapper<F>::generic)
      return said_of(q_.distinct_by(detail::key_and_value{f_, std::move(f)}, at, label));
    else
      return said_of(q_.distinct_by(
          [key = f_, f](const T& t) {
            using E = detail::result_of<F, T>;
            return std::pair<K, E>(detail::as_stored<K>(detail::call(key, detail::seen_by<KF>(t))),
                                   detail::as_stored<E>(detail::call(f, detail::seen_by<F>(t))));
          },
          at, label));
  }
  QUERY_DETAIL_ONE_KEY(top, 1)
  QUERY_DETAIL_ONE_KEY(distinct_by, 0)

  // ---- as a sequence: each group with its rows, a query::Group<K, T>. What only needs aggregates is faster behind select, which
  // does not keep the rows: .select([](auto g) { return std::pair(g.key(), g.count()); }).where(...)
  operator Query<Group<K, T>, cpu::rows<Group<K, T>>>() const { return groups(at_); }  // NOLINT: the groups are what this is
  std::vector<Group<K, T>> to_vector() const { return groups(at_).to_vector(); }
  auto begin() const { return groups(at_).begin(); }
  std::default_sentinel_t end() const { return {}; }
  template <class F> void for_each(F f) const { groups(at_).for_each(std::move(f)); }
  Group<K, T> first(call_site at = call_site::here()) const { return groups(at_).first(at); }
  template <class F> auto order_by(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    return groups(at_).order_by(std::move(f), where, at);
  }
  template <class F> auto order_by_descending(F f, nulls where = nulls::last, call_site at = call_site::here()) const {
    return groups(at_).order_by_descending(std::move(f), where, at);
  }
  QUERY_DETAIL_ONE_KEY(order_by, 0)
  QUERY_DETAIL_ONE_KEY(order_by_descending, 0)
#define QUERY_DETAIL_OF_GROUPS(verb) \
  template <class X> auto verb(X x, call_site at = call_site::here()) const { return groups(at_).verb(std::move(x), at); }
  QUERY_DETAIL_OF_GROUPS(where) QUERY_DETAIL_OF_GROUPS(select_many) QUERY_DETAIL_OF_GROUPS(take) QUERY_DETAIL_OF_GROUPS(skip)
  QUERY_DETAIL_OF_GROUPS(any) QUERY_DETAIL_OF_GROUPS(all)
#undef QUERY_DETAIL_OF_GROUPS
  // Verbs that must not stand here.
#define QUERY_DETAIL_NOT_HERE(verb, fix)                                                                                \
  template <class... A> check::after_error verb(const A&...) const {                                                    \
    static_assert(sizeof...(A) > 99, "query: group_by(key)." #verb ": " fix);                                           \
    return {};                                                                                                          \
  }
#define QUERY_DETAIL_NO_VALUE(verb) \
  QUERY_DETAIL_NOT_HERE(verb, "say what becomes of each group first: group_by(key).select([](auto g) { return std::pair(g.key(), " \
                              "g.count()); }), or .groups(), a query of the groups with their rows")
  QUERY_DETAIL_NO_VALUE(sum) QUERY_DETAIL_NO_VALUE(average) QUERY_DETAIL_NO_VALUE(mean) QUERY_DETAIL_NO_VALUE(min)
  QUERY_DETAIL_NO_VALUE(max) QUERY_DETAIL_NO_VALUE(to_vectors)
  QUERY_DETAIL_NO_VALUE(min_by) QUERY_DETAIL_NO_VALUE(max_by) QUERY_DETAIL_NO_VALUE(join)
  QUERY_DETAIL_NO_VALUE(left_join) QUERY_DETAIL_NO_VALUE(to_map) QUERY_DETAIL_NO_VALUE(to_lookup)
  QUERY_DETAIL_NO_VALUE(to_columns) QUERY_DETAIL_NO_VALUE(print) QUERY_DETAIL_NO_VALUE(table) QUERY_DETAIL_NO_VALUE(describe)
  QUERY_DETAIL_NO_VALUE(write_csv) QUERY_DETAIL_NO_VALUE(explain) QUERY_DETAIL_NO_VALUE(single) QUERY_DETAIL_NO_VALUE(last)
  QUERY_DETAIL_NO_VALUE(write_binary) QUERY_DETAIL_NO_VALUE(approx_count_distinct) QUERY_DETAIL_NO_VALUE(approx_quantile)
  QUERY_DETAIL_NO_VALUE(top_k_frequent) QUERY_DETAIL_NO_VALUE(write_json_lines)
  QUERY_DETAIL_NO_VALUE(reduce) QUERY_DETAIL_NO_VALUE(group_by) QUERY_DETAIL_NO_VALUE(concat) QUERY_DETAIL_NO_VALUE(first_or_none)
  QUERY_DETAIL_NO_VALUE(then_by) QUERY_DETAIL_NO_VALUE(cached) QUERY_DETAIL_NO_VALUE(do_while) QUERY_DETAIL_NO_VALUE(zip)
#undef QUERY_DETAIL_NO_VALUE
#undef QUERY_DETAIL_NOT_HERE

  // ---- words about how and where: of the grouping, and as ever of what follows. as_ordered(): groups in order of first appearance.
  Grouped as_accelerated() const { return marked([](said_of_groups& s) { s.accelerated = true; }); }
  Grouped require_gpu() const { return marked([](said_of_groups& s) { s.accelerated = s.gpu_required = true; }); }
  Grouped fast_math() const { return marked([](said_of_groups& s) { s.fast_math = true; }); }
  Grouped on(engine e) const {
    return marked([e](said_of_groups& s) {
      s.ordered_to = e;
      if (e == engine::gpu) s.accelerated = true;
    });
  }
  Grouped as_ordered() const { return marked([](said_of_groups& s) { s.ordered = true; }); }
  Grouped named(std::string name) const { return marked([&](said_of_groups& s) { s.name = std::move(name); }); }
  Grouped in(const Session& s) const { return over(q_.in(s)); }
  Grouped verify() const { return over(q_.verify()); }
  Grouped timeout(double seconds, call_site at = call_site::here()) const { return over(q_.timeout(seconds, at)); }
  template <class Token> Grouped stop_on(Token token) const { return over(q_.stop_on(std::move(token))); }
  template <class F> Grouped on_progress(F report) const { return over(q_.on_progress(std::move(report))); }

 private:
  template <class Change> Grouped marked(Change change) const {
    said_of_groups s = said_;
    change(s);
    return Grouped(q_, f_, keys_, at_, label_, std::move(s));
  }
  void own_keys_refused(const char* verb, const char* instead) const {
    if (!keys_.equal) return;
    detail::fail(verb, std::string("groups by an equality of your own have no ") + verb + "; write " + instead, at_);
  }
  template <class R> auto said_of(const R& rows) const {
    if constexpr (std::is_same_v<R, check::after_error>) {
      return rows;
    } else {
      Query<typename R::row, cpu::rows<typename R::row>> q = rows;
      if (said_.accelerated) q = said_.gpu_required ? q.require_gpu() : q.as_accelerated();
      if (said_.fast_math) q = q.fast_math();
      if (said_.ordered) q = q.as_ordered();
      if (said_.ordered_to) q = q.on(*said_.ordered_to);
      return said_.name.empty() ? q : q.named(said_.name);
    }
  }
  Grouped over(const Q& q) const { return Grouped(q, f_, keys_, at_, label_, said_); }
  template <class A, class F, A (*Record)(const F&)>
  auto finish(const char* role, const F& f, call_site at, ir::traced (*retrace)(const void*)) const {
    using Out = agg::value_of<A, K, T>;
    auto n = detail::group_node(label_, ir::describe<Out>(), at_, q_.to_pipe(), said_, ir::describe<K>(), keys_);
    n->functions.push_back(detail::make_map<T, K>("key", f_));
    detail::user_function u = detail::hold(role, f);
    u.retrace = retrace;
    u.result = ir::describe<Out>();
    n->functions.push_back(std::move(u));
    n->aggregate = agg::calls_of<A, K, T, F, Record>();
    n->states_own_memory = detail::owns_memory_v<typename A::template state<T>>;
    if constexpr (detail::integer_key<K>) n->aggregate.update_known = &agg::update_known<A, K, T, KF>;
    (void)at;
    return verbs::finish<Out>(std::move(n), q_);
  }
  Q q_;
  KF f_;
  detail::key_calls keys_;
  call_site at_;
  const char* label_;
  said_of_groups said_;
};

template <class X> inline constexpr bool is_grouped = false;
template <class Q, class T, class K, class KF> inline constexpr bool is_grouped<Grouped<Q, T, K, KF>> = true;
template <class Level, class T, class... Part> inline constexpr bool is_grouped<GroupedSets<Level, T, Part...>> = true;

template <class Derived, class T> class grouping {
 public:
  // Groups rows by f(row); then .select(function of groups), .aggregate(...), .count(), .groups().
  // Keys: numbers, strings, enums, optionals, arrays, tuples, records. A null is a group of its own; all NaNs are one key.
  // The rows of a group keep their order, that of an order_by before it for one; groups come in any order, or with as_ordered() in
  // that of their first rows.
  template <class F> auto group_by(F f, call_site at = call_site::here(), const char* label = "group_by") const {
    if constexpr (!check::group_by::key<F, T>()) return check::after_error{};
    else return Grouped<Derived, T, detail::result_of<F, T>, F>(self(), std::move(f), {}, at, label);
  }
  // With the user's own equality and hash of keys: an equivalence, and the same hash for equal keys. Nulls are handed to them as
  // the empty optionals that they are; each group's key is the first of its rows' keys.
  template <class F, key_function Equal, key_function Hash>
  auto group_by(F f, Equal equal, Hash hash, call_site at = call_site::here(), const char* label = "group_by") const {
    if constexpr (!check::group_by::custom_key<F, T, Equal, Hash>()) {
      return check::after_error{};
    } else {
      using K = detail::result_of<F, T>;
      return Grouped<Derived, T, K, F>(self(), std::move(f), custom_keys<K>(std::move(equal), std::move(hash)), at, label);
    }
  }
  template <class F, key_function Equal> auto group_by(const F&, const Equal&) const { return forgot_hash<check::group_by, Equal, T>(); }
  // By each of several sets of keys (grouping_sets.hpp): group_by(query::rollup(year, month)).
  template <class... F>
  auto group_by(const key_sets<F...>& sets, call_site at = call_site::here(), const char* label = "group_by") const {
    if constexpr (!(check::group_by::key<F, T>() && ...)) {
      return check::after_error{};
    } else {
      using by_set = Grouped<Derived, T, std::tuple<detail::result_of<F, T>...>, detail::key_of_set_t<F...>>;
      using sets_of_rows = GroupedSets<by_set, T, detail::result_of<F, T>...>;
      std::vector<typename sets_of_rows::level> levels;
      for (const std::uint32_t set : sets.sets(label, at))
        levels.push_back({by_set(self(), sets.key_of(set), detail::key_calls{}, at, label), set});
      return sets_of_rows(std::move(levels), at, label);
    }
  }
  template <class F> auto count_by(F f, call_site at = call_site::here()) const {
    if constexpr (!check::count_by::key<F, T>()) return check::after_error{};
    else return group_by(std::move(f), at, "count_by").count(at);
  }
  template <class... F> auto count_by(const key_sets<F...>& sets, call_site at = call_site::here()) const {
    return group_by(sets, at, "count_by").count(at);
  }
  template <class F, key_function Equal> auto count_by(const F&, const Equal&) const { return forgot_hash<check::count_by, Equal, T>(); }
  template <class F, key_function Equal, key_function Hash>
  auto count_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    if constexpr (!check::count_by::custom_key<F, T, Equal, Hash>()) return check::after_error{};
    else return group_by(std::move(f), std::move(equal), std::move(hash), at, "count_by").count(at);
  }
  // std::tuple<K, S>: seed, update(state, row) -> state, combine(state, state) -> state. The seed, or seed(key); of the latter, combine
  // never sees a state without rows, and the key of each state's first row is computed once more.
  template <class F, class S, class U, class C>
  requires(!agg::any_named<S, U, C>) auto aggregate_by(F f, S seed, U update, C combine, call_site at = call_site::here()) const {
    if constexpr (!check::aggregate_by::key<F, T>()) return check::after_error{};
    else if constexpr (check::seed_of_key<S, detail::result_of<F, T>>) return folded_from_keys(f, seed, update, combine, at);
    else if constexpr (!check::aggregate_by::seed<S, U, C, agg::itself, T>()) return check::after_error{};
    else return folded(group_by(std::move(f), at, "aggregate_by"), seed, update, combine, at);
  }
  template <class F, class S, class U, class C, key_function Equal> requires(!agg::any_named<S, U, C, Equal>)
  auto aggregate_by(const F&, const S&, const U&, const C&, const Equal&) const { return forgot_hash<check::aggregate_by, Equal, T>(); }
  template <class F, class S, class U, class C, key_function Equal, key_function Hash> requires(!agg::any_named<S, U, C, Equal, Hash>)
  auto aggregate_by(F f, S seed, U update, C combine, Equal equal, Hash hash, call_site at = call_site::here()) const {
    if constexpr (!check::aggregate_by::custom_key<F, T, Equal, Hash>() || !check::aggregate_by::seed<S, U, C, agg::itself, T>())
      return check::after_error{};
    else return folded(group_by(std::move(f), std::move(equal), std::move(hash), at, "aggregate_by"), seed, update, combine, at);
  }
  // aggregate_by(key, sum(f), count(), ...), functions of query::aggregates: group_by(key).aggregate(sum(f), count(), ...).
  template <class F, class... A> requires(agg::all_named<A...>) auto aggregate_by(F f, A... a) const {
    const call_site at = agg::place_of(a...);
    if constexpr (!check::aggregate_by::key<F, T>()) return check::after_error{};
    else return group_by(std::move(f), at, "aggregate_by").aggregate(std::move(a)...);
  }
  template <class... F, class... A> requires(agg::all_named<A...>) auto aggregate_by(const key_sets<F...>& sets, A... a) const {
    return group_by(sets, agg::place_of(a...), "aggregate_by").aggregate(std::move(a)...);
  }
  QUERY_DETAIL_ONE_KEY(group_by, 2)
  QUERY_DETAIL_ONE_KEY(count_by, 2)
  template <class F, class G, class... A> requires(sizeof...(A) > 1 && !agg::is_named<G> && agg::any_named<A...>)
  check::after_error aggregate_by(const F&, const G&, const A&...) const {
    static_assert(sizeof...(A) == 0, "query: aggregate_by: takes one key, then functions of query::aggregates: aggregate_by(key, sum(f), "
                                     "count()). Several fields are one key: [](auto t) { return std::tuple(t.a, t.b); }");
    return {};
  }
  QUERY_DETAIL_NEEDS(group_by, 1, "the key is missing: group_by([](auto t) { return t.symbol; })")
  QUERY_DETAIL_NEEDS(count_by, 1, "the key is missing: count_by([](auto t) { return t.symbol; })")
  QUERY_DETAIL_NEEDS(aggregate, 1,
                     "the aggregates are missing: aggregate(sum([](auto t) { return t.qty; }), count()), functions in query::aggregates")
  QUERY_DETAIL_NEEDS(aggregate_by, 4,
                     "takes a key and aggregates: aggregate_by(key, sum(f), count()), or aggregate_by(key, seed, update, combine)")
  // One row from all rows: aggregate([](auto g) { return make<Stats>(g.count(), g.mean(f)); }). A query of exactly one row. What has
  // no value where there are no rows is a std::optional (detail/aggregates_of_all.hpp).
  // (The terminal verb aggregate(sum(f), count()), of functions of query::aggregates, gives the row itself.)
  template <class F>
  requires(!agg::is_named<F>) auto aggregate(F f, call_site at = call_site::here(), const char* label = "aggregate") const {
    using K = agg::nothing_key;
    if constexpr (agg::is_refused<agg::program_t<K, T, F>>) {
      return check::after_error{};
    } else {
      using A = decltype(agg::program_of_all<T>(f));
      using Out = agg::value_of<A, K, T>;
      auto n = new_node<Out>(detail::verb::aggregate, label, at, self());
      detail::user_function u = detail::hold("aggregate", f);
      u.retrace = &agg::trace_all<T, F>;
      u.result = ir::describe<Out>();
      n->functions.push_back(std::move(u));
      n->aggregate = agg::calls_of<A, K, T, F, agg::program_of_all<T, F>>();
      return finish<Out>(std::move(n), self());
    }
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class F, class S, class U, class C>
  auto folded_from_keys(const F& f, const S& seed, const U& update, const C& combine, call_site at) const {
    using K = detail::result_of<F, T>;
    if constexpr (!check::aggregate_by::seed_function<S, K>()) return check::after_error{};
    else return folded_from_states<K, detail::result_of<S, K>>(f, seed, update, combine, at);
  }
  template <class K, class V, class F, class S, class U, class C>
  auto folded_from_states(const F& f, const S& seed, const U& update, const C& combine, call_site at) const {
    if constexpr (!check::aggregate_by::seed<V, U, C, agg::itself, T>()) {
      return check::after_error{};
    } else {
      using state = std::optional<V>;
      const auto add = [f, seed, update](state s, const T& t) -> state {
        if (!s) s.emplace(seed(K(detail::as_stored<K>(detail::call(f, detail::seen_by<F>(t))))));
        return state(V(update(std::move(*s), t)));
      };
      const auto both = [combine](state a, state b) -> state {
        if (!a || !b) return a ? a : b;
        return state(V(combine(std::move(*a), std::move(*b))));
      };
      return group_by(f, at, "aggregate_by").select([add, both](auto g) {
        return std::tuple(g.key(), g.aggregate(state(), add, both, [](const state& s) { return *s; }));
      }, at);
    }
  }
  template <class G, class S, class U, class C>
  static auto folded(const G& groups, const S& seed, const U& update, const C& combine, call_site at) {
    return groups.select([seed, update, combine](auto g) { return std::tuple(g.key(), g.aggregate(seed, update, combine)); }, at);
  }
};

}  // namespace verbs
}  // namespace query
