// The sweep of asof_join: over the rows of both sides in the order of their times, one group of equal keys after the other. It finds for
// each left row the number of its right row.
//
//   asof_sweep<std::pair<Key, Time>> sweep(options);   // or asof_sweep<Time>, without keys
//   sweep(rows)                                        // rows: {number, {key, time}}; right rows have the numbers ~0, ~1...
#pragma once

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/join_keys.hpp>
#include <query/detail/stop.hpp>
#include <query/detail/window_order.hpp>
#include <query/verbs/sequence.hpp>

namespace query {

// Which right row an asof_join looks for: the last at or before the left row's time, the first at or after it, or the nearer of both.
enum class nearest { backward, forward, either };

// How far apart the times of a match may be, both ends included: a number in the unit of the times. None: any distance.
class asof_tolerance {
 public:
  constexpr asof_tolerance() = default;
  template <class N> requires std::is_arithmetic_v<N>
  constexpr asof_tolerance(N n) : given_(true), valid_(n >= N{}) {  // NOLINT: a number is one
    if constexpr (std::is_integral_v<N>) {
      whole_ = valid_ ? static_cast<std::uint64_t>(n) : 0;
      real_ = static_cast<double>(whole_);
    } else {
      real_ = static_cast<double>(n);
      whole_ = !valid_ ? 0 : real_ < 0x1p64 ? static_cast<std::uint64_t>(real_) : ~std::uint64_t{0};
    }
  }
  // Neither negative nor NaN.
  constexpr bool valid() const { return valid_; }
  constexpr bool allows(std::uint64_t distance) const { return !given_ || distance <= whole_; }
  constexpr bool allows(double distance) const { return !given_ || distance <= real_; }

 private:
  bool given_ = false, valid_ = true;
  std::uint64_t whole_ = 0;
  double real_ = 0;
};

// asof_join(quotes, symbol, symbol, time, time, f, {.direction = query::nearest::forward, .exact = false, .tolerance = 5})
struct asof_options {
  nearest direction = nearest::backward;
  bool exact = true;  // whether a right row of the same time matches
  asof_tolerance tolerance = {};
};

namespace detail {

// Is a key null, or a part of it?
template <class K> bool has_null(const K& k) {
  if constexpr (ir::is_optional_v<K>) {
    return !k || has_null(*k);
  } else if constexpr (record<K>) {
    return std::apply([](const auto&... part) { return (has_null(part) || ...); }, meta<K>::fields(k));
  } else if constexpr (ir::is_array_v<K>) {
    for (const auto& part : k)
      if (has_null(part)) return true;
    return false;
  } else if constexpr (ir::is_tuple_v<K>) {
    return std::apply([](const auto&... part) { return (has_null(part) || ...); }, k);
  } else {
    return false;
  }
}

// Times: numbers, or optionals of them.
template <class Time> bool is_time(const Time& t) {
  if constexpr (ir::is_optional_v<Time>) return t && is_time(*t);
  else if constexpr (std::is_floating_point_v<Time>) return !std::isnan(t);
  else return true;
}
template <class Time> const auto& time_value(const Time& t) {
  if constexpr (ir::is_optional_v<Time>) return *t;
  else return t;
}
// Never overflows; of floating-point numbers as doubles. The times may have any order.
template <class Time> auto time_distance(Time a, Time b) {
  if constexpr (std::is_integral_v<Time>) {
    const auto x = static_cast<std::uint64_t>(a), y = static_cast<std::uint64_t>(b);
    return a < b ? y - x : x - y;
  } else {
    return a == b ? 0.0 : std::abs(static_cast<double>(a) - static_cast<double>(b));
  }
}

template <class V> struct asof_parts {
  static constexpr bool keyed = false;
  using time = V;
  static const V& time_of(const V& v) { return v; }
};
template <class K, class Time> struct asof_parts<std::pair<K, Time>> {
  static constexpr bool keyed = true;
  using key = K;
  using time = Time;
  static const Time& time_of(const std::pair<K, Time>& v) { return v.second; }
};

template <class V> class asof_sweep {
  using parts = asof_parts<V>;
  using row_type = indexed<V>;

 public:
  explicit asof_sweep(asof_options options) : options_(options) {}

  // {left number, right number} for each left row, -1 where there is none. Without keys the rows lie in the order of their times.
  std::vector<indexed<std::int64_t>> operator()(std::span<const row_type> rows) const {
    std::vector<std::size_t> matches(rows.size(), none);
    const order by_time = order_of(rows);
    const stop_point stop;
    for (std::size_t i = 0, end = 0; i < rows.size(); i = end) {
      for (end = i + 1; end < rows.size() && !by_time.begins_group(end); ++end)
        if (end % rows_a_look == 0) stop.check();
      if constexpr (parts::keyed)
        if (has_null(rows[by_time.row(i)].value.first)) continue;
      const group g{rows, by_time, i, end};
      if (options_.direction != nearest::forward) look_back(g, matches);
      if (options_.direction != nearest::backward) look_ahead(g, matches);
    }
    std::size_t left = 0;
    in_runs<rows_a_look>(0, rows.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) left += rows[i].index >= 0;
    });
    std::vector<indexed<std::int64_t>> found;
    found.reserve(left);
    in_runs<rows_a_look>(0, rows.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i)
        if (rows[i].index >= 0) found.push_back({rows[i].index, matches[i] == none ? -1 : ~rows[matches[i]].index});
    });
    return found;
  }

 private:
  static constexpr std::size_t none = ~std::size_t{0}, rows_a_look = 4096;

  // Rows that lie in order already: one group, rows of equal times tie.
  class sorted_rows {
   public:
    explicit sorted_rows(std::span<const row_type> rows) : rows_(rows) {}
    std::size_t row(std::size_t i) const { return i; }
    bool begins_group(std::size_t i) const { return i == 0; }
    bool begins_tie(std::size_t i) const { return i == 0 || rows_[i - 1].value != rows_[i].value; }

   private:
    std::span<const row_type> rows_;
  };
  using order = std::conditional_t<parts::keyed, window_order, sorted_rows>;
  static order order_of(std::span<const row_type> rows) {
    if constexpr (parts::keyed) {
      const values_of<typename parts::key> keys(rows, [](const V& v) -> const auto& { return v.first; });
      const values_of<typename parts::time> times(rows, [](const V& v) -> const auto& { return v.second; });
      return window_order({{ir::describe<typename parts::key>(), keys.data()}, {ir::describe<typename parts::time>(), times.data()}}, true,
                          rows.size());
    } else {
      return sorted_rows(rows);
    }
  }
  // A part of each row, side by side.
  template <class X> class values_of {
   public:
    template <class F> values_of(std::span<const row_type> rows, const F& f) {
      values_.reserve(rows.size());
      in_runs<rows_a_look>(0, rows.size(), [&](std::size_t i, std::size_t end) {
        for (; i < end; ++i) values_.push_back({f(rows[i].value)});
      });
    }
    const void* data() const { return values_.data(); }

   private:
    struct held { X x; };  // no std::vector<bool>
    std::vector<held> values_;
  };

  struct group {
    std::span<const row_type> rows;
    const order& by_time;
    std::size_t begin, end;

    std::size_t at(std::size_t i) const { return by_time.row(i); }
    const auto& time(std::size_t r) const { return time_value(parts::time_of(rows[r].value)); }
    bool timed(std::size_t i) const { return is_time(parts::time_of(rows[at(i)].value)); }
    bool begins_tie(std::size_t i) const { return i == begin || by_time.begins_tie(i); }
  };

  // From the first time to the last: the right row at or before each left row, of equal times the last one of its source.
  void look_back(const group& g, std::vector<std::size_t>& matches) const {
    const stop_point stop;
    std::size_t before = none;
    for (std::size_t i = g.begin, end = i; i < g.end; i = end) {
      std::size_t here = none;  // ~number falls from one right row to the next
      for (end = i; end == i || (end < g.end && !g.begins_tie(end)); ++end) {
        const std::size_t r = g.at(end);
        if (g.rows[r].index < 0 && (here == none || g.rows[r].index < g.rows[here].index)) here = r;
        if (end % rows_a_look == 0) stop.check();
      }
      if (!g.timed(i)) continue;
      const std::size_t candidate = options_.exact && here != none ? here : before;
      for (std::size_t j = i; candidate != none && j < end; ++j) {
        if (const std::size_t r = g.at(j); g.rows[r].index >= 0 && allowed(g, r, candidate)) matches[r] = candidate;
        if (j % rows_a_look == 0) stop.check();
      }
      if (here != none) before = here;
    }
  }
  // From the last time to the first: the right row at or after each left row, of equal times the first one of its source. One that was
  // found before stays where it is as near.
  void look_ahead(const group& g, std::vector<std::size_t>& matches) const {
    const stop_point stop;
    std::size_t after = none;
    for (std::size_t end = g.end, i = end; end > g.begin; end = i) {
      std::size_t here = none;
      do {
        const std::size_t r = g.at(--i);
        if (g.rows[r].index < 0 && (here == none || g.rows[r].index > g.rows[here].index)) here = r;
        if (i % rows_a_look == 0) stop.check();
      } while (!g.begins_tie(i));
      if (!g.timed(i)) continue;
      const std::size_t candidate = options_.exact && here != none ? here : after;
      for (std::size_t j = i; candidate != none && j < end; ++j) {
        if (j % rows_a_look == 0) stop.check();
        if (const std::size_t r = g.at(j); g.rows[r].index >= 0 && allowed(g, r, candidate)) {
          if (matches[r] == none || time_distance(g.time(r), g.time(candidate)) < time_distance(g.time(r), g.time(matches[r])))
            matches[r] = candidate;
        }
      }
      if (here != none) after = here;
    }
  }
  bool allowed(const group& g, std::size_t left, std::size_t right) const {
    return options_.tolerance.allows(time_distance(g.time(left), g.time(right)));
  }

  asof_options options_;
};

}  // namespace detail
}  // namespace query
