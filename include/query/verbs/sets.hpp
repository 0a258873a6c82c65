// distinct, union, intersect, except (each also _by a key), concat.
//
// Results hold one row for each key, the first to appear; their order is unspecified unless .as_ordered().
#pragma once

#include <query/verbs/breaker.hpp>

namespace query::verbs {

struct whole_row {
  template <class T> const T& operator()(const T& t) const { return t; }
};

template <class Derived, class T> class sets {
 public:
  auto distinct(call_site at = call_site::here()) const { return distinct_by(whole_row{}, at, "distinct"); }
  template <class F> auto distinct_by(F f, call_site at = call_site::here(), const char* label = "distinct_by") const {
    query::check_callable<F, T>();
    return finish<T>(keyed(detail::verb::distinct, label, f, at, self()), self());
  }
  template <class F, class Equal, class Hash> auto distinct_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    auto n = keyed(detail::verb::distinct, "distinct_by", f, at, self());
    n->keys = custom_keys<detail::result_of<F, T>>(std::move(equal), std::move(hash));
    return finish<T>(std::move(n), self());
  }

  template <query_like Q> auto union_with(const Q& q, call_site at = call_site::here()) const { return set(detail::verb::union_with, "union_with", q, whole_row{}, at); }
  template <query_like Q, class F> auto union_with_by(const Q& q, F f, call_site at = call_site::here()) const { return set(detail::verb::union_with, "union_with_by", q, f, at); }
  template <query_like Q> auto intersect(const Q& q, call_site at = call_site::here()) const { return set(detail::verb::intersect, "intersect", q, whole_row{}, at); }
  template <query_like Q, class F> auto intersect_by(const Q& q, F f, call_site at = call_site::here()) const { return set(detail::verb::intersect, "intersect_by", q, f, at); }
  template <query_like Q> auto except(const Q& q, call_site at = call_site::here()) const { return set(detail::verb::except, "except", q, whole_row{}, at); }
  template <query_like Q, class F> auto except_by(const Q& q, F f, call_site at = call_site::here()) const { return set(detail::verb::except, "except_by", q, f, at); }

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
  template <class F, class... Q> auto keyed(detail::verb v, const char* label, const F& f, call_site at, const Q&... q) const {
    using K = detail::result_of<F, T>;
    check_key<K>();
    auto n = new_node<T>(v, label, at, q...);
    n->key = ir::describe<K>();
    n->functions.push_back(detail::make_map<T, K>("key", f));
    return n;
  }
  template <class Q, class F> auto set(detail::verb v, const char* label, const Q& q, const F& f, call_site at) const {
    same_row<Q>();
    return finish<T>(keyed(v, label, f, at, self(), q), self());
  }
};

}  // namespace query::verbs
