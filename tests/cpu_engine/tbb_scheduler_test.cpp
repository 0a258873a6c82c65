#include "cpu_engine/tbb_scheduler.hpp"

#include <gtest/gtest.h>

#include "runtime/scheduler_contract.hpp"

namespace query::cpu {
namespace {

TEST(tbb_scheduler, keeps_the_contract_of_schedulers) {
  for (const int threads : {1, 2, 8}) {
    SCOPED_TRACE(threads);
    tbb_scheduler scheduler(threads);
    EXPECT_EQ(scheduler.concurrency(), threads);
    runtime::scheduler_keeps_its_contract(scheduler);
  }
}

TEST(tbb_scheduler, takes_the_hardware_threads_by_default) { EXPECT_GE(tbb_scheduler().concurrency(), 1); }

}  // namespace
}  // namespace query::cpu
