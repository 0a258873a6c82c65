// group_by, aggregate, count_by, aggregate_by, distinct groups and their selectors.
#pragma once

#include <query/group.hpp>
#include <query/verbs/breaker.hpp>

namespace query {

namespace agg {

template <class K, class T, class F> auto recorded(const F& f) { return f(recorder<K, T>{}); }
// What a group function returns, as an aggregate expression.
template <class... A> auto as_expression(const std::tuple<A...>& x) {
  return std::apply([](const A&... a) { return make_apply(tupler{}, a...); }, x);
}
template <class A, class B> auto as_expression(const std::pair<A, B>& x) { return make_apply(pairer{}, x.first, x.second); }
template <class X> auto as_expression(const X& x) {
  static_assert(aggregate<X> || is_key_shape<X>,
                "query: the function of groups must give g.key(), an aggregate such as g.sum(f), arithmetic on them, or "
                "query::make<Out>(...)");
  if constexpr (is_key_shape<X>) return key{};
  else return x;
}
template <class K, class T, class F> auto program_of(const F& f) { return as_expression(recorded<K, T>(f)); }
template <class K, class T, class F> using program_t = decltype(program_of<K, T>(std::declval<const F&>()));

template <class K, class T, class F> ir::traced trace_group(const void* f) {
  return ir::run_trace([&]() -> const ir::node* {
    if constexpr (!ir::described_v<K> || !ir::described_v<T>) ir::give_up("no QUERY_RECORD for the row or key type");
    else return detail::to_node((*static_cast<const F*>(f))(traced_group<K, T>{}));
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
  template <class> using state = std::vector<T>;
  template <class S> void step(S& s, const T& t) const { s.push_back(t); }
  template <class S> static void merge(S& a, S& b) { a.insert(a.end(), std::make_move_iterator(b.begin()), std::make_move_iterator(b.end())); }
  template <class, class S> auto value(const K& k, S& s) const { return f(Group<K, T>(k, std::move(s))); }
};
template <class K, class T, class F> with_rows<K, T, F> rows_of(const F& f) { return {{}, f}; }
struct whole_group {
  template <class K, class T> Group<K, T> operator()(Group<K, T> g) const { return g; }
};
struct nothing_key {};

}  // namespace agg

namespace verbs {

// rows.group_by(key): choose what becomes of each group.
template <class Q, class T, class K, class KF> class Grouped {
 public:
  Grouped(Q q, KF f, detail::key_calls keys, call_site at) : q_(std::move(q)), f_(std::move(f)), keys_(std::move(keys)), at_(at) {}

  // One row a group. f(auto g): aggregates, kept up incrementally; f(const Group<K, T>& g): groups with their rows.
  // O(rows) time; O(groups) memory for aggregates, O(rows) for materialised groups.
  template <class F> auto select(F f, call_site at = call_site::here()) const {
    if constexpr (detail::names_its_types<F>) {
      static_assert(std::is_invocable_v<const F&, const Group<K, T>&>,
                    "query: the function of group_by(...).select(...) must take `auto g` (incremental) or `const query::Group<Key, "
                    "Row>& g` (materialised; check Key and Row)");
      using A = agg::with_rows<K, T, F>;
      return finish<A, F, agg::rows_of<K, T, F>>("groups", f, at, [](const void*) {
        ir::traced t;
        t.reason = "groups are materialised (the parameter is query::Group)";
        return t;
      });
    } else {
      using A = agg::program_t<K, T, F>;
      return finish<A, F, agg::program_of<K, T, F>>("select", f, at, &agg::trace_group<K, T, F>);
    }
  }
  // aggregate(sum(f), count(), ...): std::tuple<K, values...>. Aggregates are functions of a group:
  // aggregate([](auto g) { return g.sum(f); }, ...) or those of query::aggregates.
  template <class... A> auto aggregate(A... a) const {
    return select(agg::key_and<A...>{std::tuple<A...>(std::move(a)...)}, at_);
  }
  auto count(call_site at = call_site::here()) const {
    return select([](auto g) { return std::tuple(g.key(), g.count()); }, at);
  }
  // Query<Group<K, T>>: each group with its rows.
  auto groups(call_site at = call_site::here()) const {
    using G = Group<K, T>;
    const auto f = [](const G& g) { return g; };
    return select(f, at);
  }
  auto keys(call_site at = call_site::here()) const {
    return select([](auto g) { return g.key(); }, at);
  }

 private:
  template <class A, class F, A (*Record)(const F&)> auto finish(const char* role, const F& f, call_site at, ir::traced (*retrace)(const void*)) const {
    using Out = agg::value_of<A, K, T>;
    auto n = new_node<Out>(detail::verb::group_by, "group_by", at_, q_);
    n->key = ir::describe<K>();
    n->keys = keys_;
    n->functions.push_back(detail::make_map<T, K>("key", f_));
    detail::user_function u = detail::hold(role, f);
    u.retrace = retrace;
    u.result = ir::describe<Out>();
    n->functions.push_back(std::move(u));
    n->aggregate = agg::calls_of<A, K, T, F, Record>();
    (void)at;
    return verbs::finish<Out>(std::move(n), q_);
  }
  Q q_;
  KF f_;
  detail::key_calls keys_;
  call_site at_;
};

template <class Derived, class T> class grouping {
 public:
  // Groups rows by f(row); then .select(function of groups), .aggregate(...), .count(), .groups().
  // Keys: numbers, strings, enums, optionals, arrays, tuples, records. A null is a group of its own; all NaNs are one key.
  template <class F> auto group_by(F f, call_site at = call_site::here()) const {
    query::check_callable<F, T>();
    using K = detail::result_of<F, T>;
    check_key<K>();
    return Grouped<Derived, T, K, F>(self(), std::move(f), {}, at);
  }
  // With the user's own equality and hash of keys.
  template <class F, class Equal, class Hash> auto group_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    using K = detail::result_of<F, T>;
    return Grouped<Derived, T, K, F>(self(), std::move(f), custom_keys<K>(std::move(equal), std::move(hash)), at);
  }
  template <class F> auto count_by(F f, call_site at = call_site::here()) const { return group_by(std::move(f), at).count(at); }
  // std::pair<K, S>: seed, update(state, row) -> state, combine(state, state) -> state.
  template <class F, class S, class U, class C> auto aggregate_by(F f, S seed, U update, C combine, call_site at = call_site::here()) const {
    return group_by(std::move(f), at).select(
        [seed, update, combine](auto g) { return std::tuple(g.key(), g.aggregate(seed, update, combine)); }, at);
  }
  // One row from all rows: aggregate([](auto g) { return make<Stats>(g.count(), g.mean(f)); }). A query of exactly one row.
  template <class F> auto aggregate(F f, call_site at = call_site::here(), const char* label = "aggregate") const {
    using K = agg::nothing_key;
    using A = agg::program_t<K, T, F>;
    using Out = agg::value_of<A, K, T>;
    auto n = new_node<Out>(detail::verb::aggregate, label, at, self());
    detail::user_function u = detail::hold("aggregate", f);
    u.retrace = &agg::trace_group<std::int64_t, T, F>;
    u.result = ir::describe<Out>();
    n->functions.push_back(std::move(u));
    n->aggregate = agg::calls_of<A, K, T, F, agg::program_of<K, T, F>>();
    return finish<Out>(std::move(n), self());
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace verbs
}  // namespace query
