// count, sum, min, max and average over a chain of row-wise verbs, in 16 lanes where the chain may run branch-free.
//
// The order of additions depends on the block alone, so a sum does not depend on the number of threads. GCC's default
// -ftrapping-math keeps it from turning `if (m) acc += v` into a masked addition: the mask is applied to the bits instead.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>

#include <query/cpu/segment_loops.hpp>
#include <query/detail/stop.hpp>

namespace query::cpu {

// The numbers that these loops fold. A long double, which a fold's state has no room for, is an aggregate like any other.
template <class T> inline constexpr bool folds = std::is_arithmetic_v<T> && sizeof(T) <= 8;

template <class T> struct wide { using type = T; };
template <class T> requires std::is_integral_v<T> struct wide<T> {
  using type = std::conditional_t<std::is_unsigned_v<T> && !std::is_same_v<T, bool>, std::uint64_t, std::int64_t>;
};
template <> struct wide<float> { using type = double; };
template <class T> using wide_t = typename wide<T>::type;  // what sums are kept in
// What the sum behind a mean is kept in. That of 64-bit integers would wrap where their mean is an ordinary number (nanoseconds
// since 1970, eight of them): a double is exact up to 2^53 and rounds from there. Narrower ones add up exactly, 2^32 rows at least.
template <class T> using mean_sum_t = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, double, wide_t<T>>;

inline constexpr std::size_t lanes = 16;

template <class V> QUERY_INLINE inline V keep_if(bool alive, V v) {
  if constexpr (std::is_same_v<V, double>)
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(v) & (std::uint64_t{0} - std::uint64_t{alive}));
  else return static_cast<V>(v & (V{0} - static_cast<V>(alive)));
}

// Integer sums wrap instead of being undefined.
template <class W> QUERY_INLINE inline W plus(W a, W b) {
  if constexpr (std::is_same_v<W, std::int64_t>) return static_cast<W>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
  else return a + b;
}

template <class W> W load(const detail::fold_state& s) {
  W w;
  std::memcpy(&w, s.value, sizeof w);
  return w;
}
template <class W> void store(detail::fold_state& s, W w) { std::memcpy(s.value, &w, sizeof w); }

// W: what the sum is kept in, wide_t or mean_sum_t of the row.
template <class W, class Chain> void fold_sum(const Chain& c, const typename Chain::view& v, bool speculate, detail::fold_state& state) {
  W total = load<W>(state);
  std::uint64_t count = 0;
  if constexpr (Chain::maskable) {
    if (speculate || !Chain::filters) {
      W acc[lanes] = {};
      std::uint64_t alive[lanes] = {};
      std::size_t i = v.n - v.n % lanes;
      detail::in_runs<detail::quick_calls_a_look>(0, i, [&](std::size_t from, std::size_t to) QUERY_INLINE {
        for (; from < to; from += lanes)
          for (std::size_t l = 0; l < lanes; ++l)
            c.each(v, from + l, [&](auto&& x, std::uint64_t, bool m) QUERY_INLINE {
              acc[l] = plus<W>(acc[l], keep_if<W>(m, static_cast<W>(x)));
              if constexpr (Chain::filters) alive[l] += m;
            });
      });
      for (; i < v.n; ++i)
        c.each(v, i, [&](auto&& x, std::uint64_t, bool m) QUERY_INLINE {
          if (m) total = plus<W>(total, static_cast<W>(x));
          if constexpr (Chain::filters) count += m;
        });
      for (W x : acc) total = plus<W>(total, x);
      for (std::uint64_t x : alive) count += x;
      store(state, total);
      state.count += Chain::filters ? count : v.n;
      return;
    }
  }
  detail::in_runs(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
    c.scan(v, i, j, [&](auto&& x, std::uint64_t) QUERY_INLINE {
      total = plus<W>(total, static_cast<W>(x));
      ++count;
    });
  });
  store(state, total);
  state.count += count;
}

template <class Chain> void fold_count(const Chain& c, const typename Chain::view& v, bool speculate, detail::fold_state& state) {
  std::uint64_t count = 0;
  if constexpr (!Chain::filters) {
    count = v.n;
  } else {
    if constexpr (Chain::maskable) {
      if (speculate) {
        detail::in_runs<detail::quick_calls_a_look>(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
          for (; i < j; ++i) c.each(v, i, [&](auto&&, std::uint64_t, bool m) QUERY_INLINE { count += m; });
        });
        state.count += count;
        return;
      }
    }
    detail::in_runs(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
      c.scan(v, i, j, [&](auto&&, std::uint64_t) QUERY_INLINE { ++count; });
    });
  }
  state.count += count;
}

// NaNs are passed over. state.count and state.numbers tell an empty input and one of NaNs alone apart.
template <bool Max, class Chain>
void fold_extreme(const Chain& c, const typename Chain::view& v, bool speculate, detail::fold_state& state) {
  using T = typename Chain::row;
  constexpr T none = [] {
    using limits = std::numeric_limits<T>;
    if constexpr (std::is_floating_point_v<T>) return Max ? -limits::infinity() : limits::infinity();
    else return Max ? limits::lowest() : limits::max();
  }();
  const auto better = [](T a, T b) QUERY_INLINE { return Max ? a > b : a < b; };
  T best = state.numbers ? load<T>(state) : none;
  std::uint64_t count = 0, numbers = 0;
  if constexpr (Chain::maskable && !std::is_same_v<T, bool>) {
    if (speculate || !Chain::filters) {
      T acc[lanes];
      for (T& a : acc) a = none;
      std::uint64_t alive[lanes] = {}, real[lanes] = {};
      std::size_t i = v.n - v.n % lanes;
      const auto one = [&](std::size_t l, T x, bool m) QUERY_INLINE {
        const T y = m ? x : none;
        acc[l] = better(y, acc[l]) ? y : acc[l];
        alive[l] += m;
        if constexpr (std::is_floating_point_v<T>) real[l] += m & (x == x);
      };
      detail::in_runs<detail::quick_calls_a_look>(0, i, [&](std::size_t from, std::size_t to) QUERY_INLINE {
        for (; from < to; from += lanes)
          for (std::size_t l = 0; l < lanes; ++l)
            c.each(v, from + l, [&](auto&& x, std::uint64_t, bool m) QUERY_INLINE { one(l, static_cast<T>(x), m); });
      });
      for (; i < v.n; ++i) c.each(v, i, [&](auto&& x, std::uint64_t, bool m) QUERY_INLINE { one(0, static_cast<T>(x), m); });
      for (std::size_t l = 0; l < lanes; ++l) {
        if (better(acc[l], best)) best = acc[l];
        count += alive[l];
        numbers += std::is_floating_point_v<T> ? real[l] : alive[l];
      }
      store(state, best);
      state.count += count;
      state.numbers += numbers;
      return;
    }
  }
  detail::in_runs(0, v.n, [&](std::size_t i, std::size_t j) QUERY_INLINE {
    c.scan(v, i, j, [&](auto&& value, std::uint64_t) QUERY_INLINE {
      const T x = static_cast<T>(value);
      ++count;
      if (x == x) {
        ++numbers;
        if (better(x, best)) best = x;
      }
    });
  });
  store(state, best);
  state.count += count;
  state.numbers += numbers;
}

}  // namespace query::cpu
