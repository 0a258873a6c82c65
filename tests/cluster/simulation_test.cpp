// The master and the queues of its processes under every fault that a seed brings (simulation.hpp).
//   QUERY_TEST_SEEDS=100000 QUERY_TEST_SEED=1 query_cluster_tests --gtest_filter='simulation*'
#include "simulation.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace query::tests::simulated {
namespace {

std::uint64_t number(const char* variable, std::uint64_t standard) {
  const char* const text = std::getenv(variable);
  return text ? std::stoull(text) : standard;
}

TEST(simulation, any_losses_and_delays_leave_the_answer_as_it_is) {
  const std::uint64_t first = number("QUERY_TEST_SEED", 1), seeds = number("QUERY_TEST_SEEDS", 5000);
  std::uint64_t kills = 0, again = 0, restarts = 0, failures = 0, copied = 0, won = 0;
  for (std::uint64_t s = first; s < first + seeds; ++s) {
    const outcome o = simulate({.seed = s});
    EXPECT_EQ(o.wrong, "") << "seed " << s;
    kills += o.kills;
    again += o.tasks_again;
    restarts += o.restarts;
    failures += o.failures;
    copied += o.copied;
    won += o.copies_won;
    if (::testing::Test::HasFailure()) break;
  }
  EXPECT_GT(kills, seeds / 4);
  EXPECT_GT(again, seeds);
  EXPECT_GT(restarts, seeds / 15);
  EXPECT_GT(failures, seeds / 20);
  EXPECT_GT(copied, seeds / 10);
  EXPECT_GT(won, seeds / 20);
}

// Many tasks are copied whose rows come out another way each time.
TEST(simulation, any_losses_of_rows_that_differ_are_noticed_beside_a_slow_process) {
  const std::uint64_t first = number("QUERY_TEST_SEED", 1), seeds = number("QUERY_TEST_SEEDS", 5000) / 2;
  for (std::uint64_t s = first; s < first + seeds; ++s)
    ASSERT_EQ(simulate({.seed = s, .slow_process = true, .differs = true}).wrong, "") << "seed " << s;
}

TEST(simulation, the_same_seed_gives_the_same_trace) {
  for (std::uint64_t s = 1; s <= 50; ++s) EXPECT_EQ(simulate({.seed = s}).trace, simulate({.seed = s}).trace);
}

TEST(simulation, without_faults_nothing_runs_twice) {
  for (std::uint64_t s = 1; s <= 500; ++s) {
    const outcome o = simulate({.seed = s, .faults = false});
    EXPECT_EQ(o.wrong, "");
    EXPECT_EQ(o.tasks_again, 0u) << "seed " << s;
  }
}

// One process takes 50 times as long as the others. Loops whose rounds cannot be computed again have to wait for it.
TEST(simulation, copies_of_slow_tasks_save_time) {
  std::uint64_t waited = 0, with_copies = 0, won = 0;
  for (std::uint64_t s = 1; s <= 500; ++s) {
    const outcome slow = simulate({.seed = s, .faults = false, .slow_process = true, .copies = false});
    const outcome copied = simulate({.seed = s, .faults = false, .slow_process = true});
    EXPECT_EQ(slow.wrong + copied.wrong, "") << "seed " << s;
    EXPECT_EQ(slow.copied, 0u);
    waited += slow.ended_at;
    with_copies += copied.ended_at;
    won += copied.copies_won;
  }
  EXPECT_LT(with_copies * 3, waited * 2);
  EXPECT_GT(won, 100u);
}

}  // namespace
}  // namespace query::tests::simulated
