// Sorts that write each other's rows to files and read their own, for the thread sanitizer.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

namespace query::tests {

struct Lap {
  std::int64_t driver;
  double seconds;
};
QUERY_RECORD(Lap, driver, seconds);

namespace {

TEST(spilled_sorts_concurrency, three_queries_in_one_small_memory) {
  constexpr std::int64_t rows = 300'000;
  std::vector<Lap> laps;
  std::uint64_t x = 1;
  for (std::int64_t i = 0; i < rows; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    laps.push_back({static_cast<std::int64_t>(x >> 40), static_cast<double>(i)});
  }
  // The session's own threads are oneTBB's, whose order the sanitizer does not see.
  query::Session s({.threads = 1, .memory_limit = 9u << 20});
  const auto sorted =
      query::from(laps).in(s).where([](auto l) { return l.seconds >= 0; }).order_by([](auto l) { return l.driver; });
  const auto check = [&] {
    std::int64_t n = 0, last = -1;
    for (const Lap& l : sorted) {
      EXPECT_LE(last, l.driver);
      last = l.driver;
      ++n;
    }
    EXPECT_EQ(n, rows);
  };
  std::vector<std::thread> others;
  for (int t = 0; t < 3; ++t) others.emplace_back(check);
  for (auto& t : others) t.join();
  // One of them alone may have room; whether there are files depends on who meets whom.
  EXPECT_LE(s.memory_peak(), s.memory_limit());
  EXPECT_EQ(s.memory_used(), 0u);
}

}  // namespace
}  // namespace query::tests
