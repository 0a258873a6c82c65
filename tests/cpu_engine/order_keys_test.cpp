#include "cpu_engine/order_keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_cases.hpp"

namespace query::cpu {
namespace {

using namespace cases;

template <class T>
sort_key key_of(const std::vector<T>& column, bool descending = false, bool nulls_first = false) {
  return {.type = ir::describe<T>(), .base = column.data(), .stride = sizeof(T), .descending = descending, .nulls_first = nulls_first};
}

TEST(key_encoder, needs_as_many_bits_as_the_values_have) {
  const auto bits = [](const auto& column) {
    const sort_key key = key_of(column);
    return key_encoder({&key, 1}).bits();
  };
  EXPECT_EQ(bits(std::vector<std::int16_t>(1)), 16u);
  EXPECT_EQ(bits(std::vector<std::optional<double>>(1)), 65u);
  EXPECT_EQ(bits(std::vector<point>(1)), 96u);
  EXPECT_EQ(bits(std::vector<std::array<float, 2>>(1)), 64u);
  EXPECT_EQ(bits(std::vector<std::string>(1)), 64u);
  EXPECT_EQ(bits(std::vector<std::vector<int>>(1)), 0u);
}

TEST(key_encoder, makes_zeros_equal_and_nans_equal_and_last) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const std::vector<double> column = {-infinity, -1.0, -0.0, 0.0, 1.0, infinity, nan, -nan};
  std::uint64_t words[8];
  sort_key key = key_of(column);
  key_encoder({&key, 1}).encode(0, 8, words);
  EXPECT_LT(words[0], words[1]);
  EXPECT_LT(words[1], words[2]);
  EXPECT_EQ(words[2], words[3]);
  EXPECT_LT(words[3], words[4]);
  EXPECT_LT(words[5], words[6]);
  EXPECT_EQ(words[6], words[7]);
  key.descending = true;
  key_encoder({&key, 1}).encode(0, 8, words);
  EXPECT_LT(words[6], words[5]);
  EXPECT_EQ(words[2], words[3]);
}

TEST(key_encoder, decides_ties_of_short_strings_only) {
  const std::vector<std::string> column = {"short", "1234567", "12345678", "12345679"};
  for (const bool descending : {false, true}) {
    const sort_key key = key_of(column, descending);
    const key_encoder encoder({&key, 1});
    std::uint64_t words[4];
    encoder.encode(0, 4, words);
    EXPECT_TRUE(encoder.decides(words[0]));
    EXPECT_TRUE(encoder.decides(words[1]));
    EXPECT_FALSE(encoder.decides(words[2]));
    EXPECT_EQ(words[2], words[3]);
    EXPECT_NE(words[1], words[2]);
  }
}

TEST(key_encoder, tells_apart_strings_with_zero_characters) {
  const std::vector<std::string> column = {"a", std::string("a\0", 2), std::string("a\0\0", 3), "b"};
  const sort_key key = key_of(column);
  std::uint64_t words[4];
  key_encoder({&key, 1}).encode(0, 4, words);
  EXPECT_LT(words[0], words[1]);
  EXPECT_LT(words[1], words[2]);
  EXPECT_LT(words[2], words[3]);
}

TEST(key_encoder, orders_words_as_compare_rows_orders_rows) {
  const auto check = [](const auto& column) {
    for (const bool descending : {false, true})
      for (const bool nulls_first : {false, true}) {
        const sort_key key = key_of(column, descending, nulls_first);
        const key_encoder encoder({&key, 1}, column.size());
        std::vector<wide_word> words(column.size());
        encoder.encode(0, column.size(), words.data());
        for (std::size_t i = 1; i < column.size(); ++i) {
          const int c = compare_rows({&key, 1}, i - 1, i);
          if (words[i - 1] < words[i]) {
            ASSERT_LT(c, 0);
          } else if (words[i - 1] > words[i]) {
            ASSERT_GT(c, 0);
          } else if (encoder.decides(words[i])) {
            ASSERT_EQ(c, 0);
          }
        }
      }
  };
  const std::uint64_t seed = 11;
  check(key_columns<double>(seed)[4]);
  check(key_columns<std::string>(seed)[4]);
  check(key_columns<std::optional<std::int64_t>>(seed)[3]);
  check(key_columns<point>(seed)[4]);
  check(key_columns<person>(seed)[4]);
}

TEST(key_encoder, refuses_types_without_an_order) {
  struct unknown { int x; };
  const std::vector<unknown> column(1);
  const sort_key key = key_of(column);
  EXPECT_THROW(key_encoder({&key, 1}), user_error);
  EXPECT_FALSE(orderable(*ir::describe<unknown>()));
}

}  // namespace
}  // namespace query::cpu
