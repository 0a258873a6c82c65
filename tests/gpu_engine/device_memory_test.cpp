#include "gpu_engine/device_memory.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <query/detail/stop.hpp>
#include <query/errors.hpp>

#include "gpu_engine/on_device.hpp"

namespace query::gpu_engine {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;

class device_memory_test : public on_device {};
QUERY_ON_DEVICES(device_memory_test);

std::string refusal(device_memory& memory, std::size_t bytes, const stream& s) {
  try {
    memory.allocate(bytes, s);
  } catch (const resource_error& e) {
    return e.what();
  }
  return {};
}

TEST_P(device_memory_test, gives_aligned_memory_of_the_size_asked_for) {
  device_memory memory(gpu());
  const stream s(gpu());
  for (const std::size_t n : {std::size_t{1}, std::size_t{511}, std::size_t{513}, std::size_t{5000}, mib + 1, 5 * mib, 65 * mib + 7}) {
    const device_buffer b = memory.allocate(n, s);
    EXPECT_EQ(b.size(), n);
    EXPECT_GE(b.capacity(), n);
    EXPECT_LE(b.capacity(), n + n / 4 + 2 * mib);
    EXPECT_EQ(b.address() % 256, 0u);
    set_bytes(b.address(), 1, n, s);
  }
  s.synchronize(never_);
}

TEST_P(device_memory_test, what_one_session_keeps_for_reuse_is_there_for_another) {
  // Less than there is by far would not show it; the double's blocks are the host's memory.
  std::optional<driver_double> small;
  std::optional<device> pretended;
  if (fake() != nullptr) pretended.emplace(small.emplace(1, 80 * mib).calls(), 0);
  const device& on = pretended ? *pretended : gpu();
  const std::size_t most = on.free_memory() / 10 * 8 / (2 * mib) * (2 * mib);
  device_memory first(on);
  const stream s(on);
  { const device_buffer b = first.allocate(most, s); }
  s.synchronize(never_);
  ASSERT_GE(first.counters().cached, most);
  device_memory second(on);
  EXPECT_GE(second.budget(), most);
  const device_buffer b = second.allocate(most, s);
  EXPECT_EQ(b.size(), most);
  EXPECT_EQ(first.counters().cached, 0u);
  // What is in use stays.
  EXPECT_NE(refusal(first, most, s), "");
}

TEST_P(device_memory_test, gives_an_empty_buffer_for_zero_bytes) {
  device_memory memory(gpu());
  EXPECT_FALSE(memory.allocate(0, stream(gpu())));
  EXPECT_EQ(memory.counters().used, 0u);
}

TEST_P(device_memory_test, asks_the_driver_for_nothing_in_the_steady_state) {
  device_memory memory(gpu());
  const stream s(gpu());
  std::uint64_t after_first = 0;
  for (int query = 0; query < 10; ++query) {
    std::vector<device_buffer> buffers;
    for (const std::size_t n : {3 * mib, 3 * mib, 700 * std::size_t{1}, 100'000 * std::size_t{1}, 17 * mib}) {
      buffers.push_back(memory.allocate(n, s));
      set_bytes(buffers.back().address(), 1, n, s);
    }
    if (query == 0) after_first = memory.counters().driver_allocations;
  }
  EXPECT_EQ(after_first, 5u);
  EXPECT_EQ(memory.counters().driver_allocations, after_first);
  EXPECT_EQ(memory.counters().allocations, 50u);
  EXPECT_EQ(memory.counters().stream_waits, 0u);
  s.synchronize(never_);
}

TEST_P(device_memory_test, counts_what_is_used_kept_and_was_used_at_most) {
  device_memory memory(gpu());
  const stream s(gpu());
  {
    const device_buffer a = memory.allocate(2 * mib, s), b = memory.allocate(4 * mib, s);
    EXPECT_EQ(memory.counters().used, 6 * mib);
  }
  EXPECT_EQ(memory.counters().used, 0u);
  EXPECT_EQ(memory.counters().cached, 6 * mib);
  EXPECT_EQ(memory.counters().peak, 6 * mib);
  memory.reset_peak();
  EXPECT_EQ(memory.counters().peak, 0u);
  memory.trim();
  EXPECT_EQ(memory.counters().cached, 0u);
  if (fake()) {
    EXPECT_EQ(fake()->memory_in_use(), 0u);
  }
}

TEST_P(device_memory_test, refuses_beyond_the_budget_and_says_what_was_there) {
  device_memory memory(gpu(), 10 * mib);
  const stream s(gpu());
  const device_buffer held = memory.allocate(6 * mib, s);
  const std::string what = refusal(memory, 8 * mib, s);
  EXPECT_NE(what.find("cannot allocate 8 MiB"), std::string::npos) << what;
  EXPECT_NE(what.find("over the session's budget; in use: 6 MiB"), std::string::npos) << what;
  EXPECT_EQ(memory.available(), 4 * mib);
  EXPECT_TRUE(memory.allocate(4 * mib, s));
  EXPECT_NE(refusal(memory, std::numeric_limits<std::size_t>::max(), s), "");
}

TEST_P(device_memory_test, gives_kept_blocks_back_rather_than_refuse) {
  device_memory memory(gpu(), 10 * mib);
  const stream s(gpu());
  memory.allocate(6 * mib, s);
  EXPECT_EQ(memory.counters().cached, 6 * mib);
  const device_buffer b = memory.allocate(10 * mib, s);
  EXPECT_EQ(memory.counters().cached, 0u);
  set_bytes(b.address(), 4, 10 * mib, s);
  EXPECT_EQ(bytes_at(b.address(), 10 * mib, s), std::vector<unsigned char>(10 * mib, 4));
}

TEST_P(device_memory_test, a_block_that_changes_streams_waits_for_its_last_use) {
  device_memory memory(gpu());
  const std::size_t n = 4 * mib;
  for (int round = 0; round < 20; ++round) {
    const stream first(gpu()), second(gpu());
    device_address used = 0;
    {
      const device_buffer b = memory.allocate(n, first);
      used = b.address();
      for (int i = 0; i < 20; ++i) set_bytes(used, 1, n, first);
    }
    const device_buffer again = memory.allocate(n, second);
    ASSERT_EQ(again.address(), used);
    set_bytes(used, 2, n, second);
    EXPECT_EQ(bytes_at(used, n, second), std::vector<unsigned char>(n, 2));
    first.synchronize(never_);
    EXPECT_EQ(bytes_at(used, n, second), std::vector<unsigned char>(n, 2)) << "the first stream wrote after the second";
  }
}

TEST_P(device_memory_test, a_buffer_handed_over_is_written_in_order) {
  device_memory memory(gpu());
  const std::size_t n = 4 * mib;
  for (int round = 0; round < 20; ++round) {
    const stream first(gpu()), second(gpu());
    device_buffer b = memory.allocate(n, first);
    for (int i = 0; i < 20; ++i) set_bytes(b.address(), 1, n, first);
    b.hand_over(second);
    set_bytes(b.address(), 2, n, second);
    EXPECT_EQ(bytes_at(b.address(), n, second), std::vector<unsigned char>(n, 2));
  }
}

TEST_P(device_memory_test, a_buffer_outlives_its_stream_and_its_pool) {
  std::optional<stream> s(gpu());
  std::optional<device_memory> memory(gpu());
  device_buffer kept = memory->allocate(mib, *s);
  set_bytes(kept.address(), 5, mib, *s);
  s.reset();
  memory.reset();
  const stream other(gpu());
  kept.hand_over(other);
  EXPECT_EQ(bytes_at(kept.address(), mib, other), std::vector<unsigned char>(mib, 5));
  kept.reset();
  if (fake()) {
    fake()->run_all();
    EXPECT_EQ(fake()->memory_in_use(), 0u);
  }
}

TEST_P(device_memory_test, a_driver_without_memory_is_a_resource_error_and_no_more) {
  device_memory memory(gpu(), std::size_t{1} << 50);
  const stream s(gpu());
  memory.allocate(mib, s);
  EXPECT_NE(refusal(memory, std::size_t{1} << 45, s).find("the driver has no memory left; in use: 0 bytes"), std::string::npos);
  const device_buffer b = memory.allocate(mib, s);
  set_bytes(b.address(), 8, mib, s);
  EXPECT_EQ(bytes_at(b.address(), mib, s), std::vector<unsigned char>(mib, 8));
}

TEST_P(device_memory_test, fails_when_a_test_says_so) {
  device_memory memory(gpu());
  const stream s(gpu());
  memory.fail_allocation(2);
  EXPECT_TRUE(memory.allocate(100, s));
  EXPECT_NE(refusal(memory, 100, s).find("driver has no memory left (injected)"), std::string::npos);
  EXPECT_TRUE(memory.allocate(100, s));
}

TEST(device_memory, gives_kept_blocks_back_when_the_driver_has_no_memory) {
  driver_double fake(1, 16 * mib);
  const device d(fake.calls(), 0);
  device_memory memory(d, 100 * mib);
  const stream s(d);
  memory.allocate(10 * mib, s);
  const device_buffer b = memory.allocate(12 * mib, s);
  EXPECT_TRUE(b);
  const std::string what = refusal(memory, 8 * mib, s);
  EXPECT_NE(what.find("the driver has no memory left; in use: 12 MiB"), std::string::npos) << what;
  EXPECT_NE(what.find("free on the device: 4 MiB"), std::string::npos) << what;
}

// Memory that comes back to the driver only when held work has run, and someone who waits for it.
struct waiting_pool {
  driver_double fake{1, 16 * mib};
  const device d{fake.calls(), 0};
  device_memory memory{d, 100 * mib};
  const stream s{d};

  waiting_pool() {
    const device_buffer b = memory.allocate(10 * mib, s);
    fake.hold(s.handle());
    const scoped_context here(d);
    d.calls().cuMemsetD8Async(b.address(), 1, 10 * mib, s.handle());
  }
};

TEST(device_memory, who_waits_for_memory_leaves_when_its_query_stops) {
  waiting_pool pool;
  runtime::cancel_flag stopped;
  stopped.cancel();
  {
    const detail::stop_scope scope(stopped.state());
    EXPECT_THROW(pool.memory.allocate(12 * mib, pool.s), cancelled);
  }
  EXPECT_EQ(pool.memory.counters().used, 0u);
  pool.fake.let_go();
  EXPECT_TRUE(pool.memory.allocate(12 * mib, pool.s));
}

// Work that uses what was freed does not end: the first to ask for memory waits for it ten seconds, those after it do not each do so.
TEST(device_memory, is_waited_for_once_where_that_was_in_vain) {
  waiting_pool pool;
  const auto seconds_of = [&](auto f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  };
  EXPECT_LT(seconds_of([&] { EXPECT_THROW(pool.memory.allocate(12 * mib, pool.s), out_of_memory); }), 20);
  const double later = seconds_of([&] {
    for (int i = 0; i < 20; ++i) EXPECT_THROW(pool.memory.allocate(12 * mib, pool.s), out_of_memory);
  });
  EXPECT_LT(later, 10);
  pool.fake.let_go();
  EXPECT_TRUE(pool.memory.allocate(12 * mib, pool.s));
}

// Would wait for ever for the one that waits, if that kept the pool to itself meanwhile.
TEST(device_memory, others_use_a_pool_while_one_waits_for_memory) {
  static device_memory* used_meanwhile;
  static int (*query_below)(stream_handle);
  static std::atomic<int> asked;
  driver_double fake(1, 16 * mib);
  driver calls = fake.calls();
  query_below = calls.cuStreamQuery;
  asked = 0;
  calls.cuStreamQuery = [](stream_handle s) {
    if (used_meanwhile && asked++ == 0) std::thread([] { (void)used_meanwhile->counters(); }).join();
    return query_below(s);
  };
  const device d(calls, 0);
  device_memory memory(d, 100 * mib);
  const stream s(d);
  memory.allocate(10 * mib, s);
  used_meanwhile = &memory;
  EXPECT_TRUE(memory.allocate(12 * mib, s));
  EXPECT_GT(asked, 0);
  memory.trim();
  used_meanwhile = nullptr;
}

TEST(device_memory, takes_nine_tenths_of_what_is_free_without_a_budget) {
  driver_double fake(1, 100 * mib);
  const device d(fake.calls(), 0);
  EXPECT_EQ(device_memory(d).budget(), 90 * mib);
}

TEST(device_memory, prefers_a_block_of_the_same_stream) {
  driver_double fake;
  const device d(fake.calls(), 0);
  device_memory memory(d);
  const stream first(d), second(d);
  {
    device_buffer a = memory.allocate(mib, first), b = memory.allocate(mib, second);
  }
  EXPECT_TRUE(memory.allocate(mib, second));
  EXPECT_TRUE(memory.allocate(mib, first));
  EXPECT_EQ(memory.counters().stream_waits, 0u);
  EXPECT_EQ(memory.counters().driver_allocations, 2u);
}

TEST(device_memory, memory_is_not_freed_before_the_work_that_uses_it) {
  driver_double fake;
  const device d(fake.calls(), 0);
  const stream s(d);
  {
    device_memory memory(d);
    const device_buffer b = memory.allocate(mib, s);
    fake.hold(s.handle());
    const scoped_context here(d);
    d.calls().cuMemsetD8Async(b.address(), 1, mib, s.handle());
  }
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(s.done());
  fake.let_go();
  EXPECT_NO_THROW(s.synchronize(runtime::cancel_flag()));  // a write to freed memory would be an illegal address
  fake.run_all();
  EXPECT_EQ(fake.memory_in_use(), 0u);
}

}  // namespace
}  // namespace query::gpu_engine
