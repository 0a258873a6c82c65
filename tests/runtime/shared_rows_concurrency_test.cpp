// Rows that threads take from both ends at once: each row is somebody's, once.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "runtime/shared_rows.hpp"

namespace {

using namespace query::runtime;

constexpr std::uint64_t part = rows_of_fixed_part;

TEST(shared_rows, are_each_taken_once_by_any_number_of_threads) {
  for (int round = 0; round < 50; ++round) {
    const std::uint64_t n = 300 * part + 5;
    shared_rows rows(n);
    std::vector<std::atomic<int>> seen(301);
    const auto saw = [&](std::uint64_t first, std::uint64_t end) {
      for (std::uint64_t p = first; p < end; p += part) ++seen[p / part];
    };
    std::atomic<std::uint64_t> next = 0;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t)
      threads.emplace_back([&] {
        for (std::uint64_t p = next++; p <= 300; p = next++)
          if (rows.take(p * part, std::min(n, (p + 1) * part))) saw(p * part, std::min(n, (p + 1) * part));
      });
    for (int e = 0; e < 2; ++e)
      threads.emplace_back([&] {
        shared_rows::taker t(rows, 0.3);
        for (row_span c = t.next(); c.size(); c = t.next()) saw(c.first, c.end);
      });
    for (std::thread& t : threads) t.join();
    for (const auto& s : seen) ASSERT_EQ(s, 1);
  }
}

}  // namespace
