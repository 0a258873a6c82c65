// What functions of windows keep from row to row. The rows of a group are visited in order, so that a running total is one step a row,
// and a sliding frame two merges a row: no function takes more than O(n), or O(n log n) where it needs values in order.
//
//   running<agg::sum<F>, T> total(f);
//   total.value(rows)      // the sum of the group's rows up to the one that is visited
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/stop.hpp>
#include <query/detail/window_order.hpp>
#include <query/function.hpp>

namespace query::detail {

// Do two functions of one type give the same? Those that capture say so by query::with, whose captures can be compared.
template <class F> struct comparable_function : std::is_empty<F> {
  static bool same(const F&, const F&) { return true; }
};
template <class F, class... C>
struct comparable_function<with_function<F, C...>> : std::bool_constant<(std::equality_comparable<C> && ...)> {
  static bool same(const with_function<F, C...>& a, const with_function<F, C...>& b) { return a.captures() == b.captures(); }
};
template <class F> struct comparable_function<opaque_function<F>> : comparable_function<F> {
  static bool same(const opaque_function<F>& a, const opaque_function<F>& b) { return comparable_function<F>::same(a.inner(), b.inner()); }
};
template <class F> struct comparable_function<must_trace_function<F>> : comparable_function<F> {
  static bool same(const must_trace_function<F>& a, const must_trace_function<F>& b) {
    return comparable_function<F>::same(a.inner(), b.inner());
  }
};
template <class Parameter> bool same_parameter(const Parameter& a, const Parameter& b) {
  if constexpr (std::is_arithmetic_v<Parameter>) return a == b;
  else return comparable_function<Parameter>::same(a, b);
}

// What a function of a window keeps: one for each function that the user's function calls, with its parameters.
class window_state {
 public:
  explicit window_state(const void* k) : made_by(k) {}
  virtual ~window_state() = default;
  window_state(const window_state&) = delete;
  window_state& operator=(const window_state&) = delete;

  const void* const made_by;  // which type of state it is
};

// The rows of a partition in their order, and where among them the row is that is visited.
template <class T> class window_rows {
 public:
  // `first`: row 0 of the partition; each lies `stride` bytes behind the one before it.
  window_rows(const T* first, std::size_t stride, window_order order)
      : first_(reinterpret_cast<const std::byte*>(first)), stride_(stride), order_(std::move(order)) {}

  std::size_t size() const { return order_.size(); }
  std::size_t source(std::size_t i) const { return order_.row(i); }
  const T& row(std::size_t i) const { return *reinterpret_cast<const T*>(first_ + order_.row(i) * stride_); }
  const T& here() const { return row(at); }

  // Rows are visited from the first on, each once.
  void visit(std::size_t i) {
    at = i;
    next_state_ = 0;
    if (i == 0 || i == end) begin_group();
    else if (order_.begins_tie(i)) begin_tie();
  }
  // The first row behind those that tie with the visited one.
  std::size_t tie_end() {
    if (tie_end_ <= at)
      for (tie_end_ = at + 1; tie_end_ < end && !order_.begins_tie(tie_end_);) ++tie_end_;
    return tie_end_;
  }

  // The state of type S that was made with these parameters. Functions come in the same order for nearly every row.
  template <class S, class... Parameter> S& state(const Parameter&... parameters) {
    if (next_state_ < states_.size())
      if (S* found = as<S>(*states_[next_state_], parameters...)) return ++next_state_, *found;
    for (std::size_t i = 0; i < states_.size(); ++i)
      if (S* found = as<S>(*states_[i], parameters...)) return next_state_ = i + 1, *found;
    if (states_.size() == most_states) states_.clear();  // parameters that change from row to row
    states_.push_back(std::make_unique<S>(&kind_of<S>, parameters...));
    next_state_ = states_.size();
    return static_cast<S&>(*states_.back());
  }

  std::size_t begin = 0, end = 0, at = 0;  // of the group; the visited row
  std::size_t tie_begin = 0;
  std::int64_t ties = 0;                   // groups of ties before and with this row

 private:
  static constexpr std::size_t most_states = 256;
  template <class S> static inline char kind_of = 0;  // its address

  template <class S, class... Parameter> static S* as(window_state& s, const Parameter&... parameters) {
    if (s.made_by != &kind_of<S>) return nullptr;
    S& same_kind = static_cast<S&>(s);
    return same_kind.made_with(parameters...) ? &same_kind : nullptr;
  }
  void begin_group() {
    begin = at;
    const stop_point stop;
    for (end = at + 1; end < order_.size() && !order_.begins_group(end); ++end)
      if (end % quick_calls_a_look == 0) stop.check();
    ties = 0;
    begin_tie();
  }
  void begin_tie() {
    tie_begin = at;
    tie_end_ = 0;
    ++ties;
  }

  const std::byte* first_;
  std::size_t stride_;
  window_order order_;
  std::size_t tie_end_ = 0;
  std::vector<std::unique_ptr<window_state>> states_;
  std::size_t next_state_ = 0;
};

// f(i) for i from `from` on, which ends at `end`: for most rows once, but for all rows of a group if a frame is that long.
template <class F> QUERY_INLINE inline void step_to(std::size_t end, std::size_t& from, const F& f) {
  for (const stop_point stop; from < end; ++from) {
    f(from);
    if (from % quick_calls_a_look == 0) stop.check();
  }
}

// ---------------------------------------------------------------- aggregates
template <class F> struct product : agg::expression {
  F f;
  template <class V> struct factor { agg::sum_t<V> v = 1; };
  template <class T> using state = factor<agg::value_in<F, T>>;
  template <class S, class T> void step(S& s, const T& t) const {
    agg::with_value(f, t, [&](const auto& v) { s.v = times(s.v, static_cast<decltype(s.v)>(v)); });
  }
  template <class S> static void merge(S& a, S& b) { a.v = times(a.v, b.v); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return s.v; }

 private:
  // Integers wrap, as sums do.
  template <class V> static V times(V a, V b) {
    if constexpr (std::is_integral_v<V>) return static_cast<V>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    else return a * b;
  }
};

// An aggregate's value of some rows, from a copy of its state.
template <class A, class T> using aggregate_state = typename A::template state<T>;
template <class A, class T> auto value_of_state(const A& a, aggregate_state<A, T> s) {
  const agg::nothing no_key;
  return a.template value<T>(no_key, s);
}
template <class A, class T>
using aggregate_value = decltype(value_of_state<A, T>(std::declval<const A&>(), std::declval<aggregate_state<A, T>>()));

// Of the function, and of q of a quantile.
template <class A> bool same_aggregate(const A& a, const A& b) {
  if constexpr (requires { a.f; })
    if (!same_parameter(a.f, b.f)) return false;
  if constexpr (requires { a.q; })
    if (a.q != b.q) return false;
  if constexpr (requires { a.k; })
    if (a.k != b.k) return false;
  return true;
}

// Of the group's rows up to the visited one.
template <class A, class T> class running final : public window_state {
 public:
  running(const void* kind, A a) : window_state(kind), a_(std::move(a)) {}
  bool made_with(const A& a) const { return same_aggregate(a_, a); }
  auto value(const window_rows<T>& w) {
    if (group_ != w.begin) {
      group_ = next_ = w.begin;
      state_ = aggregate_state<A, T>{};
    }
    step_to(w.at + 1, next_, [&](std::size_t i) { a_.step(state_, w.row(i)); });
    return value_of_state<A, T>(a_, state_);
  }

 private:
  A a_;
  aggregate_state<A, T> state_{};
  std::size_t group_ = ~std::size_t{0}, next_ = 0;
};

// Of all rows of the group.
template <class A, class T> class of_group final : public window_state {
 public:
  of_group(const void* kind, A a) : window_state(kind), a_(std::move(a)) {}
  bool made_with(const A& a) const { return same_aggregate(a_, a); }
  const auto& value(const window_rows<T>& w) {
    if (group_ != w.begin) {
      aggregate_state<A, T> state{};
      in_runs(w.begin, w.end, [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) a_.step(state, w.row(i));
      });
      value_.emplace(value_of_state<A, T>(a_, std::move(state)));
      group_ = w.begin;
    }
    return *value_;
  }

 private:
  A a_;
  std::optional<aggregate_value<A, T>> value_;
  std::size_t group_ = ~std::size_t{0};
};

// Of the rows [begin, end) of the group: both only grow from row to row. Two stacks (Tangwongsan, Hirzel, Schneider: Low-Latency
// Sliding-Window Aggregation in Worst-Case Constant Time, DEBS 2017, section 2): nothing is ever subtracted, so that an infinity
// leaves no NaN behind.
template <class A, class T> class sliding final : public window_state {
 public:
  using state = aggregate_state<A, T>;
  sliding(const void* kind, A a, std::int64_t from, std::int64_t to, bool by_value)
      : window_state(kind), a_(std::move(a)), from_(from), to_(to), by_value_(by_value) {}
  sliding(const void* kind, A a, double from, double to, bool by_value)
      : window_state(kind), a_(std::move(a)), low_(from), high_(to), by_value_(by_value) {}
  bool made_with(const A& a, std::int64_t from, std::int64_t to, bool by_value) const {
    return from == from_ && to == to_ && by_value == by_value_ && same_aggregate(a_, a);
  }
  bool made_with(const A& a, double from, double to, bool by_value) const {
    return from == low_ && to == high_ && by_value == by_value_ && same_aggregate(a_, a);
  }
  // The frame is not empty.
  auto value(const window_rows<T>& w, std::size_t begin, std::size_t end) {
    if (group_ != w.begin || begin >= end_) {
      group_ = w.begin;
      begin_ = middle_ = end_ = begin;
      front_.clear();
      back_ = state{};
    }
    step_to(end, end_, [&](std::size_t i) { a_.step(back_, w.row(i)); });
    if (begin >= middle_ && begin > begin_) fill_front(w, begin);
    for (; begin_ < begin; ++begin_) front_.pop_back();
    if (front_.empty()) return value_of_state<A, T>(a_, back_);
    state all = front_.back(), more = back_;
    A::merge(all, more);
    return value_of_state<A, T>(a_, std::move(all));
  }

 private:
  // States of the rows from each one in [begin, end_) to the last.
  void fill_front(const window_rows<T>& w, std::size_t begin) {
    front_.clear();
    const stop_point stop;
    for (std::size_t i = end_; i-- > begin;) {
      if (i % quick_calls_a_look == 0) stop.check();
      state s{};
      a_.step(s, w.row(i));
      if (!front_.empty()) {
        state more = front_.back();
        A::merge(s, more);
      }
      front_.push_back(std::move(s));
    }
    begin_ = begin;
    middle_ = end_;
    back_ = state{};
  }

  A a_;
  std::int64_t from_ = 0, to_ = 0;
  double low_ = 0, high_ = 0;
  bool by_value_;
  std::vector<state> front_;  // the last one is that of all rows from begin_ to middle_
  state back_{};              // of the rows from middle_ on
  std::size_t group_ = ~std::size_t{0}, begin_ = 0, middle_ = 0, end_ = 0;
};

}  // namespace query::detail
