// Rows that for_each, range-for and write_csv take while other processes still make theirs: in order, each once, whatever is lost.
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/session_state.hpp"

namespace handed_on_test {

struct pair {
  std::int64_t number, square;
  friend bool operator==(const pair&, const pair&) = default;
};
QUERY_RECORD(pair, number, square);

namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

auto pairs(const query::Session& s, std::int64_t n) {
  return query::range(std::int64_t{0}, n).in(s).where([](auto x) { return x % 7 != 3; }).select([](auto x) {
    return query::make<pair>(x, x * x);
  });
}
std::vector<pair> expected(std::int64_t n) {
  std::vector<pair> all;
  for (std::int64_t x = 0; x < n; ++x)
    if (x % 7 != 3) all.push_back({x, x * x});
  return all;
}
auto sorted(const query::Session& s, std::int64_t n) {
  return pairs(s, n).order_by([](auto p) { return p.number * 7919 % 1009; });
}

class handed_on : public ::testing::Test {
 protected:
  static query::session_options options(std::size_t limit = 64 * mib) {
    return {.threads = 1, .memory_limit = limit, .gpu = query::gpu_use::off};
  }
  query::Session many = query::Session::cluster(query::tests::three_processes(), options());
  query::Session one{options()};

  static void kill_one(std::size_t which) {
    const auto all = query::tests::containers();
    if (which < all.size()) ::kill(all[which], SIGKILL);
  }
};

TEST_F(handed_on, is_told_by_explain) {
  const auto told = [](const std::string& plan, const char* text) { return plan.find(text) != std::string::npos; };
  const auto rows = pairs(many, 100'000);
  const auto groups = rows.group_by([](auto p) { return p.number % 1000; }).select([](auto g) { return g.count(); });
  const char *in_order = "for_each: takes rows in order, while other partitions", *late = "for_each: begins when all partitions";
  EXPECT_TRUE(told(rows.explain("for_each"), in_order)) << rows.explain("for_each");
  EXPECT_TRUE(told(groups.explain("for_each"), late)) << groups.explain("for_each");
  EXPECT_FALSE(told(rows.explain(), "for_each"));
  EXPECT_FALSE(told(pairs(one, 100'000).explain("for_each"), "for_each: "));
}

TEST_F(handed_on, rows_come_in_order) {
  for (const std::int64_t n : {0, 1, 5, 1024, 5000, 300'000}) {
    std::vector<pair> found;
    pairs(many, n).for_each([&](const pair& p) { found.push_back(p); });
    EXPECT_TRUE(found == expected(n)) << n;
  }
  std::vector<pair> found, in_one;
  sorted(many, 400'000).for_each([&](const pair& p) { found.push_back(p); });
  sorted(one, 400'000).for_each([&](const pair& p) { in_one.push_back(p); });
  EXPECT_TRUE(found == in_one);
}

TEST_F(handed_on, a_range_for_gets_them_too) {
  std::vector<pair> found, in_one;
  for (const pair& p : sorted(many, 400'000)) found.push_back(p);
  for (const pair& p : sorted(one, 400'000)) in_one.push_back(p);
  EXPECT_TRUE(found == in_one);
}

TEST_F(handed_on, partitions_of_one_process_hand_on) {
  query::Session parts{options()};
  parts.state()->partitions = 4;
  std::vector<pair> found;
  pairs(parts, 300'000).for_each([&](const pair& p) { found.push_back(p); });
  EXPECT_TRUE(found == expected(300'000));
  found.clear();
  std::vector<pair> in_one;
  for (const pair& p : sorted(parts, 300'000)) found.push_back(p);
  for (const pair& p : sorted(one, 300'000)) in_one.push_back(p);
  EXPECT_TRUE(found == in_one);
}

TEST_F(handed_on, more_rows_than_the_memory_of_all_processes) {
  constexpr std::int64_t n = 20'000'000;
  static_assert(n * sizeof(pair) > 3 * 64 * mib);
  std::int64_t next = 0, wrong = 0;
  query::range(std::int64_t{0}, n).in(many).select([](auto x) { return query::make<pair>(x, x * x); }).for_each([&](const pair& p) {
    wrong += p.number != next || p.square != next * next;
    ++next;
  });
  EXPECT_EQ(next, n);
  EXPECT_EQ(wrong, 0);
}

TEST_F(handed_on, a_file_has_them_in_order) {
  const auto folder = std::filesystem::temp_directory_path() / ("handed_on_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const auto text = [&](const query::Session& s, const char* name) {
    const std::string path = (folder / name).string();
    pairs(s, 200'000).write_csv(path);
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  const std::string found = text(many, "many.csv"), in_one = text(one, "one.csv");
  EXPECT_TRUE(found == in_one);
  EXPECT_GT(found.size(), 200'000u);
  std::filesystem::remove_all(folder);
}

// At several rows of the stream, one process or both.
TEST_F(handed_on, each_row_comes_once_whatever_is_lost) {
  constexpr std::int64_t n = 3'000'000;
  const auto all = expected(n);
  for (const std::size_t at : {std::size_t{0}, std::size_t{200'000}, all.size() / 2, all.size() - 5})
    for (const std::size_t lost : {1, 2}) {
      std::size_t next = 0, wrong = 0;
      pairs(many, n).for_each([&](const pair& p) {
        if (next == at) {
          const auto there = query::tests::containers();
          ASSERT_EQ(there.size(), 2u);  // the query does not stay in this process
          for (std::size_t k = 0; k < lost; ++k) ::kill(there[there.size() - 1 - k], SIGKILL);
        }
        wrong += next >= all.size() || !(all[next] == p);
        ++next;
      });
      EXPECT_EQ(next, all.size()) << "lost at " << at;
      EXPECT_EQ(wrong, 0u) << "lost at " << at;
    }
}

TEST_F(handed_on, sorted_rows_come_once_whatever_is_lost) {
  constexpr std::int64_t n = 600'000;
  std::vector<pair> in_one;
  sorted(one, n).for_each([&](const pair& p) { in_one.push_back(p); });
  for (const std::size_t at : {std::size_t{10}, in_one.size() / 2}) {
    std::vector<pair> found;
    for (const pair& p : sorted(many, n)) {
      if (found.size() == at) kill_one(1);
      found.push_back(p);
    }
    EXPECT_TRUE(found == in_one) << "lost at " << at;
  }
}

TEST_F(handed_on, readers_may_leave) {
  for (int i = 0; i < 3; ++i) {
    std::int64_t seen = 0;
    for (const pair& p : sorted(many, 500'000)) {
      seen += p.number >= 0;
      if (seen == 1000 * i + 1) break;
    }
    EXPECT_EQ(seen, 1000 * i + 1);
    EXPECT_EQ(pairs(many, 7000).count(), 6000u);
  }
}

TEST_F(handed_on, an_exception_of_the_function_is_the_querys) {
  std::int64_t seen = 0;
  EXPECT_THROW(pairs(many, 500'000).for_each([&](const pair&) {
    if (++seen == 1000) throw std::out_of_range("enough");
  }),
               std::out_of_range);
  EXPECT_EQ(seen, 1000);
  EXPECT_EQ(pairs(many, 7000).count(), 6000u);
}

TEST_F(handed_on, a_deadline_ends_it) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(pairs(many, 20'000'000).timeout(std::chrono::milliseconds(300)).for_each([&](const pair&) {
    if (std::chrono::steady_clock::now() - begin < std::chrono::seconds(20)) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }),
               query::cancelled);
  EXPECT_EQ(pairs(many, 7000).count(), 6000u);
}

// The first partition's rows are there long before those of the others, who wait.
TEST_F(handed_on, rows_come_before_all_are_made) {
  if (query::tests::on_ray()) GTEST_SKIP() << "its processes do not see this one's files";
  const auto gate = std::filesystem::temp_directory_path() / ("handed_on_gate_" + std::to_string(::getpid()));
  std::filesystem::remove(gate);
  struct name {
    char text[256];
  } to{};
  std::snprintf(to.text, sizeof to.text, "%s", gate.c_str());
  std::int64_t next = 0;
  query::range(std::int64_t{0}, std::int64_t{30'000})
      .in(many)
      .select(query::opaque([to](std::int64_t x) {
        // Waits in the last partition until the first row has been given; a reader that waits for all rows never gets one.
        for (int i = 0; x == 29'999 && i < 3000 && ::access(to.text, F_OK) != 0; ++i) ::usleep(10'000);
        return x == 29'999 && ::access(to.text, F_OK) != 0 ? std::int64_t{-1} : x;
      }))
      .for_each([&](std::int64_t x) {
        if (next == 0) std::ofstream(to.text) << "open";
        EXPECT_EQ(x, next);
        ++next;
      });
  EXPECT_EQ(next, 30'000);
  std::filesystem::remove(gate);
}

}  // namespace
}  // namespace handed_on_test
