// query::Window, what functions of windows are called with: rows.over(key).order_by(time).select([](auto t, auto w) { ... }).
//
//   auto price = [](auto t) { return t.price; };
//   rows.over(symbol).order_by(time).select([price](auto t, auto w) {
//     return query::make<Out>(t.id, t.price - w.lag(price, 1, t.price), w.rolling(7).mean(price), w.rank());
//   });
//
// Its members take functions of a row, as those of a group do, and give plain values: `if`, `?:` and arithmetic work on them. They are
// O(1) a row, or O(log n) for medians and distinct values of frames. Members that may have no value give a std::optional.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <query/detail/check.hpp>
#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>
#include <query/detail/sketch_aggregates.hpp>
#include <query/detail/window_lookups.hpp>

namespace query {

namespace detail {

// A key of the order that over(...).order_by(...) asks for.
template <class F> struct window_order_by {
  using function = F;
  F f;
  bool descending = false;
  bool nulls_first = false;
  order_calls custom = {};
};

// A value that may be missing; one that may be null already is not wrapped twice.
template <class V> using maybe_t = std::conditional_t<ir::is_optional_v<V> || std::is_same_v<V, check::after_error>, V, std::optional<V>>;
template <class F, class T> maybe_t<agg::given<F, T>> value_at(const F& f, const T& row) {
  using V = agg::given<F, T>;
  return maybe_t<V>(V(as_stored<V>(call(f, agg::seen_by<F>(row)))));
}

// The point at `part` of the line between two values, infinities too.
inline double on_line(double low, double high, double part) {
  if (low == high || part == 0) return low;
  const double apart = high - low;
  return std::isfinite(apart) ? low + part * apart : low * (1 - part) + high * part;
}
inline void check_share(double q) {
  if (!(q >= 0 && q <= 1)) throw unplaced_error("quantile: q must lie between 0 and 1: " + std::to_string(q));
}
// A bound of a range: unsigned numbers that are larger than all distances are the largest one.
template <class Bound, class B> Bound range_bound(B b) {
  if constexpr (std::is_integral_v<Bound> && std::is_unsigned_v<B>) {
    constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Bound>::max());
    if (static_cast<std::uint64_t>(b) > most) return std::numeric_limits<Bound>::max();
  } else if constexpr (std::is_floating_point_v<B>) {
    if (b != b) throw unplaced_error("range: a bound is NaN");
  }
  return static_cast<Bound>(b);
}
// A duration in the units of the key's duration D, which are its own or finer; one that is too long is the longest.
template <class Bound, class D, class B> Bound range_bound_in(const B& b) {
  using ratio = ir::unit_ratio<typename B::period, typename D::period>;
  if constexpr (std::is_floating_point_v<Bound>) {
    return range_bound<Bound>(static_cast<double>(b.count()) * static_cast<double>(ratio::num) / static_cast<double>(ratio::den));
  } else {
    const std::int64_t count = range_bound<std::int64_t>(b.count());
    std::int64_t units = 0;
    if (__builtin_mul_overflow(count, ratio::num, &units))
      return count < 0 ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
    return units;
  }
}

// A function that a window's member takes, and what it gives: that member's result is asked for before its body says what is wrong.
template <class F, class T>
concept function_of_row = check::can_call<F, T> || (!std::is_member_pointer_v<F> && !check::fits<F, T> && takes_views<F, T>);
template <class F, class T> struct window_value { using type = check::after_error; };
template <class F, class T> requires function_of_row<F, T> struct window_value<F, T> { using type = agg::given<F, T>; };
template <class F, class T> using window_value_t = typename window_value<F, T>::type;

// A member's function is one of a row that captures nothing: its state is found again by its type.
template <class T, class F> constexpr bool window_function() {
  constexpr bool taken = function_of_row<F, T>, member = std::is_member_pointer_v<F>;
  static_assert(!member, "query: over: the members of a window take a function, not a pointer to a member. Write "
                         "w.sum([](auto t) { return t.field; })");
  static_assert(taken || member || check::fails_inside<F, T>,
                "query: over: the members of a window take a function of a row, as in w.sum([](auto t) { return t.price; }), not a value");
  static_assert(comparable_function<F>::value || !taken,
                "query: over: a function that a window's member takes captures something, which may change from row to row. Pass what it "
                "captures by query::with([](auto t, double k) { ... }, k), or compute the value in a select before over(key)");
  constexpr bool nothing = [] {
    if constexpr (taken && check::can_call<F, T>) return std::is_void_v<std::invoke_result_t<const F&, const T&>>;
    else return false;
  }();
  static_assert(!nothing, "query: over: a function that a window's member takes gives nothing. Return a value. If the function has an "
                          "error above, mend that one first");
  constexpr bool views = [] {
    if constexpr (nothing) return false;
    else if constexpr (taken && check::can_call<F, T>) return !std::is_same_v<result_of<F, T>, T> && check::keeps_views<result_of<F, T>>();
    else return false;
  }();
  static_assert(!views, "query: over: a function that a window's member takes gives a container, std::variant or range of views "
                        "(std::string_view, std::span, references), which would look at rows that are gone. Give what owns its values: "
                        "std::string, std::vector");
  return taken && !nothing && !views;
}
// Checks a function whose values become one number. Durations can be added, and times cannot.
template <bool Sum, class T, class F> constexpr bool window_number() {
  if constexpr (!window_function<T, F>()) return false;
  else {
    using V = agg::value_in<F, T>;
    constexpr bool time = ir::time_point<V>, duration = !Sum && ir::duration<V>, text = !Sum && std::is_convertible_v<V, std::string_view>;
    constexpr bool wide = std::is_integral_v<V> && std::numeric_limits<V>::digits > 64;  // __int128, which GNU's C++ calls an integer
    static_assert(!time, "query: over: sums, means and the like take numbers, not times. Of times there are min, max, first, last and lag; "
                         "of the time between two of them w.mean([](auto t) { return (t.end - t.begin).count(); })");
    static_assert(!duration, "query: over: means and the like take numbers, not durations. Give their numbers: "
                             "w.mean([](auto t) { return t.delay.count(); })");
    static_assert(!text, "query: over: means and the like take numbers, not texts: w.mean([](auto t) { return t.price; })");
    static_assert(!wide, "query: over: sums, means and the like take numbers of up to 64 bits, not __int128. Give a std::int64_t or a "
                         "double: w.sum([](auto t) { return static_cast<double>(t.units); })");
    return !time && !duration && !text && !wide;
  }
}
// Before what a member does with its function.
#define QUERY_DETAIL_OF_ROW(f) if constexpr (!detail::window_function<T, F>()) return check::after_error{}; else
#define QUERY_DETAIL_OF_SUM(f) if constexpr (!detail::window_number<true, T, F>()) return check::after_error{}; else
#define QUERY_DETAIL_OF_NUMBER(f) if constexpr (!detail::window_number<false, T, F>()) return check::after_error{}; else

// The aggregates of a frame, of a group, or of the rows so far: Base::aggregate(a) gives the value of one.
template <class Base, class T> class window_aggregates {
 public:
  auto count() const { return of(agg::count{}); }
  template <class F> auto count(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::count_if<F>{{}, f}); }
  template <class F> auto sum(F f) const { QUERY_DETAIL_OF_SUM(f) return of(agg::sum<F>{{}, f}); }
  template <class F> auto product(F f) const { QUERY_DETAIL_OF_NUMBER(f) return of(product_of<F>{{}, f}); }
  template <class F> auto mean(F f) const { QUERY_DETAIL_OF_NUMBER(f) return of(agg::mean<F>{{}, f}); }
  template <class F> auto average(F f) const { return mean(f); }
  template <class F> auto min(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::extreme<false, F>{{}, f}); }
  template <class F> auto max(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::extreme<true, F>{{}, f}); }
  template <class F> auto arg_min(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::arg_extreme<false, F>{{}, f}); }
  template <class F> auto arg_max(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::arg_extreme<true, F>{{}, f}); }
  template <class F> auto variance(F f) const { QUERY_DETAIL_OF_NUMBER(f) return of(agg::variance<false, F>{{}, f}); }
  template <class F> auto stddev(F f) const { QUERY_DETAIL_OF_NUMBER(f) return of(agg::variance<true, F>{{}, f}); }
  template <class F> auto any(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::decided<false, F>{{}, f}); }
  template <class F> auto all(F f) const { QUERY_DETAIL_OF_ROW(f) return of(agg::decided<true, F>{{}, f}); }

 private:
  template <class F> using product_of = detail::product<F>;
  template <class A> auto of(const A& a) const { return static_cast<const Base&>(*this).aggregate(a); }
};

}  // namespace detail

// Some of the group's rows around the visited one. Bounds: std::int64_t numbers of rows, or distances of the order's values.
template <class T, class Bound, bool NeverEmpty> class Frame : public detail::window_aggregates<Frame<T, Bound, NeverEmpty>, T> {
 public:
  Frame(detail::window_rows<T>& w, std::size_t begin, std::size_t end, Bound from, Bound to, bool by_value)
      : w_(&w), begin_(begin), end_(end), from_(from), to_(to), by_value_(by_value) {}

  std::int64_t size() const { return static_cast<std::int64_t>(end_ - begin_); }
  template <class F> auto first(F f) const { QUERY_DETAIL_OF_ROW(f) return nth(f, 0); }
  template <class F> auto last(F f) const { QUERY_DETAIL_OF_ROW(f) return nth(f, size() - 1); }
  // f of row n of the frame, from 0.
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> nth(F f, std::int64_t n) const {
    if constexpr (!detail::window_function<T, F>()) return check::after_error{};
    else if (n < 0 || n >= size()) return std::nullopt;
    else return detail::value_at(f, w_->row(begin_ + static_cast<std::size_t>(n)));
  }
  template <class F> std::int64_t count_distinct(F f) const { QUERY_DETAIL_OF_ROW(f) return ranked(f).distinct(); }
  template <class F> std::optional<double> median(F f) const { return quantile(f, 0.5); }
  // Interpolated linearly at rank q (n - 1); NaNs are the largest values.
  template <class F> std::optional<double> quantile(F f, double q) const {
    if constexpr (!detail::window_number<false, T, F>()) {
      return std::nullopt;
    } else {
      detail::check_share(q);
      const auto& values = ranked(f);
      if (!values.size()) return std::nullopt;
      const double at = q * static_cast<double>(values.size() - 1);
      const auto below = static_cast<std::size_t>(at);
      const auto low = static_cast<double>(values.nth(below));
      const double part = at - static_cast<double>(below);
      return part > 0 ? detail::on_line(low, static_cast<double>(values.nth(below + 1)), part) : low;
    }
  }

  // An aggregate's value; without rows there is none, but for counts and sums.
  template <class A> auto aggregate(const A& a) const {
    using R = detail::aggregate_value<A, T>;
    if constexpr (NeverEmpty) {
      return w_->template state<detail::sliding<A, T>>(a, from_, to_, by_value_).value(*w_, begin_, end_);
    } else {
      constexpr bool lacks = needs_rows<A>();
      using Out = std::conditional_t<lacks, detail::maybe_t<R>, R>;
      if (begin_ >= end_) {
        if constexpr (lacks) return Out();
        else return Out(detail::value_of_state<A, T>(a, {}));
      }
      return Out(w_->template state<detail::sliding<A, T>>(a, from_, to_, by_value_).value(*w_, begin_, end_));
    }
  }

 private:
  template <class A> static constexpr bool needs_rows() { return A::template needs_rows<T>; }
  template <class F> detail::ranked_frame<F, T>& ranked(const F& f) const {
    auto& values = w_->template state<detail::ranked_frame<F, T>>(f, false, from_, to_, by_value_);
    values.move_to(*w_, begin_, end_);
    return values;
  }

  detail::window_rows<T>* w_;
  std::size_t begin_, end_;
  Bound from_, to_;
  bool by_value_;
};

template <class T, class... Order> class Window : public detail::window_aggregates<Window<T, Order...>, T> {
 public:
  Window(detail::window_rows<T>& w, const std::tuple<Order...>& order) : w_(&w), order_(&order) {}

  // ---- where the row stands. Numbers begin with 1, as in SQL; rows with equal keys of the order tie.
  std::int64_t row_number() const { return index() + 1; }
  std::int64_t rank() const {
    needs_order<T>();
    return static_cast<std::int64_t>(w_->tie_begin - w_->begin) + 1;
  }
  std::int64_t dense_rank() const {
    needs_order<T>();
    return w_->ties;
  }
  // The share of the other rows that come before: (rank - 1) / (rows - 1), or 0 of one row.
  double percent_rank() const { return size() > 1 ? static_cast<double>(rank() - 1) / static_cast<double>(size() - 1) : 0; }
  // The share of rows that come before or tie, itself included.
  double cume_dist() const {
    needs_order<T>();
    return static_cast<double>(w_->tie_end() - w_->begin) / static_cast<double>(size());
  }
  // The number, from 1, of the row's bucket of n about equal ones; the first are the larger ones.
  std::int64_t ntile(std::int64_t n, detail::call_site where = detail::call_site::here()) const {
    (void)detail::positive_count("ntile", n, where);
    const std::int64_t small = size() / n, larger = size() % n, in_larger = larger * (small + 1);
    return index() < in_larger ? index() / (small + 1) + 1 : larger + (index() - in_larger) / std::max<std::int64_t>(small, 1) + 1;
  }
  std::int64_t size() const { return static_cast<std::int64_t>(w_->end - w_->begin); }

  // ---- other rows of the group
  // f of the row n before, or after: empty where there is none.
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> lag(F f, std::int64_t n = 1) const {
    QUERY_DETAIL_OF_ROW(f)
    return at(f, n > index() || n <= index() - size() ? -1 : index() - n);
  }
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> lead(F f, std::int64_t n = 1) const {
    QUERY_DETAIL_OF_ROW(f)
    return at(f, n >= size() - index() || n < -index() ? -1 : index() + n);
  }
  // The same, or `otherwise` where there is no such row.
  template <class F, class D> detail::window_value_t<F, T> lag(F f, std::int64_t n, const D& otherwise) const {
    QUERY_DETAIL_OF_ROW(f)
    return at_or(f, n > index() || n <= index() - size() ? -1 : index() - n, otherwise);
  }
  template <class F, class D> detail::window_value_t<F, T> lead(F f, std::int64_t n, const D& otherwise) const {
    QUERY_DETAIL_OF_ROW(f)
    return at_or(f, n >= size() - index() || n < -index() ? -1 : index() + n, otherwise);
  }
  template <class F> detail::window_value_t<F, T> first(F f) const { QUERY_DETAIL_OF_ROW(f) return value_of(f, 0); }
  template <class F> detail::window_value_t<F, T> last(F f) const { QUERY_DETAIL_OF_ROW(f) return value_of(f, size() - 1); }
  // f of row n of the group, from 0.
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> nth(F f, std::int64_t n) const {
    QUERY_DETAIL_OF_ROW(f)
    return at(f, n >= 0 && n < size() ? n : -1);
  }

  // ---- the rows up to this one
  std::int64_t cum_count() const { return row_number(); }
  template <class F> auto cum_count(F f) const { QUERY_DETAIL_OF_ROW(f) return so_far(agg::count_if<F>{{}, f}); }
  template <class F> auto cum_sum(F f) const { QUERY_DETAIL_OF_SUM(f) return so_far(agg::sum<F>{{}, f}); }
  template <class F> auto cum_product(F f) const { QUERY_DETAIL_OF_NUMBER(f) return so_far(detail::product<F>{{}, f}); }
  template <class F> auto cum_mean(F f) const { QUERY_DETAIL_OF_NUMBER(f) return so_far(agg::mean<F>{{}, f}); }
  template <class F> auto cum_min(F f) const { QUERY_DETAIL_OF_ROW(f) return so_far(agg::extreme<false, F>{{}, f}); }
  template <class F> auto cum_max(F f) const { QUERY_DETAIL_OF_ROW(f) return so_far(agg::extreme<true, F>{{}, f}); }

  // ---- frames
  // The rows from `from` to `to`, relative to this one: rows(-6, 0) are this row and the six before it. Cut off at the group's ends.
  Frame<T, std::int64_t, false> rows(std::int64_t from, std::int64_t to) const {
    const auto [begin, end] = bounds(from, to);
    return {*w_, begin, end, from, to, false};
  }
  // This row and those before it, n in all: never empty.
  Frame<T, std::int64_t, true> rolling(std::int64_t n, detail::call_site where = detail::call_site::here()) const {
    (void)detail::positive_count("rolling", n, where);
    const auto [begin, end] = bounds(1 - n, 0);
    return {*w_, begin, end, 1 - n, 0, false};
  }
  // The rows whose key of the order is at least `from` and at most `to` more than this row's; less, in a descending order. Bounds of a
  // time or duration are durations: range(-std::chrono::minutes(5), std::chrono::minutes(0)).
  template <class A, class B> auto range(A from, B to) const {
    needs_order<B>();
    if constexpr (sizeof...(Order) > 0) {
      using F = typename std::tuple_element_t<0, std::tuple<Order...>>::function;
      using K = agg::value_in<F, T>;
      constexpr bool numbers = std::is_arithmetic_v<A> && std::is_arithmetic_v<B>, durations = ir::duration<A> && ir::duration<B>;
      static_assert(!ir::ticking<K> || durations, "query: over: range(from, to) over an order by times or durations takes durations: "
                                                  "w.range(-std::chrono::minutes(5), std::chrono::minutes(0))");
      static_assert(ir::ticking<K> || !(ir::ticking<A> || ir::ticking<B>),
                    "query: over: range(from, to) over an order by a number takes numbers, in its unit: w.range(-60, 0)");
      static_assert(ir::ticking<K> || ir::ticking<A> || ir::ticking<B> || (numbers && sizeof...(Order) == 1 && std::is_arithmetic_v<K>),
                    "query: over: range(from, to) needs an order by one key, a number, time or duration: "
                    "over(key).order_by([](auto t) { return t.time; })");
      static_assert(!ir::ticking<K> || sizeof...(Order) == 1, "query: over: range(from, to) needs an order by one key");
      if constexpr (sizeof...(Order) != 1) {
        return check::after_error{};
      } else if constexpr (ir::ticking<K> && durations) {
        using D = ir::duration_in_t<K>;
        constexpr bool exact = std::is_convertible_v<A, D> && std::is_convertible_v<B, D>;
        static_assert(exact, "query: over: range(from, to): a bound has a finer unit than the key of the order, or a fraction of it. Round "
                             "it, std::chrono::floor<std::chrono::seconds>(bound), or order by a time with that unit");
        if constexpr (!exact) return check::after_error{};
        else {
          using Bound = std::conditional_t<std::is_floating_point_v<typename D::rep>, double, std::int64_t>;
          return ranging<F, Bound>(detail::range_bound_in<Bound, D>(from), detail::range_bound_in<Bound, D>(to));
        }
      } else if constexpr (numbers && std::is_arithmetic_v<K>) {
        constexpr bool floats = std::is_floating_point_v<A> || std::is_floating_point_v<B> || std::is_floating_point_v<K>;
        using Bound = std::conditional_t<floats, double, std::int64_t>;
        return ranging<F, Bound>(detail::range_bound<Bound>(from), detail::range_bound<Bound>(to));
      } else return check::after_error{};
    } else return check::after_error{};
  }

  // ---- nulls
  // The nearest value that is not null, of this row or before it; of this row or after it.
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> fill_forward(F f) const {
    if constexpr (!nulls<F>()) return check::after_error{};
    else return filled(f, nearest(f).before(*w_));
  }
  template <class F> detail::maybe_t<detail::window_value_t<F, T>> fill_backward(F f) const {
    if constexpr (!nulls<F>()) return check::after_error{};
    else return filled(f, nearest(f).after(*w_));
  }
  // A null becomes the value on the straight line between its neighbours, by the number of rows or by x(row); empty at the ends.
  template <class F> auto interpolate(F f) const {
    return between(f, [&](std::size_t i) { return static_cast<double>(i); });
  }
  template <class F, class X> auto interpolate(F f, X x) const {
    if constexpr (!detail::window_function<T, X>()) {
      return check::after_error{};
    } else {
      static_assert(!ir::is_optional_v<agg::given<X, T>>, "query: over: interpolate(f, x): x(row) may be null. Give each row a number");
      return between(f, [&](std::size_t i) { return static_cast<double>(*detail::value_at(x, w_->row(i))); });
    }
  }

  // Of all rows of the group.
  template <class A> const auto& aggregate(const A& a) const { return w_->template state<detail::of_group<A, T>>(a).value(*w_); }
  template <class F> auto median(F f) const { return quantile(f, 0.5); }
  template <class F> auto quantile(F f, double q) const {
    if constexpr (!detail::window_number<false, T, F>()) {
      return check::after_error{};
    } else {
      detail::check_share(q);
      return aggregate(agg::quantile<F>{{}, f, q});
    }
  }
  template <class F> std::int64_t count_distinct(F f) const { QUERY_DETAIL_OF_ROW(f) return aggregate(agg::count_distinct<F>{{}, f}); }
  template <class F> std::int64_t approx_count_distinct(F f) const {
    QUERY_DETAIL_OF_ROW(f)
    return aggregate(agg::approx_count_distinct<F>{{}, f});
  }
  template <class F> auto approx_quantile(F f, double q) const {
    QUERY_DETAIL_OF_NUMBER(f)
    return aggregate(agg::approx_quantile<F>{{}, f, agg::checked_share(q)});
  }
  template <class F, class N> auto top_k_frequent(F f, N k) const {
    QUERY_DETAIL_OF_ROW(f)
    return aggregate(agg::top_k_frequent<F>{{}, f, agg::checked_k(k)});
  }

 private:
  static constexpr std::size_t nearest_none = ~std::size_t{0};

  template <class X> static constexpr void needs_order() {
    static_assert(sizeof...(Order) > 0 || sizeof(X) == 0, "query: over: ranks and ranges need an order: over(key).order_by([](auto t) { "
                                                          "return t.time; }). Without one there is row_number()");
  }
  template <class F> static constexpr bool nulls() {
    if constexpr (!detail::window_function<T, F>()) return false;
    else {
      static_assert(ir::is_optional_v<agg::given<F, T>>, "query: over: fill_forward and fill_backward take a function that gives a "
                                                         "std::optional: other values are never null");
      return true;
    }
  }
  std::int64_t index() const { return static_cast<std::int64_t>(w_->at - w_->begin); }
  // f of row i of the group, or of none if i < 0.
  template <class F> detail::maybe_t<agg::given<F, T>> at(const F& f, std::int64_t i) const {
    if (i < 0) return std::nullopt;
    return detail::value_at(f, w_->row(w_->begin + static_cast<std::size_t>(i)));
  }
  template <class F, class D> agg::given<F, T> at_or(const F& f, std::int64_t i, const D& otherwise) const {
    using V = agg::given<F, T>;
    static_assert(!std::is_floating_point_v<D> || !std::is_integral_v<V>,
                  "query: over: the value of lag and lead where there is no row has a fraction, and the others are integers: give one");
    if constexpr (detail::may_not_fit<D, V>)
      if (!detail::fits<V>(otherwise))
        throw detail::unplaced_error("lag, lead: the value for where there is no row, " + std::to_string(otherwise) +
                                     ", does not fit the others, which are integers of " + std::to_string(8 * sizeof(V)) + " bits");
    return i < 0 ? static_cast<V>(otherwise) : value_of(f, i);
  }
  template <class F> agg::given<F, T> value_of(const F& f, std::int64_t i) const {
    using V = agg::given<F, T>;
    return V(detail::as_stored<V>(detail::call(f, agg::seen_by<F>(w_->row(w_->begin + static_cast<std::size_t>(i))))));
  }
  template <class F, class Bound> Frame<T, Bound, false> ranging(Bound low, Bound high) const {
    const auto& by = std::get<0>(*order_);
    const auto [begin, end] = w_->template state<detail::value_frame<F, T, Bound>>(by.f, by.descending, low, high).bounds(*w_);
    return {*w_, begin, std::max(begin, end), low, high, true};
  }
  template <class A> auto so_far(const A& a) const { return w_->template state<detail::running<A, T>>(a).value(*w_); }
  template <class F> detail::nearest_values<F, T>& nearest(const F& f) const {
    return w_->template state<detail::nearest_values<F, T>>(f);
  }
  template <class F> detail::maybe_t<agg::given<F, T>> filled(const F& f, std::size_t i) const {
    if (i == nearest_none) return std::nullopt;
    return detail::value_at(f, w_->row(i));
  }
  template <class F, class At> auto between(const F& f, const At& place) const {
    if constexpr (!detail::window_number<false, T, F>()) {
      return check::after_error{};
    } else {
      auto& values = nearest(f);
      const std::size_t a = values.before(*w_), b = values.after(*w_);
      if (a == nearest_none || b == nearest_none) return std::optional<double>();
      const auto low = static_cast<double>(*detail::value_at(f, w_->row(a)));
      if (a == b) return std::optional(low);
      const auto high = static_cast<double>(*detail::value_at(f, w_->row(b)));
      const double from = place(a), length = place(b) - from;
      return std::optional(length == 0 ? low : detail::on_line(low, high, (place(w_->at) - from) / length));
    }
  }
  std::pair<std::size_t, std::size_t> bounds(std::int64_t from, std::int64_t to) const {
    const std::int64_t n = size(), i = index();
    const std::int64_t low = from <= -i ? 0 : from >= n - i ? n : i + from;
    const std::int64_t high = to >= n - i - 1 ? n : to < -i ? 0 : i + to + 1;
    const auto begin = w_->begin + static_cast<std::size_t>(low), end = w_->begin + static_cast<std::size_t>(high);
    return {begin, std::max(begin, end)};
  }

  detail::window_rows<T>* w_;
  const std::tuple<Order...>* order_;
};

#undef QUERY_DETAIL_OF_NUMBER
#undef QUERY_DETAIL_OF_SUM
#undef QUERY_DETAIL_OF_ROW

}  // namespace query
