// What a function throws while rows are read one by one: behind the rows in front of it, and for good.
#include <gtest/gtest.h>

#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <vector>

#include <query/query.hpp>

namespace query::cpu {
namespace {

constexpr std::int64_t part = 1 << 16, failing = 12 * part + 1000;  // in a window of many parts, if there are threads for it

auto numbers(const Session& s, const std::vector<std::int64_t>& all) {
  return from(all).in(s).select(opaque([](const std::int64_t& i) {
    if (i == failing) throw std::domain_error("a row");
    return i;
  }));
}
std::vector<std::int64_t> all_numbers() {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < 16 * part; ++i) all.push_back(i);
  return all;
}

TEST(cursor_failures, come_behind_the_same_rows_for_any_number_of_threads) {
  const auto all = all_numbers();
  for (const int threads : {1, 2, 5}) {
    SCOPED_TRACE(threads);
    const Session s({.threads = threads});
    std::int64_t read = 0;
    EXPECT_THROW(for (const std::int64_t i : numbers(s, all)) ASSERT_EQ(i, read++), std::domain_error);
    EXPECT_GE(read, 12 * part);
    EXPECT_LE(read, failing);
    auto other = all;
    other[12 * part - 1] = -1;
    EXPECT_FALSE(numbers(s, all).sequence_equal(other));
  }
}

TEST(cursor_failures, stay) {
  const auto all = all_numbers();
  const Session s({.threads = 2});
  const auto q = numbers(s, all);
  std::int64_t read = 0;
  auto i = q.begin();
  const auto read_on = [&] {
    for (; i != std::default_sentinel; ++i) ASSERT_EQ(*i, read++);
  };
  EXPECT_THROW(read_on(), std::domain_error);
  EXPECT_THROW(++i, std::domain_error);  // and not rows that have been read
  EXPECT_THROW(++i, std::domain_error);
}

}  // namespace
}  // namespace query::cpu
