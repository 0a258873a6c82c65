#include "data/summarise.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <query/record.hpp>

namespace query::data {

struct reading { std::optional<double> x; bool on; std::string tag; std::array<std::int16_t, 2> pair; std::vector<int> list; };
QUERY_RECORD(reading, x, on, tag, pair, list);

template <class T> std::vector<column_summary> summary(const std::vector<T>& rows, bool distinct = true) {
  return summarise(ir::describe<T>(), rows.data(), rows.size(), distinct);
}

TEST(summarise_test, columns_are_counted_and_measured_without_nulls) {
  const auto s = summary<reading>({{1, true, "b", {1, 2}, {}}, {std::nullopt, false, "a", {1, 4}, {}}, {4, true, "b", {1, -6}, {}}});
  ASSERT_EQ(s.size(), 6u);
  EXPECT_EQ(s[0].name, "x");
  EXPECT_EQ(s[0].type, "f64?");
  EXPECT_EQ(s[0].count, 2u);
  EXPECT_EQ(s[0].nulls, 1u);
  EXPECT_EQ(s[0].mean, 2.5);
  EXPECT_NEAR(*s[0].stddev, std::sqrt(4.5), 1e-15);
  EXPECT_EQ(s[0].min, "1");
  EXPECT_EQ(s[0].max, "4");
  EXPECT_EQ(s[1].distinct, 2u);
  EXPECT_NEAR(*s[1].mean, 2.0 / 3, 1e-15);
  EXPECT_EQ(s[2].min, "a");
  EXPECT_EQ(s[2].mean, std::nullopt);
  EXPECT_EQ(s[2].distinct, 2u);
  EXPECT_EQ(s[3].name, "pair_0");
  EXPECT_EQ(s[3].stddev, 0.0);
  EXPECT_EQ(s[4].min, "-6");
  EXPECT_EQ(s[5].type, "i32[]");
  EXPECT_EQ(s[5].count, 3u);
  EXPECT_EQ(s[5].distinct, std::nullopt);
}

TEST(summarise_test, letters_have_an_order_and_no_mean) {
  const auto s = summary<char>({'b', 'a', 'b'});
  EXPECT_EQ(s[0].type, "char");
  EXPECT_EQ(s[0].min + s[0].max, "ab");
  EXPECT_EQ(s[0].mean, std::nullopt);
  EXPECT_EQ(s[0].distinct, 2u);
}

TEST(summarise_test, nothing_has_no_mean_and_no_extremes) {
  const auto s = summary<std::optional<int>>({std::nullopt, std::nullopt});
  EXPECT_EQ(s[0].name, "value");
  EXPECT_EQ(s[0].nulls, 2u);
  EXPECT_EQ(s[0].mean, std::nullopt);
  EXPECT_EQ(s[0].min, "");
  EXPECT_EQ(s[0].distinct, 0u);
  EXPECT_EQ(summary<int>({5})[0].stddev, std::nullopt);
  EXPECT_TRUE(summary<int>({})[0].max.empty());
}

TEST(summarise_test, nans_are_no_extremes_and_one_distinct_value) {
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  const auto s = summary<double>({nan, 2, nan, -0.0, 0.0});
  EXPECT_EQ(s[0].count, 5u);
  EXPECT_EQ(s[0].max, "2");
  EXPECT_EQ(s[0].distinct, 3u);
  EXPECT_TRUE(std::isnan(*s[0].mean));
}

TEST(summarise_test, a_negative_zero_is_shown_as_zero) {
  const auto s = summary<double>({-0.0, -0.0});
  EXPECT_EQ(s[0].min, "0");
  EXPECT_EQ(s[0].max, "0");
  EXPECT_FALSE(std::signbit(*s[0].mean));
  EXPECT_EQ(summary<float>({-0.0f, -1.5f})[0].max, "0");
}

TEST(summarise_test, deviations_of_large_numbers_keep_their_digits) {
  EXPECT_NEAR(*summary<double>({1e9 + 4, 1e9 + 7, 1e9 + 13, 1e9 + 16})[0].stddev, std::sqrt(30.0), 1e-9);
}

TEST(summarise_test, distinct_values_are_counted_only_when_asked) {
  EXPECT_EQ(summary<int>({1, 1, 2}, false)[0].distinct, std::nullopt);
}

}  // namespace query::data
