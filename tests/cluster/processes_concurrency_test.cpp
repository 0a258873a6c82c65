// Several queries of one session with a cluster at once, on several threads, while processes are lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include <query/query.hpp>

namespace processes_concurrency_test {
namespace {

std::vector<std::int32_t> numbers(std::int32_t n) {
  std::vector<std::int32_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  return all;
}

TEST(processes_concurrency, several_queries_at_once) {
  const auto rows = numbers(20000);
  const auto many = query::Session::cluster("local:3", {.threads = 2, .gpu = query::gpu_use::off});
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, i] {
      for (int k = 0; k < 5; ++k) {
        const int rest = i * 5 + k;
        right += query::from(rows).in(many).where([rest](auto x) { return x % 100 == rest; }).count() == 200;
        right += query::from(rows).in(many).select([rest](auto x) { return x % (rest + 1); }).distinct().count() ==
                 rest + 1;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 40);
  // One within the other.
  std::uint64_t sum = 0;
  for (const auto x : query::from(rows).in(many).where([](auto x) { return x % 5000 == 0; }))
    sum += query::from(rows).in(many).where([x](auto y) { return y < x; }).count();
  EXPECT_EQ(sum, 0u + 5000 + 10000 + 15000);
}

TEST(processes_concurrency, several_queries_lose_the_same_process) {
  const auto rows = numbers(20000);
  const auto many = query::Session::cluster("local:3", {.threads = 1, .gpu = query::gpu_use::off});
  const auto process = [](const std::int32_t&) { return static_cast<std::int64_t>(::getpid()); };
  const auto ran_in = query::from(rows).in(many).select(process).to_vector();
  std::set<std::int64_t> others(ran_in.begin(), ran_in.end());
  others.erase(::getpid());
  ASSERT_EQ(others.size(), 2u);
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      for (int k = 0; k < 6; ++k) {
        auto groups = query::from(rows).in(many).group_by([](auto x) { return x % 10; }).select([](auto g) { return g.sum(); }).to_vector();
        right += std::accumulate(groups.begin(), groups.end(), std::int64_t{0}) == 20000ll * 19999 / 2;
      }
    });
  ::kill(static_cast<pid_t>(*others.begin()), SIGKILL);
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 18);
}

}  // namespace
}  // namespace processes_concurrency_test
