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
  auto distinct(call_site at = call_site::here()) const {
    if constexpr (!check::distinct::key<whole_row, T>()) return check::after_error{};
    else return finish<T>(keyed(detail::verb::distinct, "distinct", whole_row{}, at, self()), self());
  }
  template <class F> auto distinct_by(F f, call_site at = call_site::here()) const {
    if constexpr (!check::distinct_by::key<F, T>()) return check::after_error{};
    else return finish<T>(keyed(detail::verb::distinct, "distinct_by", f, at, self()), self());
  }
  template <class F, class Equal, class Hash> auto distinct_by(F f, Equal equal, Hash hash, call_site at = call_site::here()) const {
    if constexpr (!check::distinct_by::custom_key<F, T, Equal, Hash>()) {
      return check::after_error{};
    } else {
      auto n = keyed(detail::verb::distinct, "distinct_by", f, at, self());
      n->keys = custom_keys<detail::result_of<F, T>>(std::move(equal), std::move(hash));
      return finish<T>(std::move(n), self());
    }
  }

  template <class Q> auto union_with(const Q& q, call_site at = call_site::here()) const { return set<check::union_with>(detail::verb::union_with, "union_with", q, whole_row{}, at); }
  template <class Q, class F> auto union_with_by(const Q& q, F f, call_site at = call_site::here()) const { return set<check::union_with_by>(detail::verb::union_with, "union_with_by", q, f, at); }
  template <class Q> auto intersect(const Q& q, call_site at = call_site::here()) const { return set<check::intersect>(detail::verb::intersect, "intersect", q, whole_row{}, at); }
  template <class Q, class F> auto intersect_by(const Q& q, F f, call_site at = call_site::here()) const { return set<check::intersect_by>(detail::verb::intersect, "intersect_by", q, f, at); }
  template <class Q> auto except(const Q& q, call_site at = call_site::here()) const { return set<check::except>(detail::verb::except, "except", q, whole_row{}, at); }
  template <class Q, class F> auto except_by(const Q& q, F f, call_site at = call_site::here()) const { return set<check::except_by>(detail::verb::except, "except_by", q, f, at); }

  // The rows of this query, then those of the other, in order.
  template <class Q> auto concat(const Q& q, call_site at = call_site::here()) const {
    if constexpr (!check::concat::same_row<Q, T>()) return check::after_error{};
    else return finish<T>(new_node<T>(detail::verb::concat, "concat", at, self(), q), self());
  }

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  template <class F, class... Q> auto keyed(detail::verb v, const char* label, const F& f, call_site at, const Q&... q) const {
    using K = detail::result_of<F, T>;
    auto n = new_node<T>(v, label, at, q...);
    n->key = ir::describe<K>();
    n->functions.push_back(detail::make_map<T, K>("key", f));
    return n;
  }
  template <class Check, class Q, class F> auto set(detail::verb v, const char* label, const Q& q, const F& f, call_site at) const {
    if constexpr (!Check::template same_row<Q, T>()) return check::after_error{};
    else if constexpr (!Check::template key<F, T>()) return check::after_error{};
    else return finish<T>(keyed(v, label, f, at, self(), q), self());
  }
};

}  // namespace query::verbs
