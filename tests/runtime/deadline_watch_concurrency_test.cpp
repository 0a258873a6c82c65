#include "runtime/deadline_watch.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>
#include <vector>

namespace query::runtime {
namespace {

using clock = cancel_flag::clock;
using namespace std::chrono_literals;

constexpr auto long_enough = 120s;  // for a busy machine: who is told waits no longer than until then

// Waits until the flag itself says so: nobody calls reason() here. Looks once more when the time is over, as this thread may have been
// put aside for all of it.
bool told_in(const cancel_flag& flag, clock::duration most) {
  for (const auto begin = clock::now();; std::this_thread::sleep_for(1ms)) {
    const bool over = clock::now() - begin >= most;
    if (flag.state().stopped_now) return true;
    if (over) return false;
  }
}

TEST(deadline_watch, tells_a_flag_at_its_deadline) {
  deadline_watch watch;
  const cancel_flag late(clock::now() + 1h), soon(clock::now() + 20ms);
  const auto a = watch.follow(late), b = watch.follow(soon);
  EXPECT_TRUE(told_in(soon, long_enough));
  EXPECT_FALSE(late.state().stopped_now);
  EXPECT_THROW(detail::throw_stopped(soon.state()), cancelled);
}

TEST(deadline_watch, asks_tokens_that_do_not_call_back) {
  deadline_watch watch;
  std::atomic<bool> stop = false;
  const cancel_flag flag([&] { return stop.load(); }, std::nullopt);
  const auto a = watch.follow(flag);
  EXPECT_FALSE(told_in(flag, 10ms));
  stop = true;
  EXPECT_TRUE(told_in(flag, long_enough));
}

TEST(deadline_watch, follows_no_flag_that_tells_by_itself) {
  deadline_watch watch;
  std::stop_source source;
  const cancel_flag flag(source.get_token()), plain;
  EXPECT_EQ(watch.follow(flag), nullptr);
  EXPECT_EQ(watch.follow(plain), nullptr);
  source.request_stop();
  EXPECT_TRUE(flag.state().stopped_now);
}

// It may wait for a lock of its user's, whose holder runs queries.
TEST(deadline_watch, other_queries_begin_and_end_while_a_token_is_asked) {
  deadline_watch watch;
  std::atomic<bool> asking = false, others_ended = false, in_vain = false;
  const cancel_flag slow([&] {
    asking = true;
    const auto end = clock::now() + long_enough;
    while (!others_ended && clock::now() < end) std::this_thread::sleep_for(1ms);
    if (!others_ended) in_vain = true;
    return false;
  }, std::nullopt);
  const auto a = watch.follow(slow);
  while (!asking) std::this_thread::sleep_for(1ms);
  for (int i = 0; i < 3; ++i) {
    const cancel_flag other(clock::now() + 1h);
    const auto b = watch.follow(other);
  }
  others_ended = true;
  EXPECT_FALSE(in_vain);
}

TEST(deadline_watch, waits_for_the_answer_before_a_flag_goes) {
  deadline_watch watch;
  std::atomic<bool> asking = false, answered = false;
  const cancel_flag slow([&] {
    asking = true;
    std::this_thread::sleep_for(20ms);
    answered = true;
    return true;
  }, std::nullopt);
  auto a = watch.follow(slow);
  while (!asking) std::this_thread::sleep_for(1ms);
  a.reset();
  EXPECT_TRUE(answered);
}

TEST(deadline_watch, flags_come_and_go_on_many_threads) {
  deadline_watch watch;
  std::atomic<int> told = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) {
        const cancel_flag flag(clock::now() + (i % 2 ? 1h : clock::duration(1ms)));
        const auto a = watch.follow(flag);
        if (i % 10 == 0 && told_in(flag, long_enough)) ++told;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(told, 4 * 5);
}

}  // namespace
}  // namespace query::runtime
