// What every scheduler promises; instantiated for each of them.
//
//   void scheduler_runs_each_task_once(scheduler&);  ...   scheduler_keeps_its_contract(pool);
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "runtime/scheduler.hpp"

namespace query::runtime {

inline void scheduler_runs_each_task_once(scheduler& s) {
  const cancel_flag cancel;
  for (const std::size_t n : {0, 1, 2, 7, 10000}) {
    std::vector<std::atomic<int>> runs(n);
    s.for_each(n, [&](std::size_t i) { runs[i].fetch_add(1, std::memory_order_relaxed); }, cancel);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(runs[i], 1) << i << " of " << n;
  }
}

inline void scheduler_makes_results_visible_to_the_caller(scheduler& s) {
  const cancel_flag cancel;
  std::vector<int> plain(5000);
  s.for_each(plain.size(), [&](std::size_t i) { plain[i] = static_cast<int>(i); }, cancel);
  for (std::size_t i = 0; i < plain.size(); ++i) ASSERT_EQ(plain[i], static_cast<int>(i));
}

inline void scheduler_rethrows_an_exception_and_stops(scheduler& s) {
  const cancel_flag cancel;
  std::atomic<int> started{0};
  try {
    s.for_each(1000000, [&](std::size_t i) {
      started.fetch_add(1, std::memory_order_relaxed);
      if (i == 10) throw std::out_of_range("task 10");
    }, cancel);
    FAIL() << "no exception";
  } catch (const std::out_of_range& e) {
    EXPECT_STREQ(e.what(), "task 10");
  }
  EXPECT_GE(started, 11);
  scheduler_runs_each_task_once(s);  // and lives on
}

// Tasks behind the one that cancels wait for it: its thread can be put aside before it does, and the others would rightly run all the
// rest meanwhile. It has its number, as numbers are handed out in order, and waits for nobody.
inline void scheduler_stops_when_cancelled(scheduler& s) {
  cancel_flag cancel;
  std::atomic<int> started{0};
  std::atomic<bool> is_cancelled{false};
  EXPECT_THROW(s.for_each(1000000, [&](std::size_t i) {
    started.fetch_add(1, std::memory_order_relaxed);
    if (i == 5) {
      cancel.cancel();
      is_cancelled = true;
    }
    while (i > 5 && !is_cancelled) std::this_thread::yield();
  }, cancel), cancelled);
  EXPECT_LE(started, 6 + s.concurrency() - 1);  // each of the other threads may have had one in hand
  EXPECT_THROW(s.for_each(1, [](std::size_t) {}, cancel), cancelled);
}

inline void scheduler_nests(scheduler& s) {
  const cancel_flag cancel;
  std::atomic<int> runs{0};
  s.for_each(8, [&](std::size_t) {
    s.for_each(8, [&](std::size_t) {
      s.for_each(8, [&](std::size_t) { runs.fetch_add(1, std::memory_order_relaxed); }, cancel);
    }, cancel);
  }, cancel);
  EXPECT_EQ(runs, 512);
  EXPECT_THROW(s.for_each(4, [&](std::size_t) {
    s.for_each(4, [](std::size_t i) { if (i == 2) throw std::domain_error("inner"); }, cancel);
  }, cancel), std::domain_error);
}

inline void scheduler_serves_several_user_threads(scheduler& s) {
  const cancel_flag cancel;
  std::atomic<int> runs{0};
  std::vector<std::thread> users;
  for (int u = 0; u < 4; ++u)
    users.emplace_back([&] {
      for (int round = 0; round < 20; ++round)
        s.for_each(50, [&](std::size_t) { runs.fetch_add(1, std::memory_order_relaxed); }, cancel);
    });
  for (std::thread& t : users) t.join();
  EXPECT_EQ(runs, 4 * 20 * 50);
}

// A thread that waits must not run a task of its own outer for_each in the meantime.
inline void scheduler_isolates_waits(scheduler& s) {
  const cancel_flag cancel;
  std::atomic<int> reentered{0};
  s.for_each(64, [&](std::size_t) {
    thread_local bool inside = false;
    if (inside) ++reentered;
    inside = true;
    s.for_each(4, [](std::size_t) { std::this_thread::sleep_for(std::chrono::microseconds(50)); }, cancel);
    inside = false;
  }, cancel);
  EXPECT_EQ(reentered, 0);
}

// A thread that comes while all others are in tasks does its own work: they may be waiting for what it holds.
inline void scheduler_lets_all_user_threads_work(scheduler& s) {
  const cancel_flag cancel;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(120);
  const auto wait_for = [](auto ready, std::chrono::steady_clock::time_point until) {
    while (!ready() && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return ready();
  };
  const int all = s.concurrency();
  std::atomic<int> inside{0}, ended{0}, in_vain{0};
  std::vector<std::thread> late;
  for (int u = 0; u < 2 * all; ++u)
    late.emplace_back([&] {
      // A scheduler may have fewer threads to give than it was asked for.
      wait_for([&] { return inside == all; }, std::min(end, std::chrono::steady_clock::now() + std::chrono::seconds(1)));
      s.for_each(2, [](std::size_t) {}, cancel);
      ++ended;
    });
  s.for_each(static_cast<std::size_t>(all), [&](std::size_t) {
    ++inside;
    if (!wait_for([&] { return ended == 2 * all; }, end)) ++in_vain;
  }, cancel);
  for (std::thread& t : late) t.join();
  EXPECT_EQ(in_vain, 0);
}

inline void scheduler_keeps_its_contract(scheduler& s) {
  scheduler_runs_each_task_once(s);
  scheduler_makes_results_visible_to_the_caller(s);
  scheduler_rethrows_an_exception_and_stops(s);
  scheduler_stops_when_cancelled(s);
  scheduler_nests(s);
  scheduler_serves_several_user_threads(s);
  scheduler_isolates_waits(s);
  scheduler_lets_all_user_threads_work(s);
}

}  // namespace query::runtime
