// Shares of rows by the times that engines expect: all end at once, nothing is divided for little.
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "runtime/part_costs.hpp"

namespace {

using namespace query::runtime;

part_costs costs(double here, double cpu) {
  part_costs c;
  c.here.all_rows = here;
  c.cpu.all_rows = cpu;
  return c;
}

TEST(division_of_rows, follows_the_speeds_of_engines) {
  const auto d = divide(std::array{costs(1, 3)}, 16);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->threads, (std::vector{1, 15}));
  EXPECT_NEAR(d->shares[0] / d->shares[1], 3 * 16 / 15.0, 1e-9);
  EXPECT_NEAR(d->shares[0] + d->shares[1], 1, 1e-12);
  EXPECT_NEAR(d->seconds, d->shares[0], 1e-3);
  EXPECT_EQ(d->alone, (std::vector<double>{1, 3}));
}

TEST(division_of_rows, gives_those_that_start_late_less) {
  part_costs late = costs(1, 1);
  late.here.start = 0.2;
  const auto even = divide(std::array{costs(1, 1)}, 16), uneven = divide(std::array{late}, 16);
  ASSERT_TRUE(even && uneven);
  EXPECT_LT(uneven->shares[0], even->shares[0]);
  EXPECT_GT(uneven->seconds, even->seconds);
  EXPECT_NEAR(late.here.start + uneven->shares[0] * late.here.all_rows, uneven->seconds, 1e-3) << "both end at once";
}

TEST(division_of_rows, is_left_where_one_engine_is_about_as_fast) {
  EXPECT_FALSE(divide(std::array{costs(1, 30)}, 16));
  EXPECT_FALSE(divide(std::array{costs(30, 1)}, 16));
  EXPECT_FALSE(divide(std::array{costs(1e-4, 1e-4)}, 16)) << "threads take longer to start";
  part_costs read = costs(1, 1);
  read.host_memory = 0.95;
  EXPECT_FALSE(divide(std::array{read}, 16)) << "the host's memory is no faster for two";
  part_costs put_together = costs(1, 1);
  put_together.merge = 0.5;
  EXPECT_FALSE(divide(std::array{put_together}, 16));
  EXPECT_FALSE(divide(std::array{costs(1, 1)}, 1)) << "no thread to spare";
  EXPECT_FALSE(divide({}, 16));
}

TEST(division_of_rows, charges_the_cpu_for_threads_that_feed_an_engine) {
  part_costs fed = costs(1, 1);
  fed.host_threads = 6;
  const auto d = divide(std::array{fed}, 16);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->threads, (std::vector{6, 10}));
  EXPECT_NEAR(d->shares[0] / d->shares[1], 1.6, 1e-9);
  fed.host_threads = 10;  // half of them are the most: it is slower then
  const auto starved = divide(std::array{fed}, 16);
  ASSERT_TRUE(starved);
  EXPECT_EQ(starved->threads, (std::vector{8, 8}));
  EXPECT_NEAR(starved->shares[0] / starved->shares[1], 2 / 1.25, 1e-9);
}

TEST(division_of_rows, knows_several_engines) {
  const auto d = divide(std::array{costs(1, 2), costs(1, 2)}, 16);
  ASSERT_TRUE(d);
  ASSERT_EQ(d->shares.size(), 3u);
  EXPECT_NEAR(d->shares[0], d->shares[1], 1e-12);
  EXPECT_LT(d->shares[2], d->shares[0]);
  EXPECT_EQ(std::accumulate(d->threads.begin(), d->threads.end(), 0), 16);
  part_costs slow = costs(1, 2);
  slow.here.start = 9;
  const auto without = divide(std::array{costs(1, 2), slow}, 16);
  ASSERT_TRUE(without);
  EXPECT_EQ(without->shares[1], 0) << "it would not have started by then";
}

TEST(division_of_rows, believes_what_it_took_before_more_than_what_is_expected) {
  const auto expected = divide(std::array{costs(1, 1)}, 16);
  ASSERT_TRUE(expected);
  const auto slower = divide(std::array{costs(1, 1)}, 16, 0.98);
  ASSERT_TRUE(slower) << "less than one alone needs, if little";
  EXPECT_EQ(slower->seconds, 0.98);
  EXPECT_EQ(slower->shares, expected->shares);
  EXPECT_FALSE(divide(std::array{costs(1, 1)}, 16, 1.02));
  EXPECT_TRUE(divide(std::array{costs(1, 30)}, 16, 0.9)) << "not expected to pay, and did";
  part_costs hindered = costs(1, 1);
  hindered.hindrance = 0.3;
  EXPECT_NEAR(divide(std::array{hindered}, 16)->seconds, 1.3 * expected->seconds, 1e-3);
  hindered.hindrance = 0.9;
  EXPECT_FALSE(divide(std::array{hindered}, 16));
}

TEST(division_of_rows, scales_costs_to_what_was_seen) {
  const part_cost expected{0.2, 1.0};
  EXPECT_EQ(as_seen(expected, {}).alone(), expected.alone());
  const part_cost slower = as_seen(expected, 3.0), faster = as_seen(expected, 0.1);
  EXPECT_EQ(slower.start, 0.2);
  EXPECT_DOUBLE_EQ(slower.alone(), 3.0);
  EXPECT_GT(faster.all_rows, 0);
  EXPECT_DOUBLE_EQ(faster.alone(), 0.1);
}

}  // namespace
