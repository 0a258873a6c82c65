// order, order_descending, take behind them, of rows that are their own keys: numbers of every kind, alone or alone in a record. Equal
// keys are not equal rows where -0.0 and NaNs are.
#include <bit>
#include <limits>
#include <random>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

enum class level : std::uint8_t { low, middle, high };

struct boxed {
  double value;
};
QUERY_RECORD(boxed, value);
struct whole_box {
  std::int64_t value;
};
QUERY_RECORD(whole_box, value);
struct twice_boxed {
  boxed inner;
};
QUERY_RECORD(twice_boxed, inner);
struct box_of_array {
  std::array<double, 1> values;
};
QUERY_RECORD(box_of_array, values);

// Of no rows, few, a tile of the GPU's sorts and several; wide apart, few values often, one value.
constexpr std::size_t sizes[] = {0, 1, 2, 33, 7680, 70'001};
constexpr std::uint64_t spreads[] = {~0ull, 0x300, 0};

template <class T> std::vector<T> numbers(std::size_t n, std::uint64_t spread) {
  std::mt19937_64 random(n + spread);
  std::vector<T> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random() & spread;
    if constexpr (std::is_same_v<T, bool>)
      rows[i] = bits >> (spread >> 1 ? 9 : 0) & 1;
    else if constexpr (std::is_same_v<T, level>)
      rows[i] = static_cast<level>(bits % 3);
    else if constexpr (std::is_floating_point_v<T>)
      rows[i] = static_cast<T>(static_cast<double>(bits) / 64 - 5.25);
    else
      rows[i] = static_cast<T>(bits);
  }
  return rows;
}

template <class T> std::vector<T> in_order(const std::vector<T>& rows, bool descending) {
  using key = std::conditional_t<std::is_floating_point_v<T>, double, T>;  // NaNs are larger than all numbers
  std::vector<T> r = rows;
  std::stable_sort(r.begin(), r.end(),
                   [&](const T& a, const T& b) { return before(static_cast<key>(a), static_cast<key>(b), descending, false); });
  return r;
}

template <class T> void check(const engine_config& e, const std::vector<T>& rows) {
  const std::vector<T> up = in_order(rows, false), down = in_order(rows, true);
  EXPECT_ROWS(source(e, rows).order().to_vector(), up);
  EXPECT_ROWS(source(e, rows).order_by_descending([](auto x) { return x; }).to_vector(), down);
  for (const std::size_t n : {std::size_t{1}, rows.size() / 2, rows.size()}) {
    const auto end = static_cast<std::ptrdiff_t>(std::min(n, rows.size()));
    EXPECT_ROWS(source(e, rows).order().take(n).to_vector(), std::vector<T>(up.begin(), up.begin() + end));
    EXPECT_ROWS(source(e, rows).order_descending().take(n).to_vector(), std::vector<T>(down.begin(), down.begin() + end));
  }
}
template <class T> void check_kind(const engine_config& e, const char* what) {
  SCOPED_TRACE(what);
  for (const std::size_t n : sizes) {
    for (const std::uint64_t spread : spreads) {
      SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(spread));
      check(e, numbers<T>(n, spread));
    }
  }
}

CONFORMS(ordering, whole_numbers_that_are_rows, "order", "order_descending", "take") {
  check_kind<std::int8_t>(e, "int8");
  check_kind<std::uint8_t>(e, "uint8");
  check_kind<std::int16_t>(e, "int16");
  check_kind<std::uint16_t>(e, "uint16");
  check_kind<std::int32_t>(e, "int32");
  check_kind<std::uint32_t>(e, "uint32");
}
CONFORMS(ordering, wide_whole_numbers_and_others_that_are_rows, "order", "order_descending", "take") {
  check_kind<std::int64_t>(e, "int64");
  check_kind<std::uint64_t>(e, "uint64");
  check_kind<bool>(e, "bool");
  check_kind<char>(e, "char");
  check_kind<level>(e, "enum");
}

// Rows are compared bit by bit: what a NaN carries stays.
template <class T, class Bits> void check_floating(const engine_config& e, const char* what, Bits) {
  SCOPED_TRACE(what);
  const auto bits_of = [](const std::vector<T>& v) {
    std::vector<Bits> all;
    for (const T x : v) all.push_back(std::bit_cast<Bits>(x));
    return all;
  };
  const auto limits = std::numeric_limits<T>();
  const T nan = limits.quiet_NaN(), infinite = limits.infinity();
  for (const std::size_t n : sizes) {
    for (const std::uint64_t spread : spreads) {
      SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(spread));
      std::vector<T> rows = numbers<T>(n, spread & 0xffff'ffffull);
      check(e, rows);
      if (n < 2) continue;
      rows[n / 2] = infinite;
      rows[n / 3] = -infinite;
      rows[n / 4] = limits.denorm_min();
      rows[n - 1] = T(0);
      check(e, rows);
      rows[0] = T(-0.0);  // equal to another row, and not the same
      check(e, rows);
      if (n < 30) continue;
      rows[n / 2 + 1] = T(0);
      rows[n / 2 + 2] = T(-0.0);
      rows[n - 2] = nan;
      rows[n / 5] = std::bit_cast<T>(static_cast<Bits>(std::bit_cast<Bits>(nan) + 5));
      rows[n / 6] = -nan;
      EXPECT_EQ(bits_of(source(e, rows).order().to_vector()), bits_of(in_order(rows, false)));
      EXPECT_EQ(bits_of(source(e, rows).order_descending().to_vector()), bits_of(in_order(rows, true)));
      std::vector<T> first = in_order(rows, true);
      first.resize(10);
      EXPECT_EQ(bits_of(source(e, rows).order_descending().take(10).to_vector()), bits_of(first));
    }
  }
}
CONFORMS(ordering, floats_that_are_rows, "order", "order_descending", "take") { check_floating<float>(e, "float", std::uint32_t{}); }
CONFORMS(ordering, doubles_that_are_rows, "order", "order_descending", "take") { check_floating<double>(e, "double", std::uint64_t{}); }

CONFORMS(ordering, records_of_one_number, "order_by", "order_by_descending", "take") {
  for (const bool zeros : {false, true}) {
    std::vector<boxed> rows;
    std::vector<twice_boxed> twice;
    std::vector<box_of_array> arrays;
    std::vector<whole_box> whole;
    for (const double x : numbers<double>(20'000, 0x3ff)) {
      rows.push_back({zeros && x == 0 && rows.size() % 2 ? -0.0 : x});
      twice.push_back({rows.back()});
      arrays.push_back({{rows.back().value}});
      whole.push_back({static_cast<std::int64_t>(x * 4)});
    }
    const auto less = [](const auto& a, const auto& b) { return a.value < b.value; };
    auto up = rows, down = rows;
    std::stable_sort(up.begin(), up.end(), less);
    std::stable_sort(down.begin(), down.end(), [&](const auto& a, const auto& b) { return less(b, a); });
    EXPECT_ROWS(source(e, rows).order_by([](auto r) { return r.value; }).to_vector(), up);
    EXPECT_ROWS(source(e, rows).order_by_descending([](auto r) { return r; }).to_vector(), down);
    // Another number than the row's decides, or one more.
    std::stable_sort(down.begin(), down.end(), [](const auto& a, const auto& b) { return -a.value < -b.value; });
    EXPECT_ROWS(source(e, rows).order_by([](auto r) { return -r.value; }).to_vector(), down);
    EXPECT_ROWS(source(e, rows).order_by([](auto r) { return r.value; }).then_by_descending([](auto r) { return r.value; }).to_vector(),
                up);
    std::vector<twice_boxed> wanted;
    for (const auto& r : up) wanted.push_back({r});
    EXPECT_ROWS(source(e, twice).order_by([](auto r) { return r.inner.value; }).to_vector(), wanted);
    std::vector<box_of_array> wanted_arrays;
    for (const auto& r : up) wanted_arrays.push_back({{r.value}});
    EXPECT_ROWS(source(e, arrays).order_by([](auto r) { return r.values; }).to_vector(), wanted_arrays);
    std::stable_sort(whole.begin(), whole.end(), less);
    EXPECT_ROWS(source(e, whole).order_by([](auto r) { return r.value; }).take(300).to_vector(),
                std::vector<whole_box>(whole.begin(), whole.begin() + 300));
  }
}

// Where row-wise work comes before, and a verb behind.
CONFORMS(ordering, numbers_that_a_query_makes, "order", "select", "where") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<double> prices;
    for (const tick& t : d.rows)
      if (t.amount > 0) prices.push_back(t.price);
    const auto q = source(e, d.rows).where([](auto t) { return t.amount > 0; }).select([](auto t) { return t.price; }).order();
    EXPECT_ROWS(q.to_vector(), in_order(prices, false));
    EXPECT_ROWS(q.reverse().take(7).to_vector(), [&] {
      auto r = in_order(prices, false);
      std::reverse(r.begin(), r.end());
      r.resize(std::min<std::size_t>(r.size(), 7));
      return r;
    }());
  }
}

}  // namespace
}  // namespace conformance
