#include "runtime/cancellation.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <stop_token>
#include <string>

namespace query::runtime {
namespace {

std::string message(const cancel_flag& flag) {
  try {
    flag.check();
  } catch (const cancelled& e) {
    return e.what();
  }
  return "";
}

TEST(cancel_flag, lets_pass_until_something_stops_it) {
  cancel_flag flag;
  EXPECT_NO_THROW(flag.check());
  flag.cancel();
  EXPECT_EQ(message(flag), "query: cancelled: stop requested");
}

TEST(cancel_flag, follows_a_stop_token) {
  std::stop_source source;
  const cancel_flag flag(source.get_token());
  EXPECT_FALSE(flag.stopped());
  source.request_stop();
  EXPECT_EQ(flag.reason(), stop_reason::stop_requested);
}

TEST(cancel_flag, knows_a_token_that_is_stopped_already) {
  std::stop_source source;
  source.request_stop();
  EXPECT_EQ(message(cancel_flag(source.get_token())), "query: cancelled: stop requested");
}

TEST(cancel_flag, asks_others_at_most_once_a_millisecond) {
  int asked = 0;
  const cancel_flag flag([&] { return ++asked > 1; }, std::nullopt);
  const auto begin = cancel_flag::clock::now();
  std::uint64_t checks = 0;
  for (; !flag.stopped(); ++checks) ASSERT_LT(cancel_flag::clock::now() - begin, std::chrono::seconds(120));
  EXPECT_EQ(asked, 2);
  EXPECT_GE(cancel_flag::clock::now() - begin, std::chrono::milliseconds(1));
  EXPECT_TRUE(flag.stopped());
  EXPECT_EQ(asked, 2);
}

TEST(cancel_flag, throws_what_the_asked_throws) {
  const cancel_flag flag([]() -> bool { throw std::out_of_range("asked"); }, std::nullopt);
  EXPECT_TRUE(flag.stopped());
  EXPECT_THROW(flag.check(), std::out_of_range);
  EXPECT_THROW(flag.check(), std::out_of_range);
}

TEST(cancel_flag, follows_a_deadline) {
  const cancel_flag late(cancel_flag::clock::now() - std::chrono::seconds(1));
  EXPECT_EQ(message(late), "query: cancelled: deadline");
  const cancel_flag early(cancel_flag::clock::now() + std::chrono::hours(1));
  EXPECT_FALSE(early.stopped());
}

TEST(cancel_flag, names_its_limits_and_its_place) {
  cancel_flag late(cancel_flag::clock::now() - std::chrono::seconds(1));
  late.name_limits(2.5);
  EXPECT_EQ(message(late), "query: cancelled: deadline of timeout(2.5)");
  late.name_place("to_map (plan.cpp:12)");
  EXPECT_EQ(message(late), "query: cancelled: deadline of timeout(2.5), while running to_map (plan.cpp:12)");
  cancel_flag asked;
  asked.name_limits(0);
  asked.cancel();
  EXPECT_EQ(message(asked), "query: cancelled: stop requested by stop_on");
}

TEST(cancel_flag, throws_what_it_was_failed_with) {
  const cancel_flag flag;
  flag.fail(std::make_exception_ptr(std::out_of_range("a report")));
  EXPECT_TRUE(flag.stopped());
  EXPECT_THROW(flag.check(), std::out_of_range);
}

TEST(cancel_flag, keeps_its_first_reason) {
  cancel_flag flag;
  flag.cancel(stop_reason::deadline);
  flag.cancel(stop_reason::stop_requested);
  EXPECT_EQ(flag.reason(), stop_reason::deadline);
}

}  // namespace
}  // namespace query::runtime
