// The loops behind number_kernels.hpp, for files that are compiled for one processor each. All of it has internal linkage: the linker
// would keep one copy of a shared function, whichever processor it is for.
//
// Sums, means, least and greatest values follow query/cpu/fold_loops.hpp step by step: 16 lanes, rows behind the last full run of lanes,
// then the lanes in order. So kernels and compiled loops give the same bits.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include <cstring>
#include <limits>
#include <type_traits>

#include "cpu_engine/number_kernels.hpp"

namespace query::cpu {
namespace {

#define QUERY_KERNEL_INLINE __attribute__((always_inline)) inline
#if defined(__clang__)
#define QUERY_KERNEL_UNROLLED _Pragma("clang loop unroll(full)")
#else
#define QUERY_KERNEL_UNROLLED _Pragma("GCC unroll 16")
#endif

constexpr std::size_t fold_lane_count = 16;

template <std::size_t Bytes> struct word_of;
template <> struct word_of<1> { using type = std::uint8_t; };
template <> struct word_of<2> { using type = std::uint16_t; };
template <> struct word_of<4> { using type = std::uint32_t; };
template <> struct word_of<8> { using type = std::uint64_t; };
template <class T> using word = typename word_of<sizeof(T)>::type;

#if defined(__AVX2__)
constexpr std::size_t vector_bytes = 32;
#else
constexpr std::size_t vector_bytes = 16;
#endif
template <class T, std::size_t N> using vector_of __attribute__((vector_size(N * sizeof(T)))) = T;

// N marks, each as wide as a number.
template <class Word, std::size_t N> QUERY_KERNEL_INLINE void widen(const std::uint8_t* marks, vector_of<Word, N>& to) {
#if defined(__AVX2__)
  if constexpr (sizeof(Word) == 8 && N == 4) {
    std::int32_t m;
    std::memcpy(&m, marks, sizeof m);
    const __m256i wide = _mm256_cvtepi8_epi64(_mm_cvtsi32_si128(m));
    std::memcpy(&to, &wide, sizeof to);
    return;
  } else if constexpr (sizeof(Word) == 4 && N == 8) {
    std::int64_t m;
    std::memcpy(&m, marks, sizeof m);
    const __m256i wide = _mm256_cvtepi8_epi32(_mm_cvtsi64_si128(m));
    std::memcpy(&to, &wide, sizeof to);
    return;
  } else if constexpr (sizeof(Word) == 2 && N == 16) {
    const __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(marks)));
    std::memcpy(&to, &wide, sizeof to);
    return;
  }
#elif defined(__SSE2__)
  // A mark repeated is a wider one.
  if constexpr (sizeof(Word) > 1 && N * sizeof(Word) == 16) {
    std::uint64_t m = 0;
    std::memcpy(&m, marks, N);
    __m128i wide = _mm_cvtsi64_si128(static_cast<std::int64_t>(m));
    wide = _mm_unpacklo_epi8(wide, wide);
    if constexpr (sizeof(Word) > 2) wide = _mm_unpacklo_epi16(wide, wide);
    if constexpr (sizeof(Word) > 4) wide = _mm_unpacklo_epi32(wide, wide);
    std::memcpy(&to, &wide, sizeof to);
    return;
  }
#endif
  if constexpr (sizeof(Word) == 1) std::memcpy(&to, marks, sizeof to);
  else
    for (std::size_t l = 0; l < N; ++l) to[l] = marks[l] ? ~Word{0} : Word{0};
}

// A run of a column takes turns with runs of others, which hides the column from the processor's own prefetching: while one run is read,
// the column's next one is fetched.
template <class T, std::size_t N> QUERY_KERNEL_INLINE void fetch_next_run(const T* now) {
  const char* const next = reinterpret_cast<const char*>(reinterpret_cast<std::uintptr_t>(now) + fold_run_rows * sizeof(T));
  for (std::size_t b = 0; b < N * sizeof(T); b += 64) __builtin_prefetch(next + b);
}

// ---------------------------------------------------------------- comparisons
template <ir::op What, class T> QUERY_KERNEL_INLINE bool holds(T a, T b) {
  using ir::op;
  if constexpr (What == op::lt) return a < b;
  else if constexpr (What == op::le) return a <= b;
  else if constexpr (What == op::gt) return a > b;
  else if constexpr (What == op::ge) return a >= b;
  else if constexpr (What == op::eq) return a == b;
  else return a != b;
}

template <ir::op What, class T, bool Constant> void compare(const void* a, const void* b, std::size_t n, std::uint8_t* mask) {
  const T* __restrict x = static_cast<const T*>(a);
  const T* __restrict y = static_cast<const T*>(b);
  std::uint8_t* __restrict m = mask;
  constexpr std::size_t block = 64;
  const T c = *y;
  std::size_t i = 0;
  for (; i + block <= n; i += block) {
    fetch_next_run<T, block>(x + i);
    if constexpr (!Constant) fetch_next_run<T, block>(y + i);
    for (std::size_t j = i; j < i + block; ++j) m[j] = holds<What>(x[j], Constant ? c : y[j]) ? 0xFF : 0;
  }
  for (; i < n; ++i) m[i] = holds<What>(x[i], Constant ? c : y[i]) ? 0xFF : 0;
}

// ---------------------------------------------------------------- conversions
template <class From, class To> void convert(const void* from, std::size_t n, void* to) {
  const From* __restrict x = static_cast<const From*>(from);
  To* __restrict t = static_cast<To*>(to);
  for (std::size_t i = 0; i < n; ++i) t[i] = static_cast<To>(x[i]);
}

// ---------------------------------------------------------------- sums
// What sums of T are kept in: cpu::wide_t and cpu::mean_sum_t. Unsigned words stand for signed ones, which wrap.
template <class T> using sum_word = std::conditional_t<std::is_floating_point_v<T>, double, std::uint64_t>;
template <class T> using mean_word = std::conditional_t<std::is_integral_v<T> && sizeof(T) == 8, double, sum_word<T>>;

template <class T, class W> QUERY_KERNEL_INLINE W summand(T x) {
  if constexpr (std::is_same_v<W, std::uint64_t> && std::is_signed_v<T>) return static_cast<W>(static_cast<std::int64_t>(x));
  else return static_cast<W>(x);
}

template <class W> void begin_sum(fold_lanes& l, const detail::fold_state& s) {
  std::memset(l.lanes, 0, sizeof l.lanes);
  std::memcpy(l.tail, s.value, sizeof l.tail);
}
template <class T, class W, bool Masked>
QUERY_KERNEL_INLINE void add_sum(fold_lanes& to, const void* values, const std::uint8_t* m, std::size_t n) {
  const T* x = static_cast<const T*>(values);
  constexpr std::size_t width = vector_bytes / sizeof(W);
  using vector = vector_of<W, width>;
  using words = vector_of<std::uint64_t, width>;
  vector acc[fold_lane_count / width];
  std::memcpy(acc, to.lanes, sizeof acc);
  const std::size_t whole = n - n % fold_lane_count;
  for (std::size_t i = 0; i < whole; i += fold_lane_count) {
    fetch_next_run<T, fold_lane_count>(x + i);
    QUERY_KERNEL_UNROLLED for (std::size_t v = 0; v < fold_lane_count / width; ++v) {
      const T* const from = x + i + v * width;
      vector added;
      if constexpr (width == 4)
        added = vector{summand<T, W>(from[0]), summand<T, W>(from[1]), summand<T, W>(from[2]), summand<T, W>(from[3])};
      else added = vector{summand<T, W>(from[0]), summand<T, W>(from[1])};
      if constexpr (Masked) {
        words marked;
        widen<std::uint64_t, width>(m + i + v * width, marked);
        added = reinterpret_cast<vector>(reinterpret_cast<words>(added) & marked);
      }
      acc[v] += added;
    }
  }
  std::memcpy(to.lanes, acc, sizeof acc);
  if (whole == n) return;
  W tail;
  std::memcpy(&tail, to.tail, sizeof tail);
  for (std::size_t i = whole; i < n; ++i)
    if (!Masked || m[i]) tail += summand<T, W>(x[i]);
  std::memcpy(to.tail, &tail, sizeof tail);
}
template <class T, class W> void sum(fold_lanes& to, const void* values, const std::uint8_t* mask, std::size_t n) {
  if (mask) add_sum<T, W, true>(to, values, mask, n);
  else add_sum<T, W, false>(to, values, mask, n);
}
template <class W> void end_sum(const fold_lanes& l, std::uint64_t rows, detail::fold_state& s) {
  W acc[fold_lane_count], total;
  std::memcpy(acc, l.lanes, sizeof acc);
  std::memcpy(&total, l.tail, sizeof total);
  for (const W a : acc) total += a;
  std::memcpy(s.value, &total, sizeof total);
  s.count += rows;
}

// ---------------------------------------------------------------- least and greatest
template <bool Max, class T> constexpr T worst() {
  using limits = std::numeric_limits<T>;
  if constexpr (std::is_floating_point_v<T>) return Max ? -limits::infinity() : limits::infinity();
  else return Max ? limits::lowest() : limits::max();
}
template <bool Max, class T> QUERY_KERNEL_INLINE T better(T x, T best) {
  if constexpr (Max) return x > best ? x : best;
  else return x < best ? x : best;
}

template <bool Max, class T> void begin_extreme(fold_lanes& l, const detail::fold_state&) {
  T best[fold_lane_count];
  for (T& b : best) b = worst<Max, T>();
  std::memcpy(l.lanes, best, sizeof best);
  l.numbers = 0;
}
template <bool Max, class T, bool Masked>
QUERY_KERNEL_INLINE void add_extreme(fold_lanes& to, const void* values, const std::uint8_t* m, std::size_t n) {
  const T* x = static_cast<const T*>(values);
  constexpr std::size_t width = vector_bytes / sizeof(T) < fold_lane_count ? vector_bytes / sizeof(T) : fold_lane_count;
  using vector = vector_of<T, width>;
  using words = vector_of<word<T>, width>;
  constexpr bool floats = std::is_floating_point_v<T>;
  constexpr T none = worst<Max, T>();
  vector best[fold_lane_count / width];
  words numbers[fold_lane_count / width] = {};  // of at most number_rows / 16 rows each; of floating-point numbers only
  std::memcpy(best, to.lanes, sizeof best);
  const std::size_t whole = n - n % fold_lane_count;
  for (std::size_t i = 0; i < whole; i += fold_lane_count) {
    fetch_next_run<T, fold_lane_count>(x + i);
    QUERY_KERNEL_UNROLLED for (std::size_t v = 0; v < fold_lane_count / width; ++v) {
      vector now;
      std::memcpy(&now, x + i + v * width, sizeof now);
      words marked = ~words{};
      if constexpr (Masked) {
        widen<word<T>, width>(m + i + v * width, marked);
        now = reinterpret_cast<vector>((reinterpret_cast<words>(now) & marked) | (reinterpret_cast<words>(vector{} + none) & ~marked));
      }
      if constexpr (floats) numbers[v] -= reinterpret_cast<words>(now == now) & marked;
      const words beats = Max ? reinterpret_cast<words>(now > best[v]) : reinterpret_cast<words>(now < best[v]);
      best[v] = reinterpret_cast<vector>((reinterpret_cast<words>(now) & beats) | (reinterpret_cast<words>(best[v]) & ~beats));
    }
  }
  std::memcpy(to.lanes, best, sizeof best);
  if constexpr (floats)
    for (const words& k : numbers)
      for (std::size_t l = 0; l < width; ++l) to.numbers += k[l];
  // The rows behind are the first lane's.
  T first;
  std::memcpy(&first, to.lanes, sizeof first);
  for (std::size_t i = whole; i < n; ++i) {
    if (Masked && !m[i]) continue;
    to.numbers += x[i] == x[i];
    first = better<Max>(x[i], first);
  }
  std::memcpy(to.lanes, &first, sizeof first);
}
template <bool Max, class T> void extreme(fold_lanes& to, const void* values, const std::uint8_t* mask, std::size_t n) {
  if (mask) add_extreme<Max, T, true>(to, values, mask, n);
  else add_extreme<Max, T, false>(to, values, mask, n);
}
template <bool Max, class T> void end_extreme(const fold_lanes& l, std::uint64_t rows, detail::fold_state& s) {
  T all[fold_lane_count], best = worst<Max, T>();
  std::memcpy(all, l.lanes, sizeof all);
  if (s.numbers) std::memcpy(&best, s.value, sizeof best);
  for (const T x : all) best = better<Max>(x, best);
  std::memcpy(s.value, &best, sizeof best);
  s.count += rows;
  s.numbers += std::is_floating_point_v<T> ? l.numbers : rows;
}

// ---------------------------------------------------------------- masks
inline void negate_mask(std::uint8_t* mask, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) mask[i] = static_cast<std::uint8_t>(~mask[i]);
}
inline void both_masks(std::uint8_t* mask, const std::uint8_t* other, std::size_t n) {
  std::uint8_t* __restrict m = mask;
  const std::uint8_t* __restrict o = other;
  for (std::size_t i = 0; i < n; ++i) m[i] &= o[i];
}
inline void either_mask(std::uint8_t* mask, const std::uint8_t* other, std::size_t n) {
  std::uint8_t* __restrict m = mask;
  const std::uint8_t* __restrict o = other;
  for (std::size_t i = 0; i < n; ++i) m[i] |= o[i];
}
// Bytes of a word count the marks of every eighth row, of at most 255 words.
inline std::size_t count_marks(const std::uint8_t* mask, std::size_t n) {
  std::size_t count = 0, i = 0;
  while (i + 8 <= n) {
    const std::size_t end = n - i < 255 * 8 ? n - n % 8 : i + 255 * 8;
    std::uint64_t bytes = 0;
    for (; i < end; i += 8) {
      std::uint64_t w;
      std::memcpy(&w, mask + i, sizeof w);
      bytes += w & 0x0101010101010101u;
    }
    for (int b = 0; b < 64; b += 8) count += bytes >> b & 0xFF;
  }
  for (; i < n; ++i) count += mask[i] & 1;
  return count;
}
// Eight rows at a time: the places of the marks among them, by their pattern.
struct places_of_marks {
  std::uint8_t places[256][8] = {};
  std::uint8_t counts[256] = {};
  constexpr places_of_marks() {
    for (unsigned p = 0; p < 256; ++p)
      for (unsigned b = 0; b < 8; ++b)
        if (p >> b & 1) places[p][counts[p]++] = static_cast<std::uint8_t>(b);
  }
};
constexpr places_of_marks marks_of;
inline std::size_t select_marks(const std::uint8_t* mask, std::size_t n, std::uint32_t* to) {
  std::size_t k = 0, i = 0;
  for (; i + 8 <= n; i += 8) {
    std::uint64_t w;
    std::memcpy(&w, mask + i, sizeof w);
    // One bit of each byte, side by side.
    const std::size_t pattern = static_cast<std::size_t>((w & 0x0101010101010101u) * 0x0102040810204080u >> 56);
    std::uint8_t places[8];
    std::memcpy(places, marks_of.places[pattern], sizeof places);
    for (std::size_t b = 0; b < 8; ++b) to[k + b] = static_cast<std::uint32_t>(i) + places[b];
    k += marks_of.counts[pattern];
  }
  for (; i < n; ++i) {
    to[k] = static_cast<std::uint32_t>(i);
    k += mask[i] & 1;
  }
  return k;
}

// ---------------------------------------------------------------- tables
template <std::size_t I> struct number_type;
template <> struct number_type<0> { using type = std::uint8_t; };  // bool
template <> struct number_type<1> { using type = std::int8_t; };
template <> struct number_type<2> { using type = std::int16_t; };
template <> struct number_type<3> { using type = std::int32_t; };
template <> struct number_type<4> { using type = std::int64_t; };
template <> struct number_type<5> { using type = std::uint8_t; };
template <> struct number_type<6> { using type = std::uint16_t; };
template <> struct number_type<7> { using type = std::uint32_t; };
template <> struct number_type<8> { using type = std::uint64_t; };
template <> struct number_type<9> { using type = float; };
template <> struct number_type<10> { using type = double; };

template <ir::op What, bool Constant, std::size_t... I>
constexpr std::array<number_kernels::compare_loop, number_kinds> compare_loops(std::index_sequence<I...>) {
  return {compare<What, typename number_type<I>::type, Constant>...};
}
template <bool Constant> constexpr std::array<std::array<number_kernels::compare_loop, number_kinds>, 6> all_comparisons() {
  constexpr std::make_index_sequence<number_kinds> kinds;
  using ir::op;
  return {compare_loops<op::lt, Constant>(kinds), compare_loops<op::le, Constant>(kinds), compare_loops<op::gt, Constant>(kinds),
          compare_loops<op::ge, Constant>(kinds), compare_loops<op::eq, Constant>(kinds), compare_loops<op::ne, Constant>(kinds)};
}

template <class From, std::size_t To> constexpr number_kernels::convert_loop convert_loop_of() {
  using to = typename number_type<To>::type;
  constexpr bool floats = std::is_floating_point_v<From>;
  if constexpr (floats ? std::is_same_v<From, float> && std::is_same_v<to, double> : sizeof(to) >= 4) return convert<From, to>;
  else return nullptr;
}
template <std::size_t From, std::size_t... To>
constexpr std::array<number_kernels::convert_loop, number_kinds> convert_loops(std::index_sequence<To...>) {
  return {convert_loop_of<typename number_type<From>::type, To>()...};
}

template <std::size_t... I> constexpr number_kernels all_loops(std::index_sequence<I...> kinds) {
  number_kernels k{};
  k.constants = all_comparisons<true>();
  k.columns = all_comparisons<false>();
  k.conversions = {convert_loops<I>(kinds)...};
  const auto sum_of = []<class T, class W>(T, W) { return fold_loop{begin_sum<W>, sum<T, W>, end_sum<W>}; };
  k.sums = {sum_of(typename number_type<I>::type{}, sum_word<typename number_type<I>::type>{})...};
  k.means = {sum_of(typename number_type<I>::type{}, mean_word<typename number_type<I>::type>{})...};
  const auto best_of = []<bool Max, class T>(std::bool_constant<Max>, T) {
    return fold_loop{begin_extreme<Max, T>, extreme<Max, T>, end_extreme<Max, T>};
  };
  k.least = {best_of(std::false_type{}, typename number_type<I>::type{})...};
  k.greatest = {best_of(std::true_type{}, typename number_type<I>::type{})...};
  k.negate = negate_mask;
  k.both = both_masks;
  k.either = either_mask;
  k.count = count_marks;
  k.select = select_marks;
  return k;
}
constexpr number_kernels number_loops() { return all_loops(std::make_index_sequence<number_kinds>{}); }

#undef QUERY_KERNEL_UNROLLED
#undef QUERY_KERNEL_INLINE

}  // namespace
}  // namespace query::cpu
