// What sessions keep while nobody asks them for anything.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <memory>
#include <vector>

#include <unistd.h>

#include <query/query.hpp>

#include "sanitized.hpp"

namespace {

// Of this process, in bytes.
std::size_t resident() {
  std::ifstream statm("/proc/self/statm");
  std::size_t all = 0, there = 0;
  statm >> all >> there;
  return there * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

TEST(live_sessions, keep_little_after_a_sort_each) {
#ifdef QUERY_TEST_SANITIZED
  GTEST_SKIP() << "SKIPPED: sanitizers keep memory of their own";
#endif
  constexpr std::size_t most = std::size_t{400} << 20;
  std::vector<std::int64_t> rows(100'000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i * 0x9e3779b97f4a7c15u >> 20);
  const std::size_t before = resident();
  ASSERT_GT(before, 0u);
  std::vector<std::unique_ptr<query::Session>> sessions;
  for (int i = 0; i < 200; ++i) {
    sessions.push_back(std::make_unique<query::Session>(query::session_options{.threads = 4, .gpu = query::gpu_use::off}));
    const auto sorted = query::from(rows).in(*sessions.back()).order_by([](auto x) { return x; }).to_vector();
    ASSERT_TRUE(std::is_sorted(sorted.begin(), sorted.end()));
  }
  EXPECT_LT(resident() - std::min(before, resident()), most);
}

}  // namespace
