// Terminal verbs: they run the query. All throw what a user's function throws, user_error, resource_error and cancelled.
#pragma once

#include <cmath>

#include <query/aggregates.hpp>
#include <query/column_chunks.hpp>
#include <query/columns_of.hpp>
#include <query/csv.hpp>
#include <query/json_lines.hpp>
#include <query/detail/discard.hpp>
#include <query/detail/filled_vector.hpp>
#include <query/detail/map_rows.hpp>
#include <query/detail/same_rows.hpp>
#include <query/detail/stop.hpp>
#include <query/detail/visit_rows.hpp>
#include <query/errors.hpp>
#include <query/lookup.hpp>
#include <query/print.hpp>
#include <query/verbs/breaker.hpp>
#include <query/verbs/row_iterator.hpp>

namespace query {

namespace verbs {

template <class Derived, class T> class terminals {
 public:
  // ---- rows
  std::vector<T> to_vector() const {
    detail::filled_vector<T> out(settings());
    const auto reserve = [&](std::uint64_t n) { out.reserve(n); };
    const auto append = [&](const detail::row_block& b) { return out.append(b); };
    if constexpr (detail::filled_vector<T>::assigned)
      detail::assign_or_stream(pipe_of(), settings(), [&](std::uint64_t n) { return out.room(n); }, reserve, append);
    else detail::stream(pipe_of(), settings(), reserve, append);
    return std::move(out).take();
  }
  // The rows as columns that the result owns, in chunks (query/column_chunks.hpp): no container is filled. Rows are records.
  auto to_columns() const {
    if constexpr (!check::to_columns::of_record<T>()) return check::after_error{};
    else return column_chunks<T>(detail::collect_columns(pipe_of(), settings()));
  }
  // One std::vector a field.
  auto to_vectors(call_site at = call_site::here()) const {
    if constexpr (!check::to_vectors::of_record<T>()) {
      return check::after_error{};
    } else {
      columns_of<T> c;
      const detail::discarded_if_stopped<columns_of<T>, T> left(c);
      visit("to_vectors", at, [&](const T& r) {
        auto f = meta<T>::fields(r);
        [&]<std::size_t... I>(std::index_sequence<I...>) { (std::get<I>(c.fields).push_back(std::get<I>(f)), ...); }(field_indices<T>{});
      });
      return c;
    }
  }
  // Key -> rows, or value(row) of them; a key may have several (to_lookup) or one (to_map: user_error for a second).
  template <class F, class V = agg::itself> auto to_lookup(F key, V value = {}, call_site at = call_site::here()) const {
    if constexpr (check::to_lookup::equality_for_value<F, V, T>()) return check::after_error{};
    else if constexpr (!check::to_lookup::key<F, T>() || !check::to_lookup::value<V, T>()) return check::after_error{};
    else return looked_up<detail::result_of<F, T>>(self().group_by(key, at, "to_lookup"), value, at);
  }
  // With the user's own equality and hash of keys, as group_by has them; lookup[k] and map.at(k) go by them too.
  template <class F, key_function Equal, key_function Hash>
  auto to_lookup(F key, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return to_lookup(std::move(key), agg::itself{}, std::move(equal), std::move(hash), at);
  }
  template <class F, class V, key_function Equal, key_function Hash>
  auto to_lookup(F key, V value, Equal equal, Hash hash, call_site at = call_site::here()) const {
    if constexpr (!check::to_lookup::custom_key<F, T, Equal, Hash>() || !check::to_lookup::value<V, T>()) {
      return check::after_error{};
    } else {
      using K = detail::result_of<F, T>;
      return looked_up<K>(self().group_by(key, equal, hash, at, "to_lookup"), value, at, custom_keys<K>(equal, hash));
    }
  }
  template <class F, class V = agg::itself> auto to_map(F key, V value = {}, call_site at = call_site::here()) const {
    if constexpr (check::to_map::equality_for_value<F, V, T>()) return check::after_error{};
    else if constexpr (!check::to_map::key<F, T>() || !check::to_map::value<V, T>()) return check::after_error{};
    else if constexpr (!check::to_map::entries<F, V, T>()) return check::after_error{};
    else return detail::map_rows(self(), key, value, at);
  }
  template <class F, key_function Equal, key_function Hash>
  auto to_map(F key, Equal equal, Hash hash, call_site at = call_site::here()) const {
    return to_map(std::move(key), agg::itself{}, std::move(equal), std::move(hash), at);
  }
  template <class F, class V, key_function Equal, key_function Hash>
  auto to_map(F key, V value, Equal equal, Hash hash, call_site at = call_site::here()) const {
    if constexpr (!check::to_map::custom_key<F, T, Equal, Hash>() || !check::to_map::value<V, T>()) return check::after_error{};
    else if constexpr (!check::to_map::entries<F, V, T>()) return check::after_error{};
    else return detail::map_rows(self(), key, value, at, custom_keys<detail::result_of<F, T>>(std::move(equal), std::move(hash)));
  }
  // f(row), in order, in the caller's thread order: each row exactly once.
  template <class F> void for_each(F f, call_site at = call_site::here()) const {
    if constexpr (check::for_each::callable<F, T>()) visit("for_each", at, [&](const T& r) { f(r); });
  }
  row_iterator<T> begin() const { return row_iterator<T>(detail::open_cursor(pipe_of(), settings())); }
  std::default_sentinel_t end() const { return {}; }

  // ---- one row
  // (`label`: the verb that errors and plans name, where this is a part of another.)
  std::optional<T> first_or_none(call_site at = call_site::here(), const char* label = "first_or_none") const {
    std::optional<T> r;
    auto c = detail::open_cursor(self().take(1, at, label).to_pipe(), settings());
    detail::row_block b;
    while (!r && c->next(b))
      if (b.n) r.emplace(*static_cast<const T*>(b.rows));
    c->finished();
    return r;
  }
  T first(call_site at = call_site::here()) const { return need(first_or_none(at, "first"), "first", at); }
  T first_or_default(detail::given_row<T> other = T(), call_site at = call_site::here()) const {
    T otherwise = detail::fitting_row<T>("first_or_default", other, at);
    return first_or_none(at, "first_or_default").value_or(std::move(otherwise));
  }
  template <class F> requires(!std::is_same_v<F, call_site>) T first(F f, call_site at = call_site::here()) const {
    if constexpr (!check::first::predicate<F, T>()) return check::after_error{};
    else return need(self().where(f, at, "first").first_or_none(at, "first"), "first", at);
  }
  template <class F> T first_or_default(F f, detail::given_row<T> other, call_site at = call_site::here()) const {
    if constexpr (!check::first_or_default::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "first_or_default").first_or_default(std::move(other), at);
  }
  template <class F> requires(!std::is_same_v<F, call_site>) T last(F f, call_site at = call_site::here()) const {
    if constexpr (!check::last::predicate<F, T>()) return check::after_error{};
    else return need(self().where(f, at, "last").last_or_none(at, "last"), "last", at);
  }
  template <class F> requires(!std::is_same_v<F, call_site>) T single(F f, call_site at = call_site::here()) const {
    if constexpr (!check::single::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "single").single(at);
  }
  template <class F> requires(!std::is_same_v<F, call_site>) std::optional<T> first_or_none(F f, call_site at = call_site::here()) const {
    if constexpr (!check::first_or_none::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "first_or_none").first_or_none(at);
  }
  template <class F> requires(!std::is_same_v<F, call_site>) std::optional<T> last_or_none(F f, call_site at = call_site::here()) const {
    if constexpr (!check::last_or_none::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "last_or_none").last_or_none(at);
  }
  template <class F> T last_or_default(F f, detail::given_row<T> other, call_site at = call_site::here()) const {
    if constexpr (!check::last_or_default::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "last_or_default").last_or_default(std::move(other), at);
  }
  template <class F> T single_or_default(F f, detail::given_row<T> other, call_site at = call_site::here()) const {
    if constexpr (!check::single_or_default::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "single_or_default").single_or_default(std::move(other), at);
  }
  T last(call_site at = call_site::here()) const { return need(last_or_none(at, "last"), "last", at); }
  T last_or_default(detail::given_row<T> other = T(), call_site at = call_site::here()) const {
    T otherwise = detail::fitting_row<T>("last_or_default", other, at);
    return last_or_none(at, "last_or_default").value_or(std::move(otherwise));
  }
  std::optional<T> last_or_none(call_site at = call_site::here(), const char* label = "last_or_none") const {
    return only(self().take_last(1, at, label).to_vector());
  }
  // The only row; user_error for none or several.
  T single(call_site at = call_site::here()) const {
    auto v = self().take(2, at, "single").to_vector();
    if (v.size() == 2) detail::fail("single", "the query has more than one row; use first, or a stricter where", at);
    return need(only(std::move(v)), "single", at);
  }
  T single_or_default(detail::given_row<T> other = T(), call_site at = call_site::here()) const {
    T otherwise = detail::fitting_row<T>("single_or_default", other, at);
    auto v = self().take(2, at, "single_or_default").to_vector();
    if (v.size() == 2) detail::fail("single_or_default", "the query has more than one row; use first_or_default, or a stricter where", at);
    return only(std::move(v)).value_or(std::move(otherwise));
  }
  template <class N> T element_at(N i, call_site at = call_site::here()) const {
    if constexpr (!check::element_at::whole<N>()) return check::after_error{};
    else return need(nth("element_at", i, at), "element_at", at);
  }
  template <class N> T element_at_or_default(N i, detail::given_row<T> other = T(), call_site at = call_site::here()) const {
    if constexpr (!check::element_at_or_default::whole<N>()) return check::after_error{};
    else {
      T otherwise = detail::fitting_row<T>("element_at_or_default", other, at);
      return nth("element_at_or_default", i, at).value_or(std::move(otherwise));
    }
  }

  // ---- questions
  bool any(call_site at = call_site::here()) const { return first_or_none(at, "any").has_value(); }
  template <class F> requires(!std::is_same_v<F, call_site>) bool any(F f, call_site at = call_site::here()) const {
    if constexpr (!check::any::predicate<F, T>()) return check::after_error{};
    else return exists(f, at, "any");
  }
  template <class F> bool all(F f, call_site at = call_site::here()) const {
    if constexpr (!check::all::predicate<F, T>()) return check::after_error{};
    else
      return !exists(
          [f](const auto& r) requires std::is_invocable_v<const F&, decltype(r)> { return !static_cast<bool>(f(r)); }, at, "all");
  }
  bool contains(const detail::given_row<T>& given, call_site at = call_site::here()) const {
    if (!detail::fits_rows<T>(given)) return false;
    const T& value = detail::row_of_given<T>(given);
    if constexpr (!check::contains::equal<T>()) return check::after_error{};
    else if constexpr (detail::operand<check::without_null_t<T>>)
      return exists([value]<class R>(const R& r) requires check::comparable<R, T> { return static_cast<bool>(r == value); }, at,
                    "contains");
    else return exists([value](const T& r) { return r == value; }, at, "contains");
  }
  template <class X> requires(!check::becomes_row<X, T>) bool contains(const X&) const { return check::contains::row<X, T>(); }
  // Rows are compared one by one: an equality needs no hash here. equal(row, value).
  template <key_function Equal> bool contains(detail::given_row<T> given, Equal equal, call_site at = call_site::here()) const {
    const T value = detail::fitting_row<T>("contains", given, at);
    if constexpr (!check::contains::custom_equal<Equal, T, T>()) return check::after_error{};
    else return exists([value, equal](const T& r) { return static_cast<bool>(equal(r, value)); }, at, "contains");
  }
  template <class X, key_function Equal>
  requires(!check::becomes_row<X, T>) bool contains(const X&, const Equal&) const { return check::contains::row<X, T>(); }
  template <query_like Q> bool sequence_equal(const Q& q, call_site at = call_site::here()) const {
    if constexpr (!check::sequence_equal::same_row<Q, T>() || !check::sequence_equal::equal<T>()) return check::after_error{};
    else return detail::same_rows<T>(self(), q, [](const T& x, const T& y) { return static_cast<bool>(x == y); }, {"sequence_equal", at});
  }
  template <query_like Q, key_function Equal> bool sequence_equal(const Q& q, Equal equal, call_site at = call_site::here()) const {
    if constexpr (!check::sequence_equal::same_row<Q, T>() || !check::sequence_equal::custom_equal<Equal, T, T>())
      return check::after_error{};
    else return detail::same_rows<T>(self(), q, equal, {"sequence_equal", at});
  }
  template <class E, std::size_t N> bool sequence_equal(const E (&array)[N], call_site at = call_site::here()) const {
    return sequence_equal(std::span<const E, N>(array), at);
  }
  template <class E, std::size_t N, key_function Equal>
  bool sequence_equal(const E (&array)[N], Equal equal, call_site at = call_site::here()) const {
    return sequence_equal(std::span<const E, N>(array), std::move(equal), at);
  }
  template <class R> requires(!query_like<R>) bool sequence_equal(const R& range, call_site at = call_site::here()) const {
    if constexpr (!check::sequence_equal::range_of<R, T>()) return check::after_error{};
    else
      return detail::same_rows_as_range<T>(
          self(), range, [](const T& x, const auto& y) { return static_cast<bool>(x == y); }, {"sequence_equal", at});
  }
  template <class R, key_function Equal> requires(!query_like<R>)
  bool sequence_equal(const R& range, Equal equal, call_site at = call_site::here()) const {
    if constexpr (!check::sequence_equal::range<R>()) return check::after_error{};
    else if constexpr (!check::sequence_equal::custom_equal<Equal, T, std::remove_cvref_t<decltype(*range.begin())>>())
      return check::after_error{};
    else return detail::same_rows_as_range<T>(self(), range, equal, {"sequence_equal", at});
  }

  bool sequence_equal(std::initializer_list<T> rows, call_site at = call_site::here()) const {
    return sequence_equal<std::initializer_list<T>>(rows, at);
  }
  template <key_function Equal>
  bool sequence_equal(std::initializer_list<T> rows, Equal equal, call_site at = call_site::here()) const {
    return sequence_equal<std::initializer_list<T>, Equal>(rows, equal, at);
  }

  // ---- numbers. Integer sums are 64 bits wide and wrap; float sums are doubles, the same for any number of threads.
  std::int64_t count() const { return static_cast<std::int64_t>(folded<detail::fold_kind::count>().count); }
  template <class F> std::int64_t count(F f, call_site at = call_site::here()) const {
    if constexpr (!check::count::predicate<F, T>()) return check::after_error{};
    else return self().where(f, at, "count").count();
  }
  // Nulls are passed over. Arrays of numbers are summed and averaged element by element.
  auto sum(call_site at = call_site::here()) const {
    if constexpr (ir::is_optional_v<T>) return self().values(at, "sum").sum(at);
    else if constexpr (check::is_number_array<T> || is_wide_number) return reduce([](auto g) { return g.sum(); }, at, "sum");
    else if constexpr (!check::sum::number<T>()) return check::after_error{};
    else return cpu::load<cpu::wide_t<T>>(folded<detail::fold_kind::sum>());
  }
  template <class F> requires(!std::is_same_v<F, call_site>) auto sum(F f, call_site at = call_site::here()) const {
    if constexpr (!check::sum::number_of<F, T, true>()) return check::after_error{};
    else return self().select(f, at, "sum").sum(at);
  }
  // Empty for no rows; NaNs are passed over unless there is nothing else.
  auto min(call_site at = call_site::here()) const {
    if constexpr (cpu::folds<T>) return extreme<detail::fold_kind::min>();
    else if constexpr (!check::min::ordered<agg::itself, T>()) return check::after_error{};
    else return reduce([](auto g) { return g.min(); }, at, "min");
  }
  auto max(call_site at = call_site::here()) const {
    if constexpr (cpu::folds<T>) return extreme<detail::fold_kind::max>();
    else if constexpr (!check::max::ordered<agg::itself, T>()) return check::after_error{};
    else return reduce([](auto g) { return g.max(); }, at, "max");
  }
  template <class F> requires(!std::is_same_v<F, call_site> && !check::order_of_rows<F, T>)
  auto min(F f, call_site at = call_site::here()) const {
    if constexpr (!check::min::ordered<F, T>()) return check::after_error{};
    else return self().select(f, at, "min").min(at);
  }
  template <class F> requires(!std::is_same_v<F, call_site> && !check::order_of_rows<F, T>)
  auto max(F f, call_site at = call_site::here()) const {
    if constexpr (!check::max::ordered<F, T>()) return check::after_error{};
    else return self().select(f, at, "max").max(at);
  }
  // By the user's own order of f's values, or of rows: less(a, b). Nulls are passed over; among equals, the first.
  template <check::order_of_rows<T> Less> auto min(Less less, call_site at = call_site::here()) const {
    return min([](const T& r) { return r; }, std::move(less), at);
  }
  template <check::order_of_rows<T> Less> auto max(Less less, call_site at = call_site::here()) const {
    return max([](const T& r) { return r; }, std::move(less), at);
  }
  template <class F, key_function Less> auto min(F f, Less less, call_site at = call_site::here()) const {
    if constexpr (!check::min::custom_order<F, T, Less>()) return check::after_error{};
    else return reduce([=](auto g) { return g.min(f, less); }, at, "min");
  }
  template <class F, key_function Less> auto max(F f, Less less, call_site at = call_site::here()) const {
    if constexpr (!check::max::custom_order<F, T, Less>()) return check::after_error{};
    else return reduce([=](auto g) { return g.max(f, less); }, at, "max");
  }
  // std::optional<double>, empty for no rows; nulls are passed over. Of 64-bit integers, the sum behind it is a double: it does not wrap.
  auto average(call_site at = call_site::here()) const { return average_of<check::average>(at, "average"); }
  template <class F> requires(!std::is_same_v<F, call_site>) auto average(F f, call_site at = call_site::here()) const {
    return average_of<check::average>(f, at, "average");
  }
  auto mean(call_site at = call_site::here()) const { return average_of<check::mean>(at, "mean"); }
  template <class F> requires(!std::is_same_v<F, call_site>) auto mean(F f, call_site at = call_site::here()) const {
    return average_of<check::mean>(f, at, "mean");
  }
  // The row with the smallest or largest f; the first of several; empty for no rows.
  template <class F> std::optional<T> min_by(F f, call_site at = call_site::here()) const {
    if constexpr (!check::min_by::ordered<F, T>()) return std::nullopt;
    else return reduce([f](auto g) { return g.arg_min(f); }, at, "min_by");
  }
  template <class F> std::optional<T> max_by(F f, call_site at = call_site::here()) const {
    if constexpr (!check::max_by::ordered<F, T>()) return std::nullopt;
    else return reduce([f](auto g) { return g.arg_max(f); }, at, "max_by");
  }
  template <class F, key_function Less> std::optional<T> min_by(F f, Less less, call_site at = call_site::here()) const {
    if constexpr (!check::min_by::custom_order<F, T, Less>()) return std::nullopt;
    else return reduce([=](auto g) { return g.arg_min(f, less); }, at, "min_by");
  }
  template <class F, key_function Less> std::optional<T> max_by(F f, Less less, call_site at = call_site::here()) const {
    if constexpr (!check::max_by::custom_order<F, T, Less>()) return std::nullopt;
    else return reduce([=](auto g) { return g.arg_max(f, less); }, at, "max_by");
  }
  // Any aggregates of all rows: reduce([](auto g) { return make<Stats>(g.mean(f), g.median(f)); }). Those that have no value where there
  // are no rows (min, max, mean, arg_min, arg_max, median, quantile), and what is computed from them, are std::optionals; in a record, a
  // field that is an optional is empty then, a floating-point one NaN, any other a user_error.
  template <class F> auto reduce(F f, call_site at = call_site::here(), const char* label = "reduce") const {
    if constexpr (agg::is_named<F>) return reduce(std::move(f.of), at, label);
    else return single_value(self().aggregate(std::move(f), at, label));
  }
  // aggregate(sum(f), count(), max(g), ...), functions of query::aggregates: a std::tuple of their values, from one pass. Functions
  // of a group, [](auto g) { return g.max(f) - g.min(f); }, may stand among them. Of no rows: what reduce gives, the elements of
  // min, max, mean and the like empty.
  template <class... A> requires agg::any_named<A...> auto aggregate(A... a) const {
    const call_site at = agg::place_of(a...);
    return reduce(agg::all_of<A...>{std::tuple<A...>(std::move(a)...)}, at, "aggregate");
  }
  // seed; update(state, row) -> state; combine(state, state) -> state; result(state). combine(seed, x) must be x.
  template <class S, class U, class C, class R = agg::itself> requires(!agg::any_named<S, U, C, R>)
  auto aggregate(S seed, U update, C combine, R result = {}, call_site at = call_site::here()) const {
    if constexpr (!check::aggregate::seed<S, U, C, R, T>()) return check::after_error{};
    else return reduce([=](auto g) { return g.aggregate(seed, update, combine, result); }, at, "aggregate");
  }
  template <class S, class U> requires(!agg::any_named<S, U> && !std::is_same_v<U, call_site>) auto aggregate(const S&, const U&) const {
    check::aggregate::no_combine<S>();
    return check::after_error{};
  }

  // With a stated error, in memory of fixed size (query/sketches.hpp). Nulls are passed over.
  // How many different values f has: exact up to 512, then with a standard error of 1.6%; 0 of no rows.
  template <class F = agg::itself> requires(!std::is_same_v<F, call_site>)
  std::int64_t approx_count_distinct(F f = {}, call_site at = call_site::here()) const {
    if constexpr (!check::approx_count_distinct::key<F, T>()) return check::after_error{};
    else return reduce([f](auto g) { return g.approx_count_distinct(f); }, at, "approx_count_distinct");
  }
  // The value of f at rank q (n - 1), q from 0 to 1: exact up to 1,024 values, then the rank is off by less than 0.5% of n with a
  // probability of 99%; empty of no rows.
  template <class F> requires(!std::is_arithmetic_v<F>)
  std::optional<double> approx_quantile(F f, double q, call_site at = call_site::here()) const {
    if (!(q >= 0 && q <= 1)) detail::fail("approx_quantile", "q must lie between 0 and 1: " + std::to_string(q), at);
    if constexpr (!check::approx_quantile::number_of<F, T>()) return std::nullopt;
    else return reduce([f, q](auto g) { return g.approx_quantile(f, q); }, at, "approx_quantile");
  }
  auto approx_quantile(double q, call_site at = call_site::here()) const { return approx_quantile(agg::itself{}, q, at); }
  // The k most frequent values of f with their counts, the most frequent first: exact up to 2,000 different values (20 k if k is over 100),
  // then each count is too small by at most n / 1,000 (n / (10 k)), and never too large. Of equal counts, the value that was there first.
  template <class F, class N> requires(!std::is_arithmetic_v<F>)
  auto top_k_frequent(F f, N k, call_site at = call_site::here()) const {
    if constexpr (!check::top_k_frequent::counted<F, N, T>()) return check::after_error{};
    else return reduce([f, k](auto g) { return g.top_k_frequent(f, k); }, at, "top_k_frequent");
  }
  template <class N> auto top_k_frequent(N k, call_site at = call_site::here()) const { return top_k_frequent(agg::itself{}, k, at); }

  QUERY_DETAIL_NEEDS(to_lookup, 1, "the key is missing: to_lookup([](auto t) { return t.symbol; })")
  QUERY_DETAIL_NEEDS(to_map, 1, "the key is missing: to_map([](auto t) { return t.symbol; })")
  QUERY_DETAIL_NEEDS(for_each, 1, "the function is missing: for_each([](const auto& t) { std::cout << t.price; })")
  QUERY_DETAIL_NEEDS(all, 1, "the predicate is missing: all([](auto t) { return t.qty > 100; })")
  QUERY_DETAIL_NEEDS(contains, 1, "the row to look for is missing. Are there any rows: any()")
  QUERY_DETAIL_NEEDS(element_at, 1, "the row's number is missing, from 0: element_at(5)")
  QUERY_DETAIL_NEEDS(min_by, 1, "the function is missing: min_by([](auto t) { return t.price; }). Of rows that are numbers: min()")
  QUERY_DETAIL_NEEDS(max_by, 1, "the function is missing: max_by([](auto t) { return t.price; }). Of rows that are numbers: max()")
  QUERY_DETAIL_ONE_KEY(min_by, 1)
  QUERY_DETAIL_ONE_KEY(max_by, 1)
  QUERY_DETAIL_NEEDS(reduce, 1, "the function of all rows is missing: reduce([](auto g) { return g.sum([](auto t) { return t.qty; }); })")
  QUERY_DETAIL_NEEDS(write_csv, 1, "the path of the file is missing: write_csv(path)")
  QUERY_DETAIL_NEEDS(write_json_lines, 1, "the path of the file is missing: write_json_lines(path)")
  QUERY_DETAIL_NEEDS(write_binary, 1, "the path of the file is missing: write_binary(path)")

  // ---- for people and files
  // The first rows as a table.
  std::string table(std::size_t rows = 10) const { return table(print_options{.rows = rows}); }
  std::string table(const print_options& options) const {
    if constexpr (check::table::described<T>()) return shown(options);
    else return {};
  }
  void print(std::size_t rows = 10) const;
  // With width, digits and the like: print({.rows = 20, .width = 120}).
  void print(const print_options& options) const;
  // Count, nulls, mean, stddev, min, max of every column, as a table.
  std::string describe() const {
    if constexpr (!check::describe::described<T>()) return {};
    else return detail::describe_rows(pipe_of(), settings());
  }
  // Writes beside the file and renames at the end: nothing is half written. A path that ends with '/' is a folder, with a file for each
  // partition of the cluster, part-00000.csv and so on, in the order of the rows; an earlier one is replaced as a whole. A file whose
  // name ends with .gz or .zst is compressed.
  void write_csv(const std::string& path, const csv_options& options = {}, call_site at = call_site::here()) const {
    if constexpr (check::write_csv::described<T>()) detail::write_csv_file(pipe_of(), settings(), path, &options, at);
  }
  // The same with an object of JSON a row.
  void write_json_lines(const std::string& path, const json_options& options = {}, call_site at = call_site::here()) const {
    if constexpr (check::write_json_lines::described<T>()) detail::write_json_file(pipe_of(), settings(), path, options, at);
  }
  // The same with rows as they lie in memory, for read_binary; bytes that no field uses are zeros.
  void write_binary(const std::string& path, call_site at = call_site::here()) const {
    if constexpr (check::write_binary::fixed_width<T>()) detail::write_binary_file(pipe_of(), settings(), path, at);
  }

 private:
  static constexpr bool is_wide_number = std::is_arithmetic_v<T> && !cpu::folds<T>;  // long double
  const Derived& self() const { return static_cast<const Derived&>(*this); }
  detail::pipe pipe_of() const { return self().to_pipe(); }
  const detail::settings& settings() const { return self().run_settings(); }

  // `keys`: nothing, or the user's own equality and hash.
  template <class K, class G, class V, class... Keys>
  auto looked_up(const G& grouped, const V& value, call_site at, Keys... keys) const {
    detail::run_limits limits(settings(), "to_lookup", at);
    auto groups = [&] {
      if constexpr (std::is_same_v<V, agg::itself>) return grouped.groups(at).as_ordered().to_vector();
      else return grouped.elements(value, at).as_ordered().to_vector();
    }();
    const detail::discarded_if_stopped left(groups);
    limits.take_over();
    lookup<K, detail::result_of<V, T>> made(std::move(groups), std::move(keys)...);
    limits.finished();
    return made;
  }
  struct bool_row {  // a std::vector<bool> has no rows side by side
    bool_row(bool v) : value(v) {}  // NOLINT: implicit, it stands for a row
    bool value;
  };
  std::string shown(const print_options& options) const {
    std::vector<std::conditional_t<std::is_same_v<T, bool>, bool_row, T>> head;
    std::uint64_t total = 0;
    visit("print", pipe_of().node->where, [&](const T& r) {
      if (total++ < options.rows) head.push_back(r);
    });
    detail::table shown;
    shown.rows = head.data();
    shown.n = head.size();
    shown.type = ir::describe<T>();
    return detail::print_rows(shown, pipe_of(), total, options);
  }
  template <class F> void visit(const char* verb, call_site at, F&& f) const {
    detail::visit_rows<T>(pipe_of(), settings(), {verb, at}, f);
  }
  template <class F> bool exists(const F& f, call_site at, const char* label) const {
    return self().where(f, at, label).first_or_none(at, label).has_value();
  }
  template <class N> std::optional<T> nth(const char* label, N i, call_site at) const {
    return self().skip(detail::row_count(label, i, at), at, label).first_or_none(at, label);
  }
  template <detail::fold_kind K> detail::fold_state folded() const {
    detail::fold_state s;
    detail::fold(self().template to_pipe<K>(), settings(), K, s);
    return s;
  }
  template <detail::fold_kind K> std::optional<T> extreme() const {
    const detail::fold_state s = folded<K>();
    if (!s.count) return std::nullopt;
    if constexpr (std::is_floating_point_v<T>)
      if (!s.numbers) return std::numeric_limits<T>::quiet_NaN();
    return cpu::load<T>(s);
  }
  template <class Check> auto average_of(call_site at, const char* label) const {
    if constexpr (ir::is_optional_v<T>) {
      return Check::template number<T, true>() ? self().values(at, label).average(at) : std::nullopt;
    } else if constexpr (check::is_number_array<T> || is_wide_number) {
      return reduce([](auto g) { return g.mean(); }, at, label);
    } else if constexpr (!Check::template number<T>()) {
      return std::optional<double>();
    } else {
      const detail::fold_state s = folded<detail::fold_kind::average>();
      if (!s.count) return std::optional<double>();
      return std::optional<double>(static_cast<double>(cpu::load<cpu::mean_sum_t<T>>(s)) / static_cast<double>(s.count));
    }
  }
  template <class Check, class F> auto average_of(const F& f, call_site at, const char* label) const {
    if constexpr (!Check::template number_of<F, T, true>()) return std::optional<double>();
    else return self().select(f, at, label).average(at);
  }
  template <class Q> static auto single_value(const Q& q) {
    if constexpr (std::is_same_v<Q, check::after_error>) return q;
    else return Value<typename Q::row>(q).get();
  }
  static std::optional<T> only(std::vector<T> v) {
    if (v.empty()) return std::nullopt;
    return std::move(v.front());
  }
  static T need(std::optional<T> r, const char* verb, call_site at) {
    if (r) return std::move(*r);
    const char* test = std::string_view(verb) == "element_at" ? "count()" : "any()";
    detail::fail(verb, std::string("the query has no such row; use ") + verb + "_or_default, or test " + test + " first", at);
  }
};

void print_text(const std::string& s);
template <class Derived, class T> void terminals<Derived, T>::print(const print_options& options) const {
  if constexpr (check::print::described<T>()) print_text(shown(options));
}
template <class Derived, class T> void terminals<Derived, T>::print(std::size_t rows) const { print(print_options{.rows = rows}); }

}  // namespace verbs
}  // namespace query
