// A process that takes much longer than its siblings: its task is copied to one that has nothing to do, and whoever is done first counts.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "cluster/master/session_cluster.hpp"
#include "runtime/session_state.hpp"

namespace slow_processes_test {

struct point {
  std::int32_t id, shelf;
  double x;
};
QUERY_RECORD(point, id, shelf, x);

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

std::vector<point> points(int n) {
  std::vector<point> all;
  for (int i = 0; i < n; ++i) all.push_back({i, i * 7919 % 300, i / 3.0});
  return all;
}

// The first process to come, but the leader, is slow; its copy is in another one.
struct slow_one {
  char file[48];
  pid_t leader;
  void stay_behind() const {
    if (::getpid() == leader) return;
    const int fd = ::open(file, O_CREAT | O_EXCL | O_WRONLY, 0600);
    if (fd < 0) return;
    ::close(fd);
    std::this_thread::sleep_for(40s);
  }
};

class slow_processes : public ::testing::Test {
 protected:
  query::Session many = query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off});

  void copy_after(std::uint64_t milliseconds) {
    static_cast<query::cluster::session_cluster&>(*many.state()->processes).copy_slow_tasks_after(milliseconds);
  }
  // f(slow_one) runs a query.
  template <class F> void costs_little(F f) {
    slow_one nobody{"/tmp/query_slow_XXXXXX", ::getpid()}, somebody = nobody;
    ::close(::mkstemp(nobody.file));
    ::close(::mkstemp(somebody.file));
    ::unlink(somebody.file);
    const auto expected = f(nobody);  // processes are started
    copy_after(300);
    const auto begin = clock::now();
    EXPECT_EQ(f(somebody), expected);
    EXPECT_LT(clock::now() - begin, 30s);
    EXPECT_TRUE(std::filesystem::exists(somebody.file));
    EXPECT_EQ(f(nobody), expected);  // the slow process is in use again, though its function has not ended
    ::unlink(nobody.file);
    ::unlink(somebody.file);
  }
};

// Sums that are not exact come out the same to the last bit.
TEST_F(slow_processes, cost_little_before_an_exchange) {
  const std::vector<point> rows = points(6000);
  costs_little([&](slow_one slow) {
    return query::from(rows)
        .in(many)
        .select(query::opaque([slow](const point& p) {
          slow.stay_behind();
          return point{p.id, p.shelf, p.x * 1.1};
        }))
        .group_by([](auto p) { return p.shelf; })
        .select([](auto g) { return query::make<point>(g.key(), g.key(), g.sum([](auto p) { return p.x / 7; })); })
        .order_by([](auto p) { return p.id; })
        .select([](auto p) { return p.x; })
        .to_vector();
  });
}

// Blocks that all others have read are sent once more.
TEST_F(slow_processes, cost_little_after_an_exchange) {
  const std::vector<point> rows = points(6000);
  costs_little([&](slow_one slow) {
    const auto sum = query::from(rows)
                         .in(many)
                         .group_by([](auto p) { return p.shelf; })
                         .select([](auto g) { return query::make<point>(g.key(), g.key(), g.max([](auto p) { return p.x; })); })
                         .select(query::opaque([slow](const point& p) {
                           slow.stay_behind();
                           return p.shelf;
                         }))
                         .sum();
    EXPECT_EQ(sum, 300 * 299 / 2);
    return sum;
  });
}

// The files of a folder come together, each of one attempt.
TEST_F(slow_processes, cost_little_when_they_write_files) {
  const std::vector<point> rows = points(6000);
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / ("query_slow_" + std::to_string(::getpid()));
  costs_little([&](slow_one slow) {
    query::from(rows)
        .in(many)
        .select(query::opaque([slow](const point& p) {
          slow.stay_behind();
          return p.id;
        }))
        .write_csv(folder.string() + "/");
    std::vector<std::string> lines;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::ifstream in(file.path());
      for (std::string line; std::getline(in, line);)
        if (!line.empty() && std::isdigit(static_cast<unsigned char>(line[0]))) lines.push_back(line);
    }
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(lines.size(), rows.size());
    return lines;
  });
  std::filesystem::remove_all(folder);
}

// Stopped most of the time, though it never fails to answer.
TEST_F(slow_processes, are_explained) {
  if (query::tests::on_ray()) GTEST_SKIP() << "another process of its own is stopped";
  const std::vector<point> rows = points(600);
  const auto sum = query::from(rows).in(many).select(query::opaque([](const point& p) {
    const auto used = [] {
      timespec t{};
      ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
      return t.tv_sec * 1'000'000'000 + t.tv_nsec;
    };
    for (const auto begin = used(); used() < begin + 1'000'000;) {}
    return static_cast<std::int64_t>(p.id);
  }));
  const std::int64_t expected = 600 * 599 / 2;
  EXPECT_EQ(sum.sum(), expected);
  EXPECT_EQ(sum.explain().find("copied"), std::string::npos) << sum.explain();
  copy_after(300);
  const pid_t slow = query::tests::containers().at(0);
  std::atomic<bool> ended{false};
  std::thread stops([&] {
    while (!ended) {
      ::kill(slow, SIGSTOP);
      std::this_thread::sleep_for(300ms);
      ::kill(slow, SIGCONT);
      std::this_thread::sleep_for(2ms);
    }
  });
  std::int64_t got = 0;
  try {
    got = sum.sum();
  } catch (const std::exception& e) {
    ADD_FAILURE() << e.what();
  }
  ended = true;
  stops.join();
  EXPECT_EQ(got, expected);
  EXPECT_NE(sum.explain().find("in the last run: 1 task was copied because its process was slow, and 1 copy was done first"),
            std::string::npos)
      << sum.explain();
}

}  // namespace
}  // namespace slow_processes_test
