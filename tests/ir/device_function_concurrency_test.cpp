// Threads that make and give up the same device functions at the same time.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <ir/device_function.hpp>

namespace device_function_concurrency_test {

using query::detail::held_device_function;
using query::detail::hold_device_function;

constexpr int threads = 4;

template <class F> void on_threads(const F& f) {
  std::vector<std::jthread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&f, i] { f(i); });
}

TEST(device_function_by_threads, is_one_while_all_hold_it) {
  constexpr int rounds = 200;
  std::vector<std::shared_ptr<const held_device_function>> held(threads);
  std::barrier together(threads);
  int differ = 0;  // of thread 0
  on_threads([&](int me) {
    for (int round = 0; round < rounds; ++round) {
      together.arrive_and_wait();
      held[static_cast<std::size_t>(me)] = hold_device_function({.symbol = "f", .code = "code"}, {"a.cpp", 1});
      together.arrive_and_wait();
      if (me == 0)
        for (const auto& h : held) differ += h != held[0];
      together.arrive_and_wait();
      held[static_cast<std::size_t>(me)] = nullptr;
    }
  });
  EXPECT_EQ(differ, 0);
}

// Functions that differ in their layouts only share a hash: each look-up holds the other while it compares the code, at times as
// its last owner.
TEST(device_function_by_threads, is_made_and_given_up_at_any_time) {
  const std::string code(std::size_t{1} << 17, ' ');
  std::atomic<int> wrong = 0;
  on_threads([&](int me) {
    const query::ir::type* rows[] = {query::ir::describe<double>()};
    for (int round = 0; round < 500; ++round) {
      const auto size = static_cast<std::size_t>(8 * (1 + (me + round) % 2));
      query::ir::traced call;
      {
        const auto d = hold_device_function({.symbol = "f", .code = code, .row = {.size = size}}, {"a.cpp", 1});
        call = query::detail::device_call(*d, rows[0], rows);
      }
      wrong += query::ir::device_function_of(call.root)->function.row.size != size;
    }
  });
  EXPECT_EQ(wrong, 0);
}

}  // namespace device_function_concurrency_test
