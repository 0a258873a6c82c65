// Threads that work for a query beside its own: they see its stop, and a system without threads has the work done all the same.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <memory>
#include <thread>

#include <query/errors.hpp>

#include "gpu_engine/beside.hpp"
#include "runtime/cancellation.hpp"

namespace {

using query::gpu_engine::beside;

// While it lives no thread can be made: their stacks would be larger than the address space.
class no_threads {
 public:
  no_threads() {
    pthread_attr_t attributes;
    pthread_getattr_default_np(&attributes);
    pthread_attr_getstacksize(&attributes, &before_);
    set(std::size_t{1} << 50);
    pthread_attr_destroy(&attributes);
  }
  ~no_threads() { set(before_); }

 private:
  static void set(std::size_t bytes) {
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, bytes);
    pthread_setattr_default_np(&attributes);
    pthread_attr_destroy(&attributes);
  }
  std::size_t before_ = 0;
};

TEST(beside, is_another_thread) {
  auto there = beside([] { return std::this_thread::get_id(); });
  EXPECT_NE(there.get(), std::this_thread::get_id());
}

TEST(beside, is_this_thread_where_there_is_no_other) {
  std::future<int> answer;
  std::thread::id by;
  {
    const no_threads here;
    ASSERT_THROW(std::thread([] {}).join(), std::system_error);
    answer = beside([&, kept = std::make_shared<int>(7)] {
      by = std::this_thread::get_id();
      return *kept;
    });
  }
  EXPECT_EQ(answer.get(), 7);
  EXPECT_EQ(by, std::this_thread::get_id());
}

TEST(beside, ends_where_the_query_is_stopped) {
  query::runtime::cancel_flag flag;
  flag.cancel();
  const query::detail::stop_scope query_at_hand(flag.state());
  auto waits = beside([] { query::detail::stop_point().check(); });
  EXPECT_THROW(waits.get(), query::cancelled);
}

}  // namespace
