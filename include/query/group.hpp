// What functions of groups receive: group_by(key).select([](auto g) { ... }).
//
// `auto g` is a recorder: g.sum(f), g.count(), g.key()... stand for aggregates that are kept up incrementally, and arithmetic
// on them is done when the groups are finished. Nothing is materialised. `const query::Group<K, T>& g` asks for the rows.
//
//   .select([](auto g) { return query::make<Vwap>(g.key(), g.sum(notional) / g.sum(quantity), g.count()); })
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <query/detail/aggregate_calls.hpp>
#include <query/detail/check.hpp>
#include <query/detail/group_recorder.hpp>
#include <query/detail/group_trace.hpp>
#include <query/detail/list_copy.hpp>
#include <query/detail/own_keys.hpp>
#include <query/detail/sketch_aggregates.hpp>

namespace query {

// The rows of a group, in source order, with the aggregates as plain values.
template <class K, class T> class Group {
 public:
  Group() = default;
  Group(K k, std::vector<T> rows) : key_(std::move(k)), rows_(std::move(rows)) {}
  // In a query, copies look at its limits: a group may have all rows.
  Group(const Group& o) : key_(o.key_), rows_(copy_of(o.rows_)) {}
  Group(Group&&) = default;
  Group& operator=(const Group& o) { return *this = Group(o); }
  Group& operator=(Group&&) = default;
  ~Group() = default;
  // By reference; of a group that ends with the statement, by value.
  const K& key() const& { return key_; }
  K key() && { return std::move(key_); }
  auto begin() const { return rows_.begin(); }
  auto end() const { return rows_.end(); }
  std::size_t size() const { return rows_.size(); }
  const T& operator[](std::size_t i) const& { return rows_[i]; }
  T operator[](std::size_t i) && { return std::move(rows_[i]); }  // q.group_by(key).first()[0]: the group ends with the expression
  const std::vector<T>& rows() const& { return rows_; }
  std::vector<T> rows() && { return std::move(rows_); }

  // What the group is made of, for engines that make groups of columns and lists.
  static constexpr std::string_view query_name = "group";
  using query_part_types = std::tuple<K, T>;  // functions of groups trace where these are described
  static std::vector<ir::field> query_parts() {
    if constexpr (!ir::described_v<K> || !ir::described_v<T>) {
      return {};
    } else {
      // Not an aggregate; but addresses of members do not depend on their values.
      alignas(Group) static std::byte storage[sizeof(Group)];
      const Group& shape = *std::launder(reinterpret_cast<const Group*>(storage));
      const auto offset = [](const void* member) { return static_cast<std::size_t>(static_cast<const std::byte*>(member) - storage); };
      return {{"key", ir::describe<K>(), offset(std::addressof(shape.key_))},
              {"rows", ir::describe<std::vector<T>>(), offset(std::addressof(shape.rows_))}};
    }
  }

  std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }
  template <class F> auto count(const F& f) const {
    if constexpr (!check::count::counts<F, T>()) return check::after_error{};
    else return run(agg::count_if<F>{{}, f});
  }
  template <class F = agg::itself> auto sum(const F& f = {}) const {
    if constexpr (!check::sum::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::sum<F>{{}, f});
  }
  template <class F = agg::itself> auto mean(const F& f = {}) const {
    if constexpr (!check::mean::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::mean<F>{{}, f});
  }
  template <class F = agg::itself> auto min(const F& f = {}) const {
    if constexpr (!check::min::ordered<F, T>()) return check::after_error{};
    else return run(agg::extreme<false, F>{{}, f});
  }
  template <class F = agg::itself> auto max(const F& f = {}) const {
    if constexpr (!check::max::ordered<F, T>()) return check::after_error{};
    else return run(agg::extreme<true, F>{{}, f});
  }
  template <class F> auto arg_min(const F& f) && { return std::as_const(*this).arg_min(f); }
  template <class F> decltype(auto) arg_min(const F& f) const& {
    if constexpr (!check::arg_min::ordered<F, T>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme<false, F>{{}, f});
  }
  template <class F> auto arg_max(const F& f) && { return std::as_const(*this).arg_max(f); }
  template <class F> decltype(auto) arg_max(const F& f) const& {
    if constexpr (!check::arg_max::ordered<F, T>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme<true, F>{{}, f});
  }
  template <class F, class Less> auto min(const F& f, const Less& less) const {
    if constexpr (!check::min::custom_order<F, T, Less>()) return check::after_error{};
    else return run(agg::extreme_by<false, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto max(const F& f, const Less& less) const {
    if constexpr (!check::max::custom_order<F, T, Less>()) return check::after_error{};
    else return run(agg::extreme_by<true, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto arg_min(const F& f, const Less& less) && { return std::as_const(*this).arg_min(f, less); }
  template <class F, class Less> decltype(auto) arg_min(const F& f, const Less& less) const& {
    if constexpr (!check::arg_min::custom_order<F, T, Less>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme_by<false, F, Less>{{}, f, less});
  }
  template <class F, class Less> auto arg_max(const F& f, const Less& less) && { return std::as_const(*this).arg_max(f, less); }
  template <class F, class Less> decltype(auto) arg_max(const F& f, const Less& less) const& {
    if constexpr (!check::arg_max::custom_order<F, T, Less>()) return check::after_error{};
    else return row_of<F>(agg::arg_extreme_by<true, F, Less>{{}, f, less});
  }
  template <class F = agg::itself> auto average(const F& f = {}) const {
    if constexpr (!check::average::number_of<F, T, true>()) return check::after_error{};
    else return run(agg::mean<F>{{}, f});
  }
  template <class F = agg::itself> auto variance(const F& f = {}) const {
    if constexpr (!check::variance::number_of<F, T>()) return check::after_error{};
    else return run(agg::variance<false, F>{{}, f});
  }
  template <class F = agg::itself> auto stddev(const F& f = {}) const {
    if constexpr (!check::stddev::number_of<F, T>()) return check::after_error{};
    else return run(agg::variance<true, F>{{}, f});
  }
  const T& first() const& {
    if (rows_.empty()) detail::no_row_at_edge("first");
    return rows_.front();
  }
  T first() && { return std::as_const(*this).first(); }
  template <class F> auto first(const F& f) const& {
    if constexpr (!check::first::value<F, T>()) return check::after_error{};
    else return run(agg::edge<false, F>{{}, f});
  }
  const T& last() const& {
    if (rows_.empty()) detail::no_row_at_edge("last");
    return rows_.back();
  }
  T last() && { return std::as_const(*this).last(); }
  template <class F> auto last(const F& f) const& {
    if constexpr (!check::last::value<F, T>()) return check::after_error{};
    else return run(agg::edge<true, F>{{}, f});
  }
  template <class F = agg::itself> auto count_distinct(const F& f = {}) const {
    if constexpr (!check::count_distinct::key<F, T>()) return check::after_error{};
    else return run(agg::count_distinct<F>{{}, f});
  }
  template <class F, class Equal, class Hash> auto count_distinct(const F& f, const Equal& equal, const Hash& hash) const {
    if constexpr (!check::count_distinct::custom_key<F, T, Equal, Hash>()) return check::after_error{};
    else return run(agg::count_distinct_by<F>{{}, f, detail::custom_keys<agg::value_in<F, T>>(equal, hash)});
  }
  template <class F = agg::itself> auto quantile(const F& f, double q) const {
    if (!(q >= 0 && q <= 1)) throw detail::unplaced_error("g.quantile(f, q): q must lie between 0 and 1: " + std::to_string(q));
    if constexpr (!check::quantile::number_of<F, T>()) return check::after_error{};
    else return run(agg::quantile<F>{{}, f, q});
  }
  template <class F = agg::itself> auto collect(const F& f = {}) const {
    if constexpr (!check::collect::value<F, T>()) return check::after_error{};
    else return run(agg::collect<F>{{}, f});
  }
  template <class F = agg::itself> auto approx_count_distinct(const F& f = {}) const {
    if constexpr (!check::approx_count_distinct::key<F, T>()) return check::after_error{};
    else return run(agg::approx_count_distinct<F>{{}, f});
  }
  template <class F> auto approx_quantile(const F& f, double q) const {
    if constexpr (!check::approx_quantile::number_of<F, T>()) return check::after_error{};
    else return run(agg::approx_quantile<F>{{}, f, agg::checked_share(q)});
  }
  auto approx_quantile(double q) const { return approx_quantile(agg::itself{}, q); }
  template <class F, class N> auto top_k_frequent(const F& f, N k) const {
    if constexpr (!check::top_k_frequent::counted<F, N, T>()) return check::after_error{};
    else return run(agg::top_k_frequent<F>{{}, f, agg::checked_k(k)});
  }
  template <class N> auto top_k_frequent(N k) const { return top_k_frequent(agg::itself{}, k); }
  template <class S, class U, class C, class F = agg::itself>
  auto aggregate(const S& seed, const U& update, const C& combine, const F& finish = {}) const {
    if constexpr (!check::aggregate::seed<S, U, C, F, T>()) return check::after_error{};
    else return run(agg::custom<S, U, C, F>{{}, seed, update, combine, finish});
  }
  template <class F = agg::itself> auto median(const F& f = {}) const {
    if constexpr (!check::median::number_of<F, T>()) return check::after_error{};
    else return run(agg::quantile<F>{{}, f, 0.5});
  }
  template <class F> auto any(const F& f) const {
    if constexpr (!check::any::predicate<F, T>()) return check::after_error{};
    else return decided<false>(f);
  }
  template <class F> auto all(const F& f) const {
    if constexpr (!check::all::predicate<F, T>()) return check::after_error{};
    else return decided<true>(f);
  }

 private:
  // Up to the row that decides, as the traced form goes.
  template <bool All, class F> bool decided(const F& f) const {
    const agg::decided<All, F> a{{}, f};
    typename agg::decided<All, F>::flag s;
    for (std::size_t i = 0; i < rows_.size() && s.v == All; ++i) a.step(s, rows_[i]);
    return s.v;
  }
  // A row is given by reference, as a view of it may be asked for; where f may be null, as a std::optional.
  template <class F, class A> decltype(auto) row_of(const A& a) const {
    if constexpr (agg::nullable<F, T>) {
      return run(a);
    } else {
      typename A::template state_of_part<T, const T*> s{};
      detail::in_runs(0, rows_.size(), [&](std::size_t i, std::size_t end) QUERY_INLINE {
        for (; i < end; ++i) a.step_part(s, rows_[i], [](const T& t) QUERY_INLINE { return &t; });
      });
      const T* const row = A::part(s);
      if (!row) detail::no_row_at_edge(A::name);
      return static_cast<const T&>(*row);
    }
  }
  template <class A> auto run(const A& a) const {
    typename A::template state<T> s{};
    detail::in_runs(0, rows_.size(), [&](std::size_t i, std::size_t end) QUERY_INLINE {
      for (; i < end; ++i) a.step(s, rows_[i]);
    });
    return a.template value<T>(key_, s);
  }
  static std::vector<T> copy_of(const std::vector<T>& rows) {
    if constexpr (std::is_same_v<T, bool>) return rows;
    else return detail::copied_list<std::vector<T>>(std::span<const T>(rows));
  }

  K key_{};
  std::vector<T> rows_;
};

}  // namespace query
