// Rows that several engines take from both ends: each row is somebody's, once, whatever their speeds.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "runtime/shared_rows.hpp"

namespace {

using namespace query::runtime;

constexpr std::uint64_t part = rows_of_fixed_part;

std::vector<row_span> chunks_of(shared_rows::taker& t) {
  std::vector<row_span> all;
  for (row_span c = t.next(); c.size(); c = t.next()) all.push_back(c);
  return all;
}

TEST(shared_rows, are_given_from_the_end_in_chunks_that_get_smaller) {
  const std::uint64_t n = 1000 * part + 17;
  shared_rows rows(n);
  shared_rows::taker gpu(rows, 0.6);
  std::uint64_t end = n, parts = 0, last = n;
  for (row_span c = gpu.next(); c.size(); c = gpu.next()) {
    EXPECT_EQ(c.end, end);
    EXPECT_EQ(c.first % part, 0u);
    EXPECT_LE(c.size(), last);
    end = c.first;
    last = c.size();
    // The CPU is as fast as was said.
    for (; 6 * parts * part < 4 * (n - end); ++parts)
      if (!rows.take(parts * part, (parts + 1) * part)) break;
  }
  EXPECT_EQ(rows.end(), end);
  EXPECT_NEAR(static_cast<double>(end), 0.4 * static_cast<double>(n), 0.05 * static_cast<double>(n));
}

TEST(shared_rows, go_to_whoever_is_faster_than_was_said) {
  const std::uint64_t n = 1000 * part;
  shared_rows slow_engine(n);
  shared_rows::taker said_fast(slow_engine, 0.9);
  const row_span first = said_fast.next();
  EXPECT_LT(first.size(), n * 2 / 3);
  std::uint64_t parts = 0;
  while (slow_engine.take(parts * part, (parts + 1) * part)) ++parts;
  EXPECT_EQ(parts * part, first.first) << "all that it had not taken";
  EXPECT_EQ(said_fast.next().size(), 0u);

  shared_rows slow_cpu(n);
  shared_rows::taker said_slow(slow_cpu, 0.1);
  (void)slow_cpu.take(0, part);
  EXPECT_FALSE(chunks_of(said_slow).empty());
  EXPECT_LT(slow_cpu.end(), n / 20) << "all but little";
}

TEST(shared_rows, may_be_few_or_none) {
  for (const std::uint64_t n : {std::uint64_t{0}, std::uint64_t{1}, part - 1, part, part + 1, 8 * part}) {
    for (const double share : {0.0, 0.5, 1.0}) {
      shared_rows rows(n);
      shared_rows::taker t(rows, share);
      std::uint64_t at = n;
      for (const row_span& c : chunks_of(t)) {
        EXPECT_EQ(c.end, at);
        at = c.first;
      }
      EXPECT_EQ(rows.end(), at);
      std::uint64_t taken = 0;
      for (std::uint64_t p = 0; p < n; p += part)
        if (rows.take(p, std::min(n, p + part))) taken = std::min(n, p + part);
      EXPECT_EQ(taken, at);
      EXPECT_FALSE(rows.take(n, n + 1)) << "behind the end";
    }
  }
}

}  // namespace
