// Partitions by range on the host: bounds, NaN, zeros, empty ranges, orders of one's own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gpu_primitives/partition.cuh"

namespace query::gpu::test {
namespace {

template <class Key, class Before = number_order>
std::vector<u32> parts_of(const std::vector<Key>& keys, const std::vector<Key>& bounds, Before before = {}) {
  const auto part = range_part([&](u64 i) { return keys[i]; }, bounds.data(), u32(bounds.size()), before);
  std::vector<u32> parts;
  for (u64 i = 0; i < keys.size(); ++i) parts.push_back(part(i));
  return parts;
}

using numbers = std::vector<u32>;

TEST(range_part_test, a_bound_begins_its_partition) {
  EXPECT_EQ(parts_of<int>({-9, 4, 5, 6, 9, 10, 11}, {5, 10}), (numbers{0, 0, 1, 1, 1, 2, 2}));
  EXPECT_EQ(parts_of<u64>({0, ~u64(0)}, {1}), (numbers{0, 1}));
  EXPECT_EQ(parts_of<int>({-9, 4}, {}), (numbers{0, 0}));
}

TEST(range_part_test, nothing_lies_between_equal_bounds) {
  EXPECT_EQ(parts_of<int>({4, 5, 6}, {5, 5, 5}), (numbers{0, 3, 3}));
}

TEST(range_part_test, nan_is_behind_all_and_zeros_are_one) {
  const double nan = std::nan("");
  EXPECT_EQ(parts_of<double>({-HUGE_VAL, -0.0, 0.0, HUGE_VAL, nan, -nan}, {0.0, HUGE_VAL}), (numbers{0, 1, 1, 2, 2, 2}));
  EXPECT_EQ(parts_of<double>({-0.0, 0.0, HUGE_VAL, nan, -nan}, {-0.0, nan}), (numbers{1, 1, 1, 2, 2}));
  EXPECT_EQ(parts_of<float>({1.5f, std::nanf("")}, {std::nanf(""), -std::nanf("")}), (numbers{0, 2}));
}

TEST(range_part_test, keys_may_have_an_order_of_their_own) {
  EXPECT_EQ(parts_of<int>({11, 10, 7, 5, 1}, {10, 5}, [](int a, int b) { return a > b; }), (numbers{0, 1, 1, 2, 2}));
  EXPECT_EQ(parts_of<std::string>({"", "b", "ba", "z"}, {"b", "c"}, [](const std::string& a, const std::string& b) { return a < b; }),
            (numbers{0, 1, 1, 2}));
}

TEST(range_part_test, every_number_of_bounds) {
  for (int n = 0; n <= 255; ++n) {
    std::vector<int> bounds, keys;
    numbers expected;
    for (int b = 0; b < n; ++b) bounds.push_back(3 * b);
    for (int k = -1; k <= 3 * n; ++k) {
      keys.push_back(k);
      expected.push_back(u32(std::min(n, k < 0 ? 0 : k / 3 + 1)));
    }
    EXPECT_EQ(parts_of(keys, bounds), expected) << n;
  }
}

}  // namespace
}  // namespace query::gpu::test
