// The aggregates that answer with a stated error: a sketch (query/sketches.hpp) is their state.
//
//   approx_quantile<F>{{}, f, 0.99}.step(state, row)
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <query/detail/aggregate_kinds.hpp>
#include <query/detail/counted_heap.hpp>
#include <query/sketches.hpp>

namespace query::agg {

// A state that no engine but the compiled code knows: it reads fields where they lie, as the user's own do.
template <class F> struct of_sketch : of_values<F> {
  static constexpr bool own_state = true;
};
// With what it has on the heap.
template <class Sketch> struct counted_sketch {
  Sketch sketch{};
  detail::counted_heap heap{};
};
// A text by its characters, without a copy of it; other values as they are kept.
template <class V, class X, class G> QUERY_INLINE inline void with_own_value(const X& x, G&& g) {
  if constexpr (detail::is_text<V> && std::is_convertible_v<const X&, std::string_view>) g(std::string_view(x));
  else if constexpr (std::is_same_v<V, X>) g(x);
  else g(static_cast<const V&>(V(x)));
}

template <class F> struct approx_count_distinct : of_sketch<F> {
  static constexpr const char* name = "approx_count_distinct";
  F f;
  using kept = counted_sketch<distinct_sketch>;
  template <class T> using state = kept;
  template <class T> QUERY_INLINE void step(kept& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE {
      with_own_value<value_in<F, T>>(v, [&](const auto& own) QUERY_INLINE { s.sketch.insert(own); });
    });
    s.heap.count(s.sketch.heap_bytes());
  }
  static void merge(kept& a, kept& b) {
    a.sketch.merge(b.sketch);
    a.heap.count(a.sketch.heap_bytes());
  }
  template <class T, class K> auto value(const K&, kept& s) const { return s.sketch.estimate(); }
};

inline double checked_share(double q) {
  if (q >= 0 && q <= 1) return q;
  throw detail::unplaced_error("g.approx_quantile(f, q): q must lie between 0 and 1: " + std::to_string(q));
}
template <class F> struct approx_quantile : of_sketch<F> {
  static constexpr const char* name = "approx_quantile";
  F f;
  double q = 0.5;
  template <class T> static constexpr bool needs_rows = !nullable<F, T>;
  using kept = counted_sketch<quantile_sketch>;
  template <class T> using state = kept;
  template <class T> QUERY_INLINE void step(kept& s, const T& t) const {
    with_value(f, t, [&](const auto& v) QUERY_INLINE { s.sketch.insert(static_cast<double>(v)); });
    s.heap.count(s.sketch.heap_bytes());
  }
  static void merge(kept& a, kept& b) {
    a.sketch.merge(b.sketch);
    a.heap.count(a.sketch.heap_bytes());
  }
  template <class T, class K> auto value(const K&, kept& s) const {
    const std::optional<double> v = s.sketch.quantile(q);
    if constexpr (nullable<F, T>) return v;
    else return v ? *v : std::numeric_limits<double>::quiet_NaN();
  }
};

template <class N> std::int64_t checked_k(N k) {
  if constexpr (std::is_signed_v<N>)
    if (k < 0) throw detail::unplaced_error("g.top_k_frequent(f, k): k must not be negative: " + std::to_string(k));
  constexpr std::int64_t most = std::int64_t{1} << 26;  // counts and places of twice ten times as many are 32 bits wide
  return static_cast<std::uint64_t>(k) < static_cast<std::uint64_t>(most) ? static_cast<std::int64_t>(k) : most;
}
template <class F> struct top_k_frequent : of_sketch<F> {
  static constexpr const char* name = "top_k_frequent";
  F f;
  std::int64_t k = 1;
  template <class T> using state = counted_sketch<std::optional<frequency_sketch<value_in<F, T>>>>;  // none until the first value
  template <class S, class T> void step(S& s, const T& t) const {
    with_value(f, t, [&](const auto& v) {
      if (!s.sketch) s.sketch.emplace(capacity());
      with_own_value<value_in<F, T>>(v, [&](const auto& own) { s.sketch->insert(own); });
      s.heap.count(s.sketch->heap_bytes());
    });
  }
  template <class S> static void merge(S& a, S& b) {
    if (!a.sketch) a = std::move(b);
    else if (b.sketch) a.sketch->merge(*b.sketch);
    if (a.sketch) a.heap.count(a.sketch->heap_bytes());
  }
  template <class T, class K, class S> auto value(const K&, S& s) const {
    using counts = typename frequency_sketch<value_in<F, T>>::counts;
    return s.sketch ? s.sketch->top(static_cast<std::size_t>(k)) : counts();
  }

 private:
  std::size_t capacity() const {
    const auto ten_times = static_cast<std::size_t>(k) * 10;
    return ten_times > frequency_sketch<int>::default_capacity ? ten_times : frequency_sketch<int>::default_capacity;
  }
};

}  // namespace query::agg
