// Queries that write each other's pages to files and read their own, for the thread sanitizer.
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

TEST(spilled_groups_concurrency, three_queries_in_one_small_memory) {
  constexpr std::int64_t rows = 1'200'000, pages = 100'000;
  std::vector<std::int64_t> page;
  std::vector<double> seconds;
  std::uint64_t x = 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    page.push_back(static_cast<std::int64_t>((x >> 33) % pages));
    seconds.push_back(1);
  }
  // The session's own threads are oneTBB's, whose order the sanitizer does not see.
  query::Session s({.threads = 1, .memory_limit = 16u << 20});
  const auto sums = query::from(query::columns<Hit>(page, seconds)).in(s).group_by([](auto h) { return h.page; }).select([](auto g) {
    return std::tuple(g.key(), g.sum([](auto h) { return h.seconds; }));
  });
  const auto check = [&] {
    double all = 0;
    for (const auto& [key, sum] : sums) all += sum;
    EXPECT_EQ(all, static_cast<double>(rows));
  };
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) others.emplace_back(check);
  for (auto& t : others) t.join();
  EXPECT_NE(sums.explain().find("in temporary files"), std::string::npos) << sums.explain();
}

}  // namespace
}  // namespace query::tests
