// Threads that put rows apart, write pages to a file and read them, for the thread sanitizer.
#include <gtest/gtest.h>

#include <cstdint>
#include <thread>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Hit {
  std::int64_t page;
  double seconds;
};
QUERY_RECORD(Hit, page, seconds);

namespace {

TEST(spilled_groups_concurrency, two_queries_in_one_small_memory) {
  constexpr std::int64_t rows = 1'200'000, pages = 100'000;
  std::vector<std::int64_t> page;
  std::vector<double> seconds;
  for (std::int64_t i = 0; i < rows; ++i) {
    page.push_back(i * 7919 % pages);
    seconds.push_back(1);
  }
  query::Session s({.threads = 4, .memory_limit = 16u << 20});
  const auto sums = query::from(query::columns<Hit>(page, seconds)).in(s).group_by([](auto h) { return h.page; }).select([](auto g) {
    return std::tuple(g.key(), g.sum([](auto h) { return h.seconds; }));
  });
  const auto check = [&] {
    std::int64_t n = 0;
    for (const auto& [key, sum] : sums) n += sum == static_cast<double>(rows / pages);
    EXPECT_EQ(n, pages);
  };
  std::thread other(check);
  check();
  other.join();
  EXPECT_NE(sums.explain().find("in temporary files"), std::string::npos) << sums.explain();
}

}  // namespace
}  // namespace query::tests
