// What functions of windows keep that are no aggregates: frames by value, the nearest values that are not null, values in order.
#pragma once

#include <query/detail/window_states.hpp>

namespace query::detail {

// How far b lies after a, exact for integers.
template <class V> auto distance_of(const V& a, const V& b) {
  if constexpr (std::is_floating_point_v<V>) return a == b ? 0.0 : static_cast<double>(b) - static_cast<double>(a);
  else {
    __extension__ using wide = __int128;
    return static_cast<wide>(b) - static_cast<wide>(a);
  }
}

// What a range measures by: the number itself, or that of a time or duration.
template <class V> auto ranged(const V& v) {
  if constexpr (ir::time_point<V>) return v.time_since_epoch().count();
  else if constexpr (ir::duration<V>) return v.count();
  else return v;
}

// The rows whose value of the order lies within [low, high] of the visited row's. Nulls and NaNs are the frame of each other.
template <class F, class T, class B> class value_frame final : public window_state {
 public:
  value_frame(const void* kind, F f, bool descending, B low, B high)
      : window_state(kind), f_(std::move(f)), descending_(descending), low_(low), high_(high) {}
  bool made_with(const F&, bool, B low, B high) const { return low == low_ && high == high_; }
  std::pair<std::size_t, std::size_t> bounds(window_rows<T>& w) {
    if (group_ != w.begin) group_ = begin_ = end_ = w.begin;
    const std::optional<value> here = of(w, w.at);
    if (!here) {
      begin_ = w.tie_begin;
      end_ = w.tie_end();
      return {begin_, end_};
    }
    const stop_point stop;
    const auto look = [&](std::size_t i) { if (i % quick_calls_a_look == 0) stop.check(); };
    for (; begin_ < w.end && precedes(w, begin_, *here); ++begin_) look(begin_);
    end_ = std::max(end_, begin_);
    for (; end_ < w.end && reaches(w, end_, *here); ++end_) look(end_);
    return {begin_, end_};
  }

 private:
  using value = decltype(ranged(std::declval<const agg::value_in<F, T>&>()));
  std::optional<value> of(const window_rows<T>& w, std::size_t i) const {
    std::optional<value> v;
    agg::with_value(f_, w.row(i), [&](const auto& x) { v = ranged(x); });
    if constexpr (std::is_floating_point_v<value>)
      if (v && *v != *v) v.reset();
    return v;
  }
  // In the bounds' type, where that is a double; distances of integers may need 65 bits.
  auto after(const value& here, const value& other) const {
    const auto distance = descending_ ? distance_of(other, here) : distance_of(here, other);
    if constexpr (std::is_floating_point_v<B>) return static_cast<B>(distance);
    else return distance;
  }
  bool precedes(const window_rows<T>& w, std::size_t i, const value& here) const {
    const std::optional<value> v = of(w, i);
    return v ? after(here, *v) < low_ : i < w.at;
  }
  bool reaches(const window_rows<T>& w, std::size_t i, const value& here) const {
    const std::optional<value> v = of(w, i);
    return v ? after(here, *v) <= high_ : i < w.at;
  }

  F f_;
  bool descending_;
  B low_, high_;
  std::size_t group_ = ~std::size_t{0}, begin_ = 0, end_ = 0;
};

// The rows nearest to the visited one, itself included, whose value is not null.
template <class F, class T> class nearest_values final : public window_state {
 public:
  static constexpr std::size_t none = ~std::size_t{0};
  nearest_values(const void* kind, F f) : window_state(kind), f_(std::move(f)) {}
  bool made_with(const F& f) const { return same_parameter(f_, f); }

  std::size_t before(const window_rows<T>& w) {
    begin(w);
    for (; seen_ <= w.at; ++seen_)
      if (here(w, seen_)) before_ = seen_;
    return before_;
  }
  std::size_t after(const window_rows<T>& w) {
    begin(w);
    after_ = std::max(after_, w.at);
    for (const stop_point stop; after_ < w.end && !here(w, after_); ++after_)
      if (after_ % quick_calls_a_look == 0) stop.check();
    return after_ < w.end ? after_ : none;
  }

 private:
  void begin(const window_rows<T>& w) {
    if (group_ == w.begin) return;
    group_ = seen_ = after_ = w.begin;
    before_ = none;
  }
  bool here(const window_rows<T>& w, std::size_t i) const {
    bool found = false;
    agg::with_value(f_, w.row(i), [&](const auto&) { found = true; });
    return found;
  }

  F f_;
  std::size_t group_ = none, seen_ = 0, before_ = none, after_ = 0;
};

// The values of a frame by their rank among those of the group: a Fenwick tree of how many of each rank there are (Fenwick: A New
// Data Structure for Cumulative Frequency Tables, 1994). O(log n) a row.
template <class F, class T> class ranked_frame final : public window_state {
 public:
  ranked_frame(const void* kind, F f, bool distinct, std::int64_t from, std::int64_t to, bool by_value)
      : window_state(kind), f_(std::move(f)), distinct_(distinct), from_(from), to_(to), by_value_(by_value) {}
  ranked_frame(const void* kind, F f, bool distinct, double from, double to, bool by_value)
      : window_state(kind), f_(std::move(f)), distinct_(distinct), low_(from), high_(to), by_value_(by_value) {}
  bool made_with(const F& f, bool distinct, std::int64_t from, std::int64_t to, bool by_value) const {
    return distinct == distinct_ && from == from_ && to == to_ && by_value == by_value_ && same_parameter(f_, f);
  }
  bool made_with(const F& f, bool distinct, double from, double to, bool by_value) const {
    return distinct == distinct_ && from == low_ && to == high_ && by_value == by_value_ && same_parameter(f_, f);
  }
  void move_to(const window_rows<T>& w, std::size_t begin, std::size_t end) {
    if (group_ != w.begin) rank(w);
    step_to(end, end_, [&](std::size_t i) { count(i, 1); });
    step_to(std::min(begin, end_), begin_, [&](std::size_t i) { count(i, -1); });
  }
  std::int64_t distinct() const { return different_; }
  std::size_t size() const { return static_cast<std::size_t>(values_); }
  const agg::value_in<F, T>& nth(std::size_t n) const {
    std::size_t at = 0;
    std::size_t step = 1;
    while (step * 2 < tree_.size()) step *= 2;
    for (auto left = static_cast<std::int64_t>(n); step; step /= 2)
      if (at + step < tree_.size() && tree_[at + step] <= left) left -= tree_[at += step];
    return sorted_[at];
  }

 private:
  using value = agg::value_in<F, T>;
  static constexpr std::uint32_t null = ~0u;

  void rank(const window_rows<T>& w) {
    group_ = begin_ = end_ = w.begin;
    values_ = different_ = 0;
    struct held { value v; };  // no std::vector<bool>
    std::vector<held> all;
    std::vector<std::uint32_t> rows;
    ranks_.assign(w.end - w.begin, null);
    in_runs<quick_calls_a_look>(w.begin, w.end, [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i)
        agg::with_value(f_, w.row(i), [&](const auto& v) {
          all.push_back({as_stored<value>(v)});
          rows.push_back(static_cast<std::uint32_t>(i - w.begin));
        });
    });
    const window_order order({{.type = ir::describe<value>(), .values = all.data()}}, false, all.size());
    sorted_.clear();
    in_runs<quick_calls_a_look>(0, all.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        if (order.begins_tie(i)) sorted_.push_back(all[order.row(i)].v);
        ranks_[rows[order.row(i)]] = static_cast<std::uint32_t>(sorted_.size() - 1);
      }
    });
    tree_.assign(sorted_.size() + 1, 0);
    counts_.assign(sorted_.size(), 0);
  }
  void count(std::size_t i, std::int32_t by) {
    const std::uint32_t r = ranks_[i - group_];
    if (r == null) return;
    values_ += by;
    const std::int32_t before = counts_[r];
    counts_[r] += by;
    different_ += (counts_[r] > 0) - (before > 0);
    for (std::size_t k = r + 1; k < tree_.size(); k += k & (~k + 1)) tree_[k] += by;
  }

  F f_;
  bool distinct_;
  std::int64_t from_ = 0, to_ = 0;
  double low_ = 0, high_ = 0;
  bool by_value_;
  std::vector<value> sorted_;            // the group's, each once
  std::vector<std::uint32_t> ranks_;     // of the group's rows
  std::vector<std::int32_t> tree_, counts_;
  std::int64_t values_ = 0, different_ = 0;
  std::size_t group_ = ~std::size_t{0}, begin_ = 0, end_ = 0;
};

}  // namespace query::detail
