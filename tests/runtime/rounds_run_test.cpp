#include "runtime/rounds_run.hpp"

#include <gtest/gtest.h>

namespace {

using query::runtime::rounds_run;

TEST(rounds_run, of_which_none_was_repeated_say_why) {
  const rounds_run ran;
  EXPECT_EQ(ran.told(1, ""), "1 round vertex by vertex: too few to repeat one");
  EXPECT_EQ(ran.told(12, "its rows hold strings or lists"), "12 rounds vertex by vertex: its rows hold strings or lists");
}

TEST(rounds_run, that_were_repeated_are_named) {
  rounds_run ran;
  ran.repeated(3, 0, "as CUDA graphs");  // the first of them differed
  EXPECT_EQ(ran.told(4, "sizes differed"), "4 rounds vertex by vertex: sizes differed");
  ran.repeated(5, 1, "as CUDA graphs");
  EXPECT_EQ(ran.told(7, "sizes differed"), "round 5 as CUDA graphs, the other 6 vertex by vertex: sizes differed");
  ran.repeated(8, 13, "as CUDA graphs");
  EXPECT_EQ(ran.told(20, "sizes differed"), "rounds 5, 8 to 20 as CUDA graphs, the other 6 vertex by vertex: sizes differed");
}

TEST(rounds_run, all_of_which_were_repeated_but_the_first_two_need_no_reason) {
  rounds_run ran;
  ran.repeated(3, 18, "as CUDA graphs");
  EXPECT_EQ(ran.told(20, ""), "rounds 3 to 20 as CUDA graphs");
}

}  // namespace
