#include "cpu_engine/sort_rows.hpp"

#include <gtest/gtest.h>

#include <array>
#include <compare>
#include <numeric>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_cases.hpp"
#include "runtime/thread_pool.hpp"

namespace query::cpu {
namespace {

using namespace cases;

// The order as the documentation words it, written without the library: -1, 0, 1.
template <class T>
int expected_order(const T& a, const T& b, bool descending, bool nulls_first) {
  const auto three_way = [&](const auto& x, const auto& y) { return (x < y ? -1 : y < x ? 1 : 0) * (descending ? -1 : 1); };
  const auto part = [&](const auto& x, const auto& y) { return expected_order(x, y, descending, nulls_first); };
  if constexpr (std::is_floating_point_v<T>) {
    if ((a != a) || (b != b)) return three_way(a != a, b != b);
    return three_way(a, b);
  } else if constexpr (ir::is_optional_v<T>) {
    if (a && b) return part(*a, *b);
    return (a.has_value() == b.has_value()) ? 0 : (!a == nulls_first ? -1 : 1);
  } else if constexpr (ir::is_list_v<T> || ir::is_array_v<T>) {
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
      if (const int c = part(a[i], b[i])) return c;
    return three_way(a.size(), b.size());
  } else if constexpr (std::is_same_v<T, point>) {
    const int c = part(a.x, b.x);
    return c != 0 ? c : part(a.y, b.y);
  } else if constexpr (std::is_same_v<T, person>) {
    if (const int c = part(a.name, b.name)) return c;
    if (const int c = part(a.age, b.age)) return c;
    return part(a.known, b.known);
  } else if constexpr (ir::is_tuple_v<T>) {
    int c = 0;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      ((c = c != 0 ? c : part(std::get<I>(a), std::get<I>(b))), ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
    return c;
  } else {
    return three_way(a, b);
  }
}

std::vector<std::size_t> ids(const permutation& p) {
  std::vector<std::size_t> out(p.size());
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = p[i];
  return out;
}

template <class T>
sort_key key_of(const std::vector<T>& column, bool descending = false, bool nulls_first = false) {
  return {.type = ir::describe<T>(), .base = column.data(), .stride = sizeof(T), .descending = descending, .nulls_first = nulls_first};
}

template <class T>
class sort_rows_of : public testing::Test {};
using key_types = testing::Types<bool, std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint32_t, std::uint64_t,
                                 float, double, colour, std::string, std::optional<double>, std::optional<std::string>, point, person,
                                 std::array<std::int16_t, 3>, std::tuple<std::uint8_t, std::optional<float>, std::int64_t>,
                                 std::tuple<std::int64_t, std::int64_t, double>, std::vector<std::int32_t>>;
TYPED_TEST_SUITE(sort_rows_of, key_types);

TYPED_TEST(sort_rows_of, is_stable_and_independent_of_the_threads) {
  using T = TypeParam;
  const std::uint64_t seed = 20240601;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  runtime::buffer_pool pool;
  const runtime::cancel_flag cancel;
  const auto columns = [&] {
    if constexpr (std::is_same_v<T, bool>) {
      std::vector<std::vector<std::array<bool, 1>>> boxed;  // vector<bool> has no addresses
      for (const auto& column : key_columns<T>(seed)) {
        boxed.emplace_back();
        for (const bool b : column) boxed.back().push_back({b});
      }
      return boxed;
    } else {
      return key_columns<T>(seed);
    }
  }();
  for (const auto& column : columns)
    for (const bool descending : {false, true})
      for (const bool nulls_first : {false, true}) {
        if (nulls_first && column.size() > 5000) continue;
        std::vector<std::size_t> expected(column.size());
        std::iota(expected.begin(), expected.end(), std::size_t{0});
        std::stable_sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) {
          return expected_order(column[a], column[b], descending, nulls_first) < 0;
        });
        const sort_key key = key_of(column, descending, nulls_first);
        for (const int threads : {1, 2, 8}) {
          runtime::thread_pool scheduler(threads);
          ASSERT_EQ(ids(sort_rows({&key, 1}, column.size(), scheduler, pool, cancel)), expected)
              << column.size() << " rows, threads " << threads << ", descending " << descending << ", nulls first " << nulls_first;
          for (const std::size_t k : {std::size_t{1}, std::size_t{10}, std::size_t{1000}, column.size() + 5}) {
            std::vector<std::size_t> first(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(std::min(k, expected.size())));
            ASSERT_EQ(ids(top_k({&key, 1}, column.size(), k, scheduler, pool, cancel)), first) << "top " << k << " of " << column.size();
          }
        }
      }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(sort_rows, takes_several_keys_each_with_its_direction) {
  runtime::buffer_pool pool;
  const runtime::cancel_flag cancel;
  runtime::thread_pool scheduler(2);
  generator g(7);
  const std::size_t n = 50000;
  std::vector<std::int32_t> a(n);
  std::vector<std::string> b(n);
  std::vector<std::optional<double>> c(n);
  for (std::size_t i = 0; i < n; ++i) {
    a[i] = value<std::int32_t>(g, 20);
    b[i] = value<std::string>(g, 20);
    c[i] = value<std::optional<double>>(g, 20);
  }
  const sort_key keys[] = {key_of(a, true), key_of(b), key_of(c, true, true)};
  std::vector<std::size_t> expected(n);
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  std::stable_sort(expected.begin(), expected.end(), [&](std::size_t x, std::size_t y) {
    if (const int o = expected_order(a[x], a[y], true, false)) return o < 0;
    if (const int o = expected_order(b[x], b[y], false, false)) return o < 0;
    return expected_order(c[x], c[y], true, true) < 0;
  });
  EXPECT_EQ(ids(sort_rows(keys, n, scheduler, pool, cancel)), expected);
}

TEST(sort_rows, reads_a_field_of_records_by_its_stride) {
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  const std::vector<point> rows = {{3, 1.0}, {1, 3.0}, {2, 2.0}};
  const sort_key key{.type = ir::describe<double>(), .base = &rows[0].y, .stride = sizeof(point)};
  EXPECT_EQ(ids(sort_rows({&key, 1}, rows.size(), scheduler, pool, {})), (std::vector<std::size_t>{0, 2, 1}));
}

TEST(sort_rows, keeps_the_order_without_keys) {
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  EXPECT_EQ(ids(sort_rows({}, 3, scheduler, pool, {})), (std::vector<std::size_t>{0, 1, 2}));
}

struct opaque_number {
  int value = 0;
  opaque_number(int v) : value(v) {}
};

TEST(sort_rows, needs_a_comparison_for_opaque_types_and_takes_one) {
  runtime::buffer_pool pool;
  runtime::thread_pool scheduler(2);
  const runtime::cancel_flag cancel;
  generator g(3);
  std::vector<opaque_number> column;
  for (int i = 0; i < 100000; ++i) column.emplace_back(static_cast<int>(g() % 1000));
  sort_key key{.type = ir::describe<opaque_number>(), .base = column.data(), .stride = sizeof(opaque_number), .descending = true};
  EXPECT_THROW(sort_rows({&key, 1}, column.size(), scheduler, pool, cancel), user_error);
  key.custom.compare = [](const void*, const void* a, const void* b) {
    return static_cast<const opaque_number*>(a)->value - static_cast<const opaque_number*>(b)->value;
  };
  std::vector<std::size_t> expected(column.size());
  std::iota(expected.begin(), expected.end(), std::size_t{0});
  std::stable_sort(expected.begin(), expected.end(), [&](std::size_t a, std::size_t b) { return column[a].value > column[b].value; });
  EXPECT_EQ(ids(sort_rows({&key, 1}, column.size(), scheduler, pool, cancel)), expected);
  expected.resize(100);
  EXPECT_EQ(ids(top_k({&key, 1}, column.size(), 100, scheduler, pool, cancel)), expected);
}

TEST(sort_rows, stops_when_cancelled_and_gives_its_memory_back) {
  runtime::buffer_pool pool;
  runtime::thread_pool scheduler(2);
  runtime::cancel_flag cancel;
  cancel.cancel();
  const std::vector<double> column(100000, 1.0);
  const sort_key key = key_of(column);
  EXPECT_THROW(sort_rows({&key, 1}, column.size(), scheduler, pool, cancel), cancelled);
  EXPECT_EQ(pool.used(), 0u);
}

TEST(sort_rows, says_when_memory_does_not_suffice) {
  runtime::buffer_pool pool(1 << 20);
  runtime::serial_scheduler scheduler;
  const std::vector<double> column(1000000, 1.0);
  const sort_key key = key_of(column);
  EXPECT_THROW(sort_rows({&key, 1}, column.size(), scheduler, pool, {}), resource_error);
  EXPECT_EQ(pool.used(), 0u);
}

}  // namespace
}  // namespace query::cpu
