// distinct, union, intersect, except (each also _by a key), concat.
//
// Results hold one row for each key, the first to appear; their order is unspecified unless .as_ordered(). Each (but concat)
// takes an equality and a hash of the keys, or of the rows, as its last arguments: nulls are handed to them like any key.
// The other rows are another query, or what query::from takes: a.union_with(rows), a.concat({1, 2}).
#pragma once

#include <initializer_list>

#include <query/verbs/breaker.hpp>

namespace query::verbs {

struct whole_row {
  template <class T> const T& operator()(const T& t) const { return t; }
};

template <class Derived, class T> class sets {
 public:
  // (`label`: the verb that errors and plans name, where this is a part of another.)
  auto distinct(call_site at = call_site::here(), const char* label = "distinct") const {
    return one_for_each<check::distinct>(label, whole_row{}, at);
  }
  template <key_function Equal, key_function Hash>
  auto distinct(Equal equal, Hash hash, call_site at = call_site::here()) const {
    return one_for_each<check::distinct>("distinct", whole_row{}, at, equal, hash);
  }
  template <class F> auto distinct_by(F f, call_site at = call_site::here(), const char* label = "distinct_by") const {
    return one_for_each<check::distinct_by>(label, f, at);
  }
  template <class F, key_function Equal, key_function Hash>
  auto distinct_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return one_for_each<check::distinct_by>("distinct_by", f, at, equal, hash);
  }

  template <class Q = std::initializer_list<T>> auto union_with(Q&& q, call_site at = call_site::here()) const {
    return set<check::union_with>(detail::verb::union_with, "union_with", other_rows(std::forward<Q>(q), at), whole_row{}, at);
  }
  template <class Q = std::initializer_list<T>, key_function Equal, key_function Hash>
  auto union_with(Q&& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::union_with>(detail::verb::union_with, "union_with", other_rows(std::forward<Q>(q), at), whole_row{}, at, equal, hash);
  }
  template <class Q = std::initializer_list<T>, class F> auto union_with_by(Q&& q, F f, call_site at = call_site::here()) const {
    return set<check::union_with_by>(detail::verb::union_with, "union_with_by", other_rows(std::forward<Q>(q), at), f, at);
  }
  template <class Q = std::initializer_list<T>, class F, key_function Equal, key_function Hash>
  auto union_with_by(Q&& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::union_with_by>(detail::verb::union_with, "union_with_by", other_rows(std::forward<Q>(q), at), f, at, equal, hash);
  }

  template <class Q = std::initializer_list<T>> auto intersect(Q&& q, call_site at = call_site::here()) const {
    return set<check::intersect>(detail::verb::intersect, "intersect", other_rows(std::forward<Q>(q), at), whole_row{}, at);
  }
  template <class Q = std::initializer_list<T>, key_function Equal, key_function Hash>
  auto intersect(Q&& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::intersect>(detail::verb::intersect, "intersect", other_rows(std::forward<Q>(q), at), whole_row{}, at, equal, hash);
  }
  template <class Q = std::initializer_list<T>, class F> auto intersect_by(Q&& q, F f, call_site at = call_site::here()) const {
    return set<check::intersect_by>(detail::verb::intersect, "intersect_by", other_rows(std::forward<Q>(q), at), f, at);
  }
  template <class Q = std::initializer_list<T>, class F, key_function Equal, key_function Hash>
  auto intersect_by(Q&& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::intersect_by>(detail::verb::intersect, "intersect_by", other_rows(std::forward<Q>(q), at), f, at, equal, hash);
  }

  template <class Q = std::initializer_list<T>> auto except(Q&& q, call_site at = call_site::here()) const {
    return set<check::except>(detail::verb::except, "except", other_rows(std::forward<Q>(q), at), whole_row{}, at);
  }
  template <class Q = std::initializer_list<T>, key_function Equal, key_function Hash>
  auto except(Q&& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::except>(detail::verb::except, "except", other_rows(std::forward<Q>(q), at), whole_row{}, at, equal, hash);
  }
  template <class Q = std::initializer_list<T>, class F> auto except_by(Q&& q, F f, call_site at = call_site::here()) const {
    return set<check::except_by>(detail::verb::except, "except_by", other_rows(std::forward<Q>(q), at), f, at);
  }
  template <class Q = std::initializer_list<T>, class F, key_function Equal, key_function Hash>
  auto except_by(Q&& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set<check::except_by>(detail::verb::except, "except_by", other_rows(std::forward<Q>(q), at), f, at, equal, hash);
  }

  template <key_function Equal> auto distinct(const Equal&) const { return forgot_hash<check::distinct, Equal, T>(); }
  template <class F, key_function Equal> auto distinct_by(const F&, const Equal&) const {
    return forgot_hash<check::distinct_by, Equal, T>();
  }
  template <class Q, key_function E> auto union_with(const Q&, const E&) const { return forgot_hash<check::union_with, E, T>(); }
  template <class Q, key_function E> auto intersect(const Q&, const E&) const { return forgot_hash<check::intersect, E, T>(); }
  template <class Q, key_function E> auto except(const Q&, const E&) const { return forgot_hash<check::except, E, T>(); }
  template <class Q, class F, key_function E>
  auto union_with_by(const Q&, const F&, const E&) const { return forgot_hash<check::union_with_by, E, T>(); }
  template <class Q, class F, key_function E>
  auto intersect_by(const Q&, const F&, const E&) const { return forgot_hash<check::intersect_by, E, T>(); }
  template <class Q, class F, key_function E> auto except_by(const Q&, const F&, const E&) const {
    return forgot_hash<check::except_by, E, T>();
  }

  QUERY_DETAIL_NEEDS(distinct_by, 1, "the key is missing: distinct_by([](auto t) { return t.symbol; }). Of whole rows: distinct()")
  QUERY_DETAIL_ONE_KEY(distinct_by, 2)
  QUERY_DETAIL_NEEDS(concat, 1, "the other rows are missing: concat(rows)")
  QUERY_DETAIL_NEEDS(union_with, 1, "the other rows are missing: union_with(rows)")

  // The rows of this query, then those of the other, in order.
  template <class Q = std::initializer_list<T>> auto concat(Q&& q, call_site at = call_site::here()) const {
    return chained(other_rows(std::forward<Q>(q), at), at);
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class Q> auto chained(const Q& q, call_site at) const {
    if constexpr (!check::concat::same_row<Q, T>()) return check::after_error{};
    else return finish<T>(new_node<T>(detail::verb::concat, "concat", at, self(), q), self(), q);
  }
  // `same`: nothing, or an equality and a hash of keys.
  template <class Check, class F, class... Same> static constexpr bool keyed_by() {
    if constexpr (sizeof...(Same) == 0) return Check::template key<F, T>();
    else return Check::template custom_key<F, T, Same...>();
  }
  template <class F, class... Same> static std::shared_ptr<logical> keyed(std::shared_ptr<logical> n, const F& f, const Same&... same) {
    using K = detail::result_of<F, T>;
    if constexpr (sizeof...(same) > 0) n->keys = custom_keys<K>(same...);
    n->key = ir::describe<K>();
    n->functions.push_back(detail::make_map<T, K>("key", f));
    return n;
  }
  template <class Check, class F, class... Same> auto one_for_each(const char* label, const F& f, call_site at, const Same&... same) const {
    if constexpr (!keyed_by<Check, F, Same...>()) return check::after_error{};
    else {
      auto n = keyed(new_node<T>(detail::verb::distinct, label, at, self()), f, same...);
      if (n->label != "distinct_by") name_part(*n, "distinct");
      return finish<T>(std::move(n), self());
    }
  }
  template <class Check, class Q, class F, class... Same>
  auto set(detail::verb v, const char* label, const Q& q, const F& f, call_site at, const Same&... same) const {
    if constexpr (!Check::template same_row<Q, T>()) return check::after_error{};
    else if constexpr (!keyed_by<Check, F, Same...>()) return check::after_error{};
    else return finish<T>(keyed(new_node<T>(v, label, at, self(), q), f, same...), self(), q);
  }
};

}  // namespace query::verbs
