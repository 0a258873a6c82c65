// The number of groups that a sample says there are: keys that are alike, and a few keys with most of the rows beside many others.
#include <gtest/gtest.h>

#include <random>
#include <unordered_set>

#include "gpu_primitives/group_shapes.cuh"

namespace query::gpu {
namespace {

// What a sample of 2^16 rows says, if a share of `heavy` of all rows have one key and the others any of `groups`.
double estimate(u64 groups, double heavy, unsigned seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> share(0, 1);
  std::unordered_set<u64> all, halves[2];
  constexpr u64 rows = 1 << 16;
  for (u64 i = 0; i < rows; ++i) {
    const u64 key = share(random) < heavy ? ~u64(0) : random() % groups;
    all.insert(key);
    halves[i % 2].insert(key);
  }
  const auto size = [](const auto& keys) { return static_cast<double>(keys.size()); };
  return groups_of_sample(static_cast<double>(rows), size(all), size(halves[0]), size(halves[1]));
}

TEST(group_sample_test, counts_keys_that_are_alike) {
  for (const u64 groups : {1, 2, 16, 1000, 16'000, 65'536, 1'000'000, 16'000'000})
    for (unsigned seed = 1; seed <= 8; ++seed) {
      const double found = estimate(groups, 0, seed), wanted = static_cast<double>(groups);
      EXPECT_GE(found, wanted * 0.7) << groups;
      EXPECT_LE(found, wanted * 1.8) << groups;
    }
}

TEST(group_sample_test, sees_many_keys_beside_one_with_most_of_the_rows) {
  for (const double heavy : {0.3, 0.5, 0.9})
    for (const u64 groups : {1000, 16'000, 200'000, 1'000'000})
      for (unsigned seed = 1; seed <= 8; ++seed) {
        const double found = estimate(groups, heavy, seed), wanted = static_cast<double>(groups);
        EXPECT_GE(found, wanted * 0.4) << groups << " groups, " << heavy << " of the rows in one more";
        EXPECT_LE(found, wanted * 2.5) << groups << " groups, " << heavy << " of the rows in one more";
      }
}

// Every 4096th row has one remainder of a thousand and twenty-four, and one in eight of a thousand.
TEST(group_sample_test, draws_rows_whose_keys_come_round) {
  constexpr u64 rows = 1 << 16;
  for (const u64 stride : {u64(1), u64(3), u64(4096), u64(1) << 20, u64(1) << 31})
    for (const u64 groups : {7, 1000, 1024}) {
      std::unordered_set<u64> keys;
      u64 outside = 0;
      for (u64 j = 0; j < rows; ++j) {
        const u64 row = sampled_row(j, stride);
        outside += row < j * stride || row >= (j + 1) * stride;
        keys.insert(row % groups);
      }
      EXPECT_EQ(outside, 0u) << stride;
      EXPECT_EQ(keys.size(), groups) << stride;
    }
}

TEST(group_sample_test, knows_no_bound_where_no_key_came_twice) {
  EXPECT_GT(groups_of_sample(65536, 65536, 32768, 32768), 1e18);
  EXPECT_EQ(groups_of_sample(65536, 1, 1, 1), 1);
  EXPECT_GT(groups_of_sample(1, 1, 1, 0), 1e18);
}

}  // namespace
}  // namespace query::gpu
