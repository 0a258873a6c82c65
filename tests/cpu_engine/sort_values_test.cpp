#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "cpu_engine/key_cases.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "runtime/thread_pool.hpp"

namespace query::cpu {
namespace {

template <class T>
class sort_values_of : public testing::Test {};
using value_types = testing::Types<std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t, std::uint32_t, std::int64_t,
                                   std::uint64_t, float, double>;
TYPED_TEST_SUITE(sort_values_of, value_types);

template <class T>
bool before(T a, T b, bool descending) {
  if constexpr (std::is_floating_point_v<T>) {
    if (a != a || b != b) return descending ? (a != a && b == b) : (a == a && b != b);
  }
  return descending ? b < a : a < b;
}

template <class T>
std::vector<T> expected(std::vector<T> values, bool descending) {
  std::stable_sort(values.begin(), values.end(), [&](T a, T b) { return before(a, b, descending); });
  return values;
}

TYPED_TEST(sort_values_of, is_stable_to_the_bit_and_independent_of_the_threads) {
  using T = TypeParam;
  const std::uint64_t seed = 99;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  runtime::buffer_pool pool;
  auto columns = cases::key_columns<T>(seed);
  cases::generator g(seed);
  std::vector<T>& random = columns.emplace_back(300000);
  for (T& v : random) v = static_cast<T>(g() >> 11);
  std::vector<T>& near = columns.emplace_back(300000);  // one leading digit for all
  for (T& v : near) v = static_cast<T>(100 + g() % 3);
  columns.push_back(expected(random, false));
  columns.push_back(expected(random, true));
  for (const std::vector<T>& column : columns)
    for (const bool descending : {false, true}) {
      const std::vector<T> wanted = expected(column, descending);
      for (const int threads : {1, 2, 8}) {
        runtime::thread_pool scheduler(threads);
        std::vector<T> values = column;
        sort_values(values.data(), values.data(), values.size(), ir::kind_of<T>(), descending, scheduler, pool, {});
        ASSERT_TRUE(values.empty() || std::memcmp(values.data(), wanted.data(), values.size() * sizeof(T)) == 0)
            << column.size() << " values, threads " << threads << ", descending " << descending;
      }
    }
  EXPECT_EQ(pool.used(), 0u);
}

TEST(sort_values, sorts_doubles_of_every_magnitude) {
  cases::generator g(5);
  std::vector<double> values(2000000);
  for (double& v : values) v = std::ldexp(static_cast<double>(static_cast<std::int64_t>(g())), static_cast<int>(g() % 200) - 100);
  const std::vector<double> wanted = expected(values, false);
  runtime::buffer_pool pool;
  runtime::thread_pool scheduler(4);
  sort_values(values.data(), values.data(), values.size(), ir::kind::f64, false, scheduler, pool, {});
  EXPECT_EQ(values, wanted);
}

TEST(sort_values, sorts_booleans) {
  bool values[] = {true, false, true, false, false};
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  sort_values(values, values, 5, ir::kind::boolean, false, scheduler, pool, {});
  EXPECT_TRUE(std::is_sorted(values, values + 5));
  sort_values(values, values, 5, ir::kind::boolean, true, scheduler, pool, {});
  EXPECT_TRUE(values[0] && values[1] && !values[2]);
}

}  // namespace
}  // namespace query::cpu
