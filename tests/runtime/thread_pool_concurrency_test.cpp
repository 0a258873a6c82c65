#include "runtime/thread_pool.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "runtime/buffer_pool.hpp"
#include "runtime/scheduler_contract.hpp"

namespace query::runtime {
namespace {

TEST(thread_pool, keeps_the_contract_of_schedulers) {
  for (const int threads : {1, 2, 8}) {
    SCOPED_TRACE(threads);
    thread_pool pool(threads);
    EXPECT_EQ(pool.concurrency(), threads);
    scheduler_keeps_its_contract(pool);
  }
}

TEST(serial_scheduler, keeps_the_contract_of_schedulers) {
  serial_scheduler serial;
  scheduler_keeps_its_contract(serial);
}

TEST(buffer_pool, serves_several_threads) {
  buffer_pool pool(64 << 20);
  thread_pool threads(4);
  const cancel_flag cancel;
  threads.for_each(200, [&](std::size_t i) {
    std::vector<buffer> held;
    for (std::size_t k = 0; k < 5; ++k) {
      held.push_back(pool.allocate((i * 7919 + k * 104729) % 500000 + 1));
      std::memset(held.back().data(), static_cast<int>(i), held.back().size());
    }
  }, cancel);
  EXPECT_EQ(pool.used(), 0u);
}

}  // namespace
}  // namespace query::runtime
