// Rows that a stopped query leaves are destroyed once it has had time to end, or when somebody waits for their memory.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include <query/detail/discard.hpp>

namespace query::runtime {
namespace {

using clock = std::chrono::steady_clock;

struct noted_end {
  explicit noted_end(std::atomic<clock::rep>& at) : at_(at) {}
  ~noted_end() { at_ = clock::now().time_since_epoch().count(); }
  noted_end(const noted_end&) = delete;
  noted_end& operator=(const noted_end&) = delete;
  std::atomic<clock::rep>& at_;
};

TEST(discarded, goes_when_the_query_has_had_time_to_end) {
  std::atomic<clock::rep> ended = 0;
  const clock::time_point begin = clock::now();
  detail::discard(std::make_shared<noted_end>(ended));
  while (ended == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(clock::time_point(clock::duration(ended)) - begin, std::chrono::milliseconds(20));
}

TEST(discarded, is_gone_when_waited_for) {
  for (int i = 0; i < 100; ++i) {
    std::atomic<clock::rep> ended = 0;
    detail::discard(std::make_shared<noted_end>(ended));
    detail::wait_for_discarded();
    EXPECT_NE(ended, 0);
  }
}

}  // namespace
}  // namespace query::runtime
