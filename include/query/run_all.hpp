// run_all: runs several queries together, and computes the parts that they share once.
//
//   auto big = query::read_csv<Order>("orders.csv").where([](auto o) { return o.amount > 100; });
//   auto [by_customer, best, total] = query::run_all(big.count_by([](auto o) { return o.customer; }),
//                                                    big.top(10, [](auto o) { return o.amount; }), query::value_of(big).sum(amount));
//
// The result of a query is a std::vector of its rows, and that of a Value<T> (query::value_of) is its T. See docs/operators/run-all.md.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/filled_vector.hpp>
#include <query/detail/together.hpp>
#include <query/query.hpp>

namespace query {

namespace check {
struct run_all {
  template <std::size_t N> static constexpr bool any() {
    static_assert(N > 0, "query: run_all: the queries are missing: auto [groups, best] = query::run_all(q.count_by(f), q.top(10, g))");
    return N > 0;
  }
  template <class Q> static constexpr bool rows() {
    static_assert(is_query_v<Q>, "query: run_all: takes queries, values that are computed later, or what query::from takes. What a "
                                 "terminal verb gives is none of these: write query::value_of(q).count() instead of q.count()");
    if constexpr (is_query_v<Q>) {
      static_assert(ir::copies_v<typename Q::row>,
                    "query: run_all: these rows cannot be copied, as a std::unique_ptr or what holds one, and it copies rows. Give a "
                    "std::shared_ptr, a pointer, or the value itself");
      return ir::copies_v<typename Q::row>;
    } else {
      return false;
    }
  }
};
}  // namespace check

namespace detail {

// Collects all rows of one of the queries.
template <class T> class all_rows {
 public:
  using result = std::vector<T>;
  explicit all_rows(const settings& s) : rows_(s) {}
  rows_taker taker() {
    rows_taker t{&rows_, [](void* to, std::uint64_t n) { of(to).reserve(n); },
                 [](void* to, const row_block& b) { return of(to).append(b); }, nullptr};
    if constexpr (filled_vector<T>::assigned) t.room = [](void* to, std::uint64_t n) { return of(to).room(n); };
    return t;
  }
  result take() { return std::move(rows_).take(); }

 private:
  static filled_vector<T>& of(void* to) { return *static_cast<filled_vector<T>*>(to); }
  filled_vector<T> rows_;
};
template <class T> class one_value {
 public:
  using result = T;
  explicit one_value(const settings&) {}
  rows_taker taker() {
    return {&row_, [](void*, std::uint64_t) {},
            [](void* to, const row_block& b) {
              if (b.n) static_cast<std::optional<T>*>(to)->emplace(*static_cast<const T*>(b.rows));
              return true;
            },
            nullptr};
  }
  result take() { return std::move(*row_); }

 private:
  std::optional<T> row_;
};
template <class Taken> struct taken_part : part_of_run { using taken = Taken; };
template <class Q> auto part_of(Q&& q) {
  using X = std::remove_cvref_t<Q>;
  if constexpr (verbs::is_value<X>) {
    return taken_part<one_value<typename X::value_type>>{{q.to_pipe(), q.run_settings()}};
  } else {
    decltype(auto) rows = verbs::other_rows(std::forward<Q>(q), call_site{});
    using R = std::remove_cvref_t<decltype(rows)>;
    if constexpr (std::is_same_v<R, check::after_error>) return check::after_error{};
    else if constexpr (!check::run_all::rows<R>()) return check::after_error{};
    else return taken_part<all_rows<typename R::row>>{{rows.to_pipe(), rows.run_settings()}};
  }
}

}  // namespace detail

// Several queries that run together. query::together makes it.
template <class... Taken> class Together {
 public:
  explicit Together(detail::query_state all) : state_(std::move(all)) {}
  // Runs the queries. Throws the same errors as terminal verbs do. Errors of the library name the query by its number, from 1 on.
  std::tuple<typename Taken::result...> get() const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      std::tuple<Taken...> taken(of<Taken>(state_.how)...);
      const std::array<detail::rows_taker, sizeof...(Taken)> takers{std::get<I>(taken).taker()...};
      detail::run_together(state_, takers);
      return std::tuple<typename Taken::result...>(std::get<I>(taken).take()...);
    }(std::index_sequence_for<Taken...>{});
  }
  // The plan that get() runs.
  std::string explain(detail::call_site at = detail::call_site::here()) const {
    return detail::explain(to_pipe(), state_.how, {}, at);
  }
  std::string explain_dot(detail::call_site at = detail::call_site::here()) const {
    return detail::explain_dot(to_pipe(), state_.how, {}, at);
  }
  std::string explain_json(detail::call_site at = detail::call_site::here()) const {
    return detail::explain_json(to_pipe(), state_.how, {}, at);
  }
  const detail::pipe& to_pipe() const { return state_.origin; }
  const detail::settings& run_settings() const { return state_.how; }

 private:
  template <class> static const detail::settings& of(const detail::settings& s) { return s; }
  detail::query_state state_;
};

namespace detail {
template <class... Part> auto together_of(const Part&... parts) {
  if constexpr ((std::is_same_v<Part, check::after_error> || ...)) {
    return check::after_error{};
  } else {
    const std::array<part_of_run, sizeof...(Part)> all{parts...};
    return Together<typename Part::taken...>(together(all));
  }
}
}  // namespace detail

// Combines queries, values by value_of, and containers or other arguments of query::from. get() runs all of them together, and explain()
// shows their common plan.
template <class... Q> auto together(Q&&... queries) {
  if constexpr (!check::run_all::any<sizeof...(Q)>()) return check::after_error{};
  else return detail::together_of(detail::part_of(std::forward<Q>(queries))...);
}
// Runs the queries together, and returns a std::tuple of their results. If several of them are built from the same query object, its
// shared parts are computed once: files, sorts, groups, joins, hash tables and all else that makes a table, the rows of generators, and
// most row-wise verbs with an opaque function. The loop of each query reads sources in memory, and computes traced row-wise verbs, itself.
template <class... Q> auto run_all(Q&&... queries) { return query::together(std::forward<Q>(queries)...).get(); }

}  // namespace query
