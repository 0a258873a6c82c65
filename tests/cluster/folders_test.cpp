// Folders that partitions write, a file each: wholly old or wholly new, whatever ends when, and nothing beside them.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/session_state.hpp"
#include "temp_folder.hpp"

extern char** environ;

namespace folders_test {

struct line {
  std::int64_t id = 0;
  std::string text;
  double weight = 0;
  bool operator==(const line&) const = default;
};
QUERY_RECORD(line, id, text, weight);
struct padded {
  std::int8_t small = 0;
  double large = 0;
  std::int16_t last = 0;
  bool operator==(const padded&) const = default;
};
QUERY_RECORD(padded, small, large, last);

namespace {

namespace fs = std::filesystem;
constexpr const char* folder_variable = "QUERY_TEST_FOLDER_WRITER";

std::vector<line> lines(int n) {
  std::vector<line> all;
  for (int i = 0; i < n; ++i) all.push_back({i, "a \"quoted\"\nline, " + std::to_string(i % 17), i % 2 ? i / 8.0 : -0.0});
  return all;
}
query::Session many() { return query::Session::cluster(query::tests::three_processes(), {.threads = 1, .gpu = query::gpu_use::off}); }

class folders : public ::testing::Test {
 protected:
  query::tests::temp_folder parent{"folders"};
  const std::string path = parent.name() + "/out/";
  query::Session one{{.threads = 2, .gpu = query::gpu_use::off}};

  struct named {
    query::Session session;
    std::size_t files;
  };
  std::vector<named> sessions() const {
    std::vector<named> all{{one, 1}, {query::Session({.threads = 2, .gpu = query::gpu_use::off}), 4}, {many(), 3}};
    all[1].session.state()->partitions = 4;
    for (const auto& s : all) s.session.state()->least_divided_file = 0;
    return all;
  }
  std::vector<std::string> names(const std::string& in) const {
    std::vector<std::string> all;
    for (const auto& entry : fs::directory_iterator(in)) all.push_back(entry.path().filename().string());
    std::sort(all.begin(), all.end());
    return all;
  }
  void expect_only_the_folder() const { EXPECT_EQ(names(parent.name()), std::vector<std::string>{"out"}); }
  std::vector<line> read() const { return query::read_csv<line>(path).in(one).to_vector(); }
  template <class F> static std::string error_of(F run) {
    try {
      run();
    } catch (const std::exception& e) {
      return e.what();
    }
    return "no error";
  }
};

TEST_F(folders, hold_a_file_for_each_partition_in_the_order_of_rows) {
  const auto rows = lines(1000), none = lines(0), few = lines(1);
  for (const named& s : sessions()) {
    for (const auto* some : {&rows, &none, &few}) {
      query::from(*some).in(s.session).where([](auto x) { return x.id >= 0; }).write_csv(path);
      EXPECT_EQ(names(path).size(), s.files);
      EXPECT_EQ(names(path).front(), "part-00000.csv");
      EXPECT_EQ(read(), *some);
      EXPECT_EQ(query::read_csv<line>(path).in(s.session).to_vector(), *some);
      expect_only_the_folder();
    }
    query::from(rows).in(s.session).order_by_descending([](auto x) { return x.weight; }).write_csv(path, {.header = false});
    EXPECT_EQ(query::read_csv<line>(path + "part-*.csv", {.header = false}).in(s.session).to_vector(),
              query::from(rows).in(one).order_by_descending([](auto x) { return x.weight; }).to_vector());
  }
}

TEST_F(folders, of_binary_rows_have_the_same_bytes_each_time) {
  std::vector<padded> rows;
  for (int i = 0; i < 5000; ++i) {
    alignas(padded) unsigned char bytes[sizeof(padded)];
    std::fill(std::begin(bytes), std::end(bytes), static_cast<unsigned char>(i));  // between the fields, too
    auto* row = new (bytes) padded;
    row->small = static_cast<std::int8_t>(i);
    row->large = i % 7 ? i : std::numeric_limits<double>::quiet_NaN();
    row->last = static_cast<std::int16_t>(-i);
    rows.push_back(*row);
  }
  const auto bytes_of = [](const std::string& folder) {
    std::string all;
    for (int p = 0; p < 4; ++p) {
      std::ifstream file(folder + "part-0000" + std::to_string(p) + ".bin", std::ios::binary);
      all.append(std::istreambuf_iterator<char>(file), {});
    }
    return all;
  };
  std::string expected;
  for (const named& s : sessions()) {
    query::from(rows).in(s.session).write_binary(path);
    if (expected.empty()) expected = bytes_of(path);
    EXPECT_EQ(expected.size(), rows.size() * sizeof(padded));
    EXPECT_EQ(bytes_of(path), expected);
    for (std::size_t gap : {1, 7, 18, 23}) EXPECT_EQ(expected[gap], 0);
    EXPECT_EQ(query::read_binary<padded>(path).in(s.session).where([](auto x) { return x.large >= 0; }).count(), 4285);
  }
}

TEST_F(folders, that_hold_something_else_are_left_alone) {
  const auto rows = lines(10);
  for (const named& s : sessions()) {
    const auto q = query::from(rows).in(s.session);
    q.write_csv(path);
    std::ofstream(path + "notes.txt") << "mine";
    EXPECT_NE(error_of([&] { q.write_csv(path); }).find("holds something that is no part of an earlier result, and would be lost: " + path +
                                                        "notes.txt"), std::string::npos);
    EXPECT_TRUE(fs::exists(path + "notes.txt"));
    fs::remove(path + "notes.txt");
    // One that comes while the query runs.
    EXPECT_NE(error_of([&] {
      q.where([at = path.c_str()](const line& x) {
         if (x.id == 0) std::ofstream(at + std::string("notes.txt")) << "mine";
         return true;
       }).as_ordered().write_csv(path);
    }).find("would be lost"), std::string::npos);
    EXPECT_TRUE(fs::exists(path + "notes.txt"));
    fs::remove(path + "notes.txt");
    EXPECT_EQ(read(), rows);
    expect_only_the_folder();
    fs::remove_all(path);
    std::ofstream(parent.name() + "/out") << "a file";
    EXPECT_NE(error_of([&] { q.write_csv(path); }).find("Not a directory"), std::string::npos);
    fs::remove(parent.name() + "/out");
    fs::create_directory(path);
    fs::permissions(path, fs::perms::owner_all);
    q.write_csv(path);
    EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_all);
    EXPECT_EQ(read(), rows);
    fs::remove_all(path);
  }
}

TEST_F(folders, stay_as_they_were_after_an_error_or_a_stop) {
  const auto rows = lines(20000);
  const auto before = lines(5);
  for (const named& s : sessions()) {
    query::from(before).in(s.session).write_csv(path);
    const auto q = query::from(rows).in(s.session);
    const auto fails = q.where([](const line& x) { return x.id == 15000 ? throw std::out_of_range("the function's own") : true; });
    EXPECT_NE(error_of([&] { fails.write_csv(path); }).find("the function's own"), std::string::npos);
    EXPECT_EQ(read(), before);
    expect_only_the_folder();
    const auto slow = q.where([](const line& x) {
      if (x.id % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      return true;
    });
    EXPECT_THROW(slow.timeout(0.1).write_csv(path), query::cancelled);
    EXPECT_EQ(read(), before);
    expect_only_the_folder();
  }
}

TEST_F(folders, stay_as_they_were_where_the_disk_is_full) {
  const auto rows = lines(20000);
  const auto before = lines(5);
  rlimit limit{};
  ::getrlimit(RLIMIT_FSIZE, &limit);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  for (const named& s : sessions()) {
    query::from(before).in(s.session).write_csv(path);
    const rlimit small{100'000, limit.rlim_max};
    const query::Session again = s.files == 3 ? many() : s.session;  // processes that begin with the limit
    const auto q = query::from(rows).in(again);
    ::setrlimit(RLIMIT_FSIZE, &small);
    EXPECT_THROW(q.write_csv(path), query::resource_error);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_EQ(read(), before);
    expect_only_the_folder();
  }
  ::signal(SIGXFSZ, handler);
}

TEST_F(folders, survive_the_loss_of_processes) {
  const auto rows = lines(60000);
  std::mt19937 random{static_cast<std::uint32_t>(std::atoi(std::getenv("QUERY_TEST_SEED") ? std::getenv("QUERY_TEST_SEED") : "5"))};
  const int kills = std::getenv("QUERY_TEST_KILLS") ? std::atoi(std::getenv("QUERY_TEST_KILLS")) : 6;
  query::Session s = many();
  const auto q = query::from(rows).in(s).select([](auto x) { return query::make<line>(x.id, x.text, x.weight + 1); });
  q.write_csv(path);
  const auto begin = std::chrono::steady_clock::now();
  q.write_csv(path);
  const auto takes = std::chrono::steady_clock::now() - begin;
  const auto expected = read();
  ASSERT_EQ(expected.size(), rows.size());
  int hits = 0;
  for (int i = 0; i < kills; ++i) {
    auto all = query::tests::containers();
    if (all.size() != 2) q.write_csv(path), all = query::tests::containers();
    ASSERT_EQ(all.size(), 2u);
    const pid_t victim = all[random() % 2];
    const auto after = takes * static_cast<int>(random() % 100) / 100;
    std::thread killer([&] {
      std::this_thread::sleep_for(after);
      ::kill(victim, SIGKILL);
    });
    EXPECT_EQ(error_of([&] { q.write_csv(path); }), "no error");
    killer.join();
    EXPECT_EQ(names(path), (std::vector<std::string>{"part-00000.csv", "part-00001.csv", "part-00002.csv"}));
    EXPECT_EQ(read(), expected);
    expect_only_the_folder();
    const auto now = query::tests::containers();
    hits += std::find(now.begin(), now.end(), victim) == now.end();
  }
  EXPECT_GT(hits, 0);
}

// Runs in a process of its own, which is killed.
TEST(DISABLED_folders, are_written_until_killed) {
  const char* const path = std::getenv(folder_variable);
  if (!path) return;
  query::Session s = many();
  query::range(std::int64_t{0}, 1'000'000'000).in(s).write_binary(path);
}

TEST_F(folders, are_not_touched_by_a_program_that_was_killed_and_cleared_by_the_next) {
  const auto rows = lines(10);
  query::from(rows).in(one).write_csv(path);
  const std::string old = parent.name() + "/out.tmp-1-1";
  fs::create_directories(old + "/whole");
  std::ofstream(old + "/1-0-1") << "unfinished";
  std::ofstream(old + "/whole/part-00000.csv") << "unfinished";
  fs::create_directories(parent.name() + "/out.tmp-1-2");
  const int held = ::open((parent.name() + "/out.tmp-1-2").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(held, LOCK_EX), 0);

  // A folder of such a name that holds something else is the user's.
  fs::create_directories(parent.name() + "/out.tmp-2024-11");
  std::ofstream(parent.name() + "/out.tmp-2024-11/notes.txt") << "keep";
  query::from(rows).in(one).write_csv(path);
  EXPECT_TRUE(fs::exists(parent.name() + "/out.tmp-2024-11/notes.txt"));
  fs::remove_all(parent.name() + "/out.tmp-2024-11");
  EXPECT_FALSE(fs::exists(old));
  fs::create_directories(old + "/whole");
  std::ofstream(old + "/whole/part-00000.csv") << "unfinished";

  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const char* arguments[] = {self.c_str(), "--gtest_filter=DISABLED_folders.*", "--gtest_also_run_disabled_tests", nullptr};
  const std::string variable = std::string(folder_variable) + "=" + path;
  std::vector<char*> environment{const_cast<char*>(variable.c_str())};
  for (char** v = environ; *v; ++v) environment.push_back(*v);
  environment.push_back(nullptr);
  pid_t child = 0;
  ASSERT_EQ(::posix_spawn(&child, self.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environment.data()), 0);
  const std::string staging = "out.tmp-" + std::to_string(child) + "-";
  const auto writes = [&] {
    for (const std::string& name : names(parent.name()))
      if (name.starts_with(staging)) return true;
    return false;
  };
  for (int i = 0; i < 2000 && !writes(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_TRUE(writes());
  std::this_thread::sleep_for(std::chrono::milliseconds(300));  // into the files, which may have no names yet
  EXPECT_FALSE(fs::exists(old));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  EXPECT_EQ(read(), rows);
  EXPECT_GT(names(parent.name()).size(), 2u);
  query::from(lines(20)).in(one).write_csv(path);
  EXPECT_EQ(read(), lines(20));
  EXPECT_EQ(names(parent.name()), (std::vector<std::string>{"out", "out.tmp-1-2"}));
  ::close(held);
  query::from(rows).in(one).write_csv(path);
  expect_only_the_folder();
}

}  // namespace
}  // namespace folders_test
