// checkpoint(): a program that is started again goes on where it was, and nothing else is taken for its rows.
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <query/query.hpp>

#include "cluster/cluster_under_test.hpp"
#include "runtime/checksum.hpp"
#include "temp_folder.hpp"

extern char** environ;

namespace checkpoint_test {

struct amount {
  std::int64_t id;
  double value;
  std::string name;
  friend bool operator==(const amount&, const amount&) = default;
};
QUERY_RECORD(amount, id, value, name);

namespace {

namespace fs = std::filesystem;
constexpr int all_rounds = 12;

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

void wait_for_files(const fs::path& folder) {
  for (int i = 0; i < 1000 && files_in(folder).empty(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

std::vector<amount> amounts(double more = 0) {
  std::vector<amount> all;
  for (int i = 0; i < 2000; ++i) all.push_back({i, i / 8.0, "amount number " + std::to_string(i)});
  all.back().value += more;
  return all;
}
std::vector<amount> after(int rounds, double step) {
  std::vector<amount> all = amounts();
  for (amount& a : all) a.value += rounds * step;
  return all;
}

// What happens behind each round, in this process. The query is the same whatever it is.
std::function<void(int round)> behind_round;
int rounds_run = 0;

query::Query<amount> loop(const query::Session& s, const std::vector<amount>& start, double step, const std::string& name = "sums") {
  rounds_run = 0;
  return query::from(start)
      .in(s)
      .do_while(
          [step](query::Query<amount> now) {
            return now.select([step](auto a) { return query::make<amount>(a.id, a.value + step, a.name); });
          },
          [](std::span<const amount>, std::span<const amount> next) {
            ++rounds_run;
            const int round = static_cast<int>((next[0].value + 0.25) / 0.5);  // of steps of a half
            if (behind_round) behind_round(round);
            return round < all_rounds;
          })
      .checkpoint(name);
}

class checkpoints : public ::testing::Test {
 protected:
  query::tests::temp_folder folder{"checkpoints"};
  const std::vector<amount> start = amounts();
  fs::path of(const std::string& name) const { return fs::path(folder.name()) / name; }
  query::Session session() const {
    return query::Session({.threads = 2, .checkpoint_folder = folder.name(), .gpu = query::gpu_use::off});
  }
  template <class F> std::string error_of(F f) {
    try {
      f();
    } catch (const query::user_error& e) {
      return e.what();
    }
    return "no error";
  }
  void TearDown() override { behind_round = nullptr; }
};
void expect_in(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "'" << part << "' is not in: " << text;
}

// The program that is started again: this one, with the folder in its environment.
int run_again(const std::string& folder, int die_at) {
  const std::string at = "QUERY_TEST_CHECKPOINTS=" + folder, die = "QUERY_TEST_DIE_AT=" + std::to_string(die_at);
  std::vector<char*> environment;
  for (char** e = environ; *e; ++e) environment.push_back(*e);
  environment.push_back(const_cast<char*>(at.c_str()));
  environment.push_back(const_cast<char*>(die.c_str()));
  environment.push_back(nullptr);
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const char* arguments[] = {self.c_str(), "--gtest_filter=checkpointed_program.runs", "--gtest_also_run_disabled_tests", nullptr};
  pid_t child = 0;
  if (::posix_spawn(&child, self.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environment.data()) != 0) return -1;
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(checkpointed_program, runs) {
  const char* const folder = std::getenv("QUERY_TEST_CHECKPOINTS");
  if (!folder) GTEST_SKIP() << "is started by checkpoints.are_found_by_a_program_that_is_started_again";
  const int die_at = std::atoi(std::getenv("QUERY_TEST_DIE_AT"));
  behind_round = [&](int round) {
    if (round != die_at) return;
    wait_for_files(fs::path(folder) / "sums");
    ::raise(SIGKILL);
  };
  const query::Session s({.threads = 2, .checkpoint_folder = folder, .gpu = query::gpu_use::off});
  const std::vector<amount> start = amounts();
  const auto q = loop(s, start, 0.5);
  EXPECT_EQ(q.to_vector(), after(all_rounds, 0.5));
  EXPECT_LT(rounds_run, all_rounds);
  expect_in(q.explain(), "begun behind round");
}

TEST_F(checkpoints, are_found_by_a_program_that_is_started_again) {
  ASSERT_EQ(run_again(folder.name(), 5), 128 + SIGKILL);
  EXPECT_FALSE(files_in(of("sums")).empty());
  EXPECT_EQ(run_again(folder.name(), 0), 0);
}

TEST_F(checkpoints, cost_no_answer) {
  const auto s = session();
  const auto q = loop(s, start, 0.5);
  EXPECT_EQ(q.to_vector(), after(all_rounds, 0.5));
  EXPECT_EQ(rounds_run, all_rounds);
  expect_in(q.explain(), "kept as the checkpoint \"sums\"");
  expect_in(q.explain(), "round");
  EXPECT_LE(files_in(of("sums")).size(), 2u);
  EXPECT_EQ(loop(s, start, 0.5).to_vector(), after(all_rounds, 0.5));
  EXPECT_LT(rounds_run, all_rounds);
}

TEST_F(checkpoints, of_other_queries_and_rows_are_refused) {
  const auto s = session();
  loop(s, start, 0.5).to_vector();
  expect_in(error_of([&] { loop(s, start, 1.0).to_vector(); }), "other captured values");
  const std::vector<amount> others = amounts(1);
  const std::string error = error_of([&] { loop(s, others, 0.5).to_vector(); });
  expect_in(error, "over other rows");
  expect_in(error, "checkpoint_test.cpp");
  const auto files = files_in(of("sums"));
  ASSERT_FALSE(files.empty());
  for (const fs::path& file : files) {  // of another program
    std::fstream bytes(file, std::ios::in | std::ios::out | std::ios::binary);
    char head[72];
    bytes.read(head, sizeof head);
    head[24] = static_cast<char>(head[24] ^ 1);
    const std::uint64_t sum = query::runtime::checksum(head, sizeof head);
    bytes.seekp(0);
    bytes.write(head, sizeof head).write(reinterpret_cast<const char*>(&sum), sizeof sum);
  }
  expect_in(error_of([&] { loop(s, start, 0.5).to_vector(); }), "another program");
}

TEST_F(checkpoints, that_are_damaged_are_left_out) {
  const auto s = session();
  loop(s, start, 0.5).to_vector();
  const auto files = files_in(of("sums"));
  ASSERT_FALSE(files.empty());
  const fs::path damaged = of("sums") / "0000000012.rows";  // the last round is not kept
  fs::copy_file(files.back(), damaged);
  std::fstream bytes(damaged, std::ios::in | std::ios::out | std::ios::binary);
  bytes.seekp(300);
  bytes.put('\x7f').put('\x01').put('\x55');
  bytes.close();
  const auto q = loop(s, start, 0.5);
  EXPECT_EQ(q.to_vector(), after(all_rounds, 0.5));
  EXPECT_LT(rounds_run, all_rounds);
  expect_in(q.explain(), "is damaged");
  for (const fs::path& file : files_in(of("sums"))) fs::resize_file(file, 100);
  EXPECT_EQ(loop(s, start, 0.5).to_vector(), after(all_rounds, 0.5));
  EXPECT_EQ(rounds_run, all_rounds);
}

TEST_F(checkpoints, of_two_programs_at_once_are_refused) {
  const auto s = session();
  behind_round = [&](int round) {
    if (round != 1) return;  // before the first one is kept
    for (int r = 1; r <= 20; ++r)
      std::ofstream(of("sums") / (std::string(r < 10 ? "000000000" : "00000000") + std::to_string(r) + ".rows")) << "other";
  };
  expect_in(error_of([&] { loop(s, start, 0.5).to_vector(); }), "another program keeps rounds");
}

TEST_F(checkpoints, without_room_cost_no_answer) {
  const auto s = session();
  const auto q = loop(s, start, 0.5);
  rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1000, before.rlim_max};
  ::setrlimit(RLIMIT_FSIZE, &small);
  const auto rows = q.to_vector();
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_EQ(rows, after(all_rounds, 0.5));
  expect_in(q.explain(), "could not be kept");
  EXPECT_TRUE(files_in(of("sums")).empty());
}

TEST_F(checkpoints, of_rows_take_the_place_of_what_they_were_made_of) {
  static int calls;
  calls = 0;
  const auto made = [&](const query::Session& s) {
    return query::from(start)
        .in(s)
        .select([](const amount& a) {
          ++calls;
          return amount{a.id, a.value * 2, a.name + "!"};
        })
        .checkpoint("doubled.1");
  };
  const query::Session one({.threads = 1, .checkpoint_folder = folder.name(), .gpu = query::gpu_use::off});
  const query::Session other({.threads = 1, .checkpoint_folder = folder.name(), .gpu = query::gpu_use::off});
  const auto first = made(one).to_vector();
  EXPECT_EQ(calls, 2000);
  const auto again = made(other);
  EXPECT_EQ(again.to_vector(), first);
  EXPECT_EQ(again.where([](auto a) { return a.id < 10; }).count(), 10u);
  EXPECT_EQ(calls, 2000);
  const auto none = query::from(std::vector<amount>{}).in(one).where([](auto a) { return a.id > 0; }).checkpoint("none");
  EXPECT_EQ(none.count(), 0u);
  EXPECT_EQ(query::from(std::vector<amount>{}).in(other).where([](auto a) { return a.id > 0; }).checkpoint("none").count(), 0u);
}

TEST_F(checkpoints, errors_say_what_to_do) {
  const auto s = session();
  const query::Session without({.gpu = query::gpu_use::off});
  expect_in(error_of([&] { loop(without, start, 0.5).to_vector(); }), "QUERY_CHECKPOINTS");
  for (const char* name : {"", "../up", ".hidden", "a/b", "a b"})
    expect_in(error_of([&] { query::from(start).in(s).checkpoint(name); }), "a name has 1 to 100 letters");
  std::ofstream(of("file")) << "no folder";
  const query::Session in_a_file({.checkpoint_folder = of("file").string(), .gpu = query::gpu_use::off});
  expect_in(error_of([&] { loop(in_a_file, start, 0.5).to_vector(); }), "cannot be made or written to");
  const std::string text = "captured";
  expect_in(error_of([&] {
              query::from(start).in(s).select([text](const amount& a) { return a.name + text; }).checkpoint("texts").count();
            }),
            "cannot be compared");
  expect_in(error_of([&] {
              query::generate([i = 0]() mutable { return i < 5 ? std::optional<int>(i++) : std::nullopt; })
                  .in(s)
                  .checkpoint("made")
                  .count();
            }),
            "come from a function");
  expect_in(error_of([&] {
              query::from(start)
                  .in(s)
                  .do_while(
                      [](query::Query<amount> outer) {
                        return outer.do_while([](query::Query<amount> now) { return now.where([](auto a) { return a.id > 1; }); },
                                              query::times(2))
                            .checkpoint("inner");
                      },
                      query::times(2))
                  .to_vector();
            }),
            "a loop within a loop");
}

TEST_F(checkpoints, of_a_cluster_are_the_same) {
  const auto cluster = query::Session::cluster(query::tests::three_processes(),
                                               {.threads = 1, .checkpoint_folder = folder.name(), .gpu = query::gpu_use::off});
  const auto made = [&](const query::Session& s) {
    return query::from(start).in(s).group_by([](auto a) { return a.id % 10; }).select([](auto g) {
      return query::make<amount>(g.key(), g.sum([](auto a) { return a.value; }), g.max([](auto a) { return a.name; }));
    });
  };
  const auto there = made(cluster).order_by([](auto a) { return a.id; }).checkpoint("groups").to_vector();
  EXPECT_EQ(there, made(session()).order_by([](auto a) { return a.id; }).to_vector());
  EXPECT_EQ(loop(cluster, start, 0.5).to_vector(), after(all_rounds, 0.5));
  const auto s = session();
  EXPECT_EQ(loop(s, start, 0.5).to_vector(), after(all_rounds, 0.5));  // a cluster's serve one process
  EXPECT_LT(rounds_run, all_rounds);
}

}  // namespace
}  // namespace checkpoint_test
