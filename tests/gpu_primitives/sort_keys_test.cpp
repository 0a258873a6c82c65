// Sort keys on the host: order, ties, ends of ranges, and the way back.
#include "gpu_primitives/sort_keys.cuh"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace query::gpu::test {
namespace {

// Expects the keys of `ascending` to increase strictly and to come back as they were.
template <class T>
void expect_strict_order(const std::vector<T>& ascending) {
  for (std::size_t i = 0; i < ascending.size(); ++i) {
    EXPECT_EQ(from_sort_key<T>(sort_key(ascending[i])), ascending[i]);
    if (i == 0) continue;
    EXPECT_LT(sort_key(ascending[i - 1]), sort_key(ascending[i])) << i;
    EXPECT_GT(descending_key(sort_key(ascending[i - 1])), descending_key(sort_key(ascending[i]))) << i;
  }
}

template <class T>
void expect_floating_order() {
  using limits = std::numeric_limits<T>;
  expect_strict_order<T>({-limits::infinity(), limits::lowest(), T(-1.5), -limits::min(), -limits::denorm_min(), T(0), limits::denorm_min(),
                          limits::min(), T(1), T(1e10), limits::max(), limits::infinity()});
  EXPECT_EQ(sort_key(T(-0.0)), sort_key(T(0.0)));
  EXPECT_GT(sort_key(limits::quiet_NaN()), sort_key(limits::infinity()));
  EXPECT_EQ(sort_key(limits::quiet_NaN()), sort_key(-limits::quiet_NaN()));
  EXPECT_EQ(sort_key(limits::quiet_NaN()), sort_key(limits::signaling_NaN()));
  EXPECT_TRUE(std::isnan(from_sort_key<T>(sort_key(limits::quiet_NaN()))));
  for (const T lost : {T(-0.0), limits::quiet_NaN(), -limits::quiet_NaN(), limits::signaling_NaN()}) EXPECT_FALSE(sort_key_tells(lost));
  for (const T told : {T(0), limits::denorm_min(), -limits::denorm_min(), limits::max(), -limits::infinity(), limits::infinity()})
    EXPECT_TRUE(sort_key_tells(told)) << told;
}

TEST(sort_keys_test, integers_keep_their_order) {
  expect_strict_order<i8>({-128, -1, 0, 1, 127});
  expect_strict_order<i16>({-32768, -1, 0, 1, 32767});
  expect_strict_order<i32>({std::numeric_limits<i32>::min(), -1, 0, 1, std::numeric_limits<i32>::max()});
  expect_strict_order<i64>({std::numeric_limits<i64>::min(), -1, 0, 1, std::numeric_limits<i64>::max()});
  expect_strict_order<u8>({0, 1, 255});
  expect_strict_order<u64>({0, 1, u64(1) << 63, ~u64(0)});
  EXPECT_LT(sort_key(false), sort_key(true));
  EXPECT_EQ(sort_key_bits<bool>, 1u);
  EXPECT_EQ(sort_key_bits<double>, 64u);
}

TEST(sort_keys_test, floats_order_nans_last_and_zeros_equal) {
  expect_floating_order<float>();
  expect_floating_order<double>();
}

// What is decided when the kernel runs says the same as what the type says.
template <class T>
void expect_same_by_form() {
  using limits = std::numeric_limits<T>;
  using U = sort_key_of<T>;
  std::vector<T> values{T(0), T(-0.0), T(1), T(-1), limits::lowest(), limits::max(), limits::min(), limits::denorm_min()};
  if (limits::has_infinity)
    for (const T v : {limits::infinity(), -limits::infinity(), limits::quiet_NaN(), -limits::quiet_NaN(), T(-limits::denorm_min())})
      values.push_back(v);
  for (const bool descending : {false, true}) {
    const auto form = number_form_of<U>(limits::is_signed, !limits::is_integer, descending);
    for (const T v : values) {
      U bits;
      copy_bits(bits, v);
      const U key = sort_key(v);
      EXPECT_EQ(sort_key_of_bits(bits, form), descending ? descending_key(key) : key) << v << (descending ? " descending" : "");
      EXPECT_EQ(sort_key_tells(bits, form), sort_key_tells(v) || bits_of_sort_key(sort_key_of_bits(bits, form), form) == bits) << v;
      if (!sort_key_tells(bits, form)) continue;
      EXPECT_EQ(bits_of_sort_key(sort_key_of_bits(bits, form), form), bits) << v << (descending ? " descending" : "");
    }
  }
}

TEST(sort_keys_test, forms_say_what_types_say) {
  expect_same_by_form<u32>();
  expect_same_by_form<i32>();
  expect_same_by_form<float>();
  expect_same_by_form<u64>();
  expect_same_by_form<i64>();
  expect_same_by_form<double>();
  EXPECT_EQ(sort_key_of_bits(u32(7), number_form<u32>{0, 0, false}), 7u);
}

TEST(sort_keys_test, nulls_go_first_or_last_and_are_equal) {
  for (const u32 key : {0u, 1u, ~0u}) {
    EXPECT_LT(nullable_key<32>(true, key, false), nullable_key<32>(false, 7u, false));
    EXPECT_GT(nullable_key<32>(true, key, true), nullable_key<32>(false, 7u, true));
  }
  EXPECT_EQ(nullable_key<32>(false, 1u, false), nullable_key<32>(false, 2u, false));
  EXPECT_LT(nullable_key<8>(true, u8(3), true), nullable_key<8>(true, u8(4), true));
  EXPECT_LT(null_key(true, false), null_key(false, false));
  EXPECT_GT(null_key(true, true), null_key(false, true));
  EXPECT_EQ(nullable_key<32>(false, ~0u, false) >> 33, 0u);
}

}  // namespace
}  // namespace query::gpu::test
