// distinct, union, intersect, except (each also _by a key), concat.
//
// Results hold one row for each key, the first to appear; their order is unspecified unless .as_ordered(). Each (but concat)
// takes an equality and a hash of the keys, or of the rows, as its last arguments: nulls are handed to them like any key.
#pragma once

#include <query/verbs/breaker.hpp>

namespace query::verbs {

struct whole_row {
  template <class T> const T& operator()(const T& t) const { return t; }
};

template <class Derived, class T> class sets {
 public:
  auto distinct(call_site at = call_site::here()) const { return one_for_each("distinct", whole_row{}, at); }
  template <key_function Equal, key_function Hash>
  auto distinct(Equal equal, Hash hash, call_site at = call_site::here()) const {
    return one_for_each("distinct", whole_row{}, at, equal, hash);
  }
  template <class F> auto distinct_by(F f, call_site at = call_site::here()) const { return one_for_each("distinct_by", f, at); }
  template <class F, key_function Equal, key_function Hash>
  auto distinct_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return one_for_each("distinct_by", f, at, equal, hash);
  }

  template <query_like Q>
  auto union_with(const Q& q, call_site at = call_site::here()) const {
    return set(detail::verb::union_with, "union_with", q, whole_row{}, at);
  }
  template <query_like Q, key_function Equal, key_function Hash>
  auto union_with(const Q& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::union_with, "union_with", q, whole_row{}, at, equal, hash);
  }
  template <query_like Q, class F>
  auto union_with_by(const Q& q, F f, call_site at = call_site::here()) const {
    return set(detail::verb::union_with, "union_with_by", q, f, at);
  }
  template <query_like Q, class F, key_function Equal, key_function Hash>
  auto union_with_by(const Q& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::union_with, "union_with_by", q, f, at, equal, hash);
  }
  template <query_like Q>
  auto intersect(const Q& q, call_site at = call_site::here()) const {
    return set(detail::verb::intersect, "intersect", q, whole_row{}, at);
  }
  template <query_like Q, key_function Equal, key_function Hash>
  auto intersect(const Q& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::intersect, "intersect", q, whole_row{}, at, equal, hash);
  }
  template <query_like Q, class F>
  auto intersect_by(const Q& q, F f, call_site at = call_site::here()) const {
    return set(detail::verb::intersect, "intersect_by", q, f, at);
  }
  template <query_like Q, class F, key_function Equal, key_function Hash>
  auto intersect_by(const Q& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::intersect, "intersect_by", q, f, at, equal, hash);
  }
  template <query_like Q>
  auto except(const Q& q, call_site at = call_site::here()) const { return set(detail::verb::except, "except", q, whole_row{}, at); }
  template <query_like Q, key_function Equal, key_function Hash>
  auto except(const Q& q, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::except, "except", q, whole_row{}, at, equal, hash);
  }
  template <query_like Q, class F>
  auto except_by(const Q& q, F f, call_site at = call_site::here()) const { return set(detail::verb::except, "except_by", q, f, at); }
  template <query_like Q, class F, key_function Equal, key_function Hash>
  auto except_by(const Q& q, F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return set(detail::verb::except, "except_by", q, f, at, equal, hash);
  }

  // The rows of this query, then those of the other, in order.
  template <query_like Q> auto concat(const Q& q, call_site at = call_site::here()) const {
    same_row<Q>();
    return finish<T>(new_node<T>(detail::verb::concat, "concat", at, self(), q), self());
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class Q> static constexpr void same_row() {
    static_assert(std::is_same_v<typename Q::row, T>, "query: both queries must have the same row type; use .select(...) on one of them");
  }
  // `same`: nothing, or an equality and a hash of keys.
  template <class F, class... Same> auto keyed(std::shared_ptr<logical> n, const F& f, const Same&... same) const {
    query::check_callable<F, T>();
    using K = detail::result_of<F, T>;
    if constexpr (sizeof...(same) > 0) n->keys = custom_keys<K>(same...);
    else check_key<K>();
    n->key = ir::describe<K>();
    n->functions.push_back(detail::make_map<T, K>("key", f));
    return finish<T>(std::move(n), self());
  }
  template <class F, class... Same> auto one_for_each(const char* label, const F& f, call_site at, const Same&... same) const {
    return keyed(new_node<T>(detail::verb::distinct, label, at, self()), f, same...);
  }
  template <class Q, class F, class... Same>
  auto set(detail::verb v, const char* label, const Q& q, const F& f, call_site at, const Same&... same) const {
    same_row<Q>();
    return keyed(new_node<T>(v, label, at, self(), q), f, same...);
  }
};

}  // namespace query::verbs
