// What queries learned of rows, kept beside them.
#include "gpu_engine/row_hints.hpp"

#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

namespace {

using query::gpu_engine::hash_text;
using query::gpu_engine::row_hints;

TEST(row_hints, answers_are_those_of_their_questions) {
  row_hints h;
  EXPECT_FALSE(h.find(hash_text("a")));
  h.keep(hash_text("a"), 1);
  h.keep(hash_text("b"), 0);
  EXPECT_EQ(h.find(hash_text("a")), 1u);
  EXPECT_EQ(h.find(hash_text("b")), 0u);
  EXPECT_FALSE(h.find(hash_text("c")));
  h.keep(hash_text("a"), 3);
  EXPECT_EQ(h.find(hash_text("a")), 3u);
  EXPECT_EQ(h.find(hash_text("b")), 0u);
}

TEST(row_hints, the_latest_stay) {
  row_hints h;
  for (std::uint64_t i = 0; i < 100; ++i) h.keep(hash_text(std::to_string(i)), i);
  EXPECT_FALSE(h.find(hash_text("0")));
  for (std::uint64_t i = 95; i < 100; ++i) EXPECT_EQ(h.find(hash_text(std::to_string(i))), i);
}

TEST(row_hints, threads_find_whole_answers) {
  row_hints h;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&h, t] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const std::uint64_t n = i % 6;
        h.keep(hash_text(std::to_string(n)), n << 32 | n);
        if (const auto found = h.find(hash_text(std::to_string((i + t) % 6)))) {
          EXPECT_EQ(*found >> 32, *found & 0xffffffffu);
        }
      }
    });
  for (std::thread& t : threads) t.join();
}

}  // namespace
