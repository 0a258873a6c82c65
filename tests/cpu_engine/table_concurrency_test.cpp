// Sorts, tables and joins on plain threads: what ThreadSanitizer looks at.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <random>
#include <string>
#include <vector>

#include "cpu_engine/grouper.hpp"
#include "cpu_engine/join_table.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "runtime/thread_pool.hpp"

namespace query::cpu {
namespace {

TEST(sorting, runs_on_several_threads) {
  runtime::thread_pool threads(4);
  runtime::buffer_pool pool;
  const runtime::cancel_flag cancel;
  std::mt19937_64 g(1);
  std::vector<double> numbers(300000);
  for (double& x : numbers) x = static_cast<double>(g() % 1000) / 7;
  std::vector<std::string> strings(200000);
  for (std::string& s : strings) s = "the same beginning " + std::to_string(g() % 3);
  const sort_key by_number{.type = ir::describe<double>(), .base = numbers.data(), .stride = sizeof(double)};
  const permutation p = sort_rows({&by_number, 1}, numbers.size(), threads, pool, cancel);
  for (std::size_t i = 1; i < p.size(); ++i) ASSERT_LE(numbers[p[i - 1]], numbers[p[i]]);
  const sort_key by_string{.type = ir::describe<std::string>(), .base = strings.data(), .stride = sizeof(std::string)};
  const permutation q = sort_rows({&by_string, 1}, strings.size(), threads, pool, cancel);
  for (std::size_t i = 1; i < q.size(); ++i) ASSERT_LE(strings[q[i - 1]], strings[q[i]]);
  EXPECT_EQ(top_k({&by_string, 1}, strings.size(), 50, threads, pool, cancel)[49], q[49]);
  sort_values(numbers.data(), numbers.data(), numbers.size(), ir::kind::f64, true, threads, pool, cancel);
  EXPECT_TRUE(std::is_sorted(numbers.rbegin(), numbers.rend()));
}

TEST(grouper, is_read_by_several_threads) {
  runtime::thread_pool threads(4);
  runtime::buffer_pool pool;
  const runtime::cancel_flag cancel;
  std::vector<std::string> keys(20000);
  for (std::size_t i = 0; i < keys.size(); ++i) keys[i] = "key number " + std::to_string(i);
  grouper groups(ir::describe<std::string>(), pool);
  std::vector<std::uint32_t> ids(keys.size());
  groups.find_or_insert(keys.data(), keys.size(), ids.data());
  threads.for_each(8, [&](std::size_t) {
    std::vector<std::uint32_t> found(keys.size());
    groups.find(keys.data(), keys.size(), found.data());
    EXPECT_EQ(found, ids);
  }, cancel);
}

template <class T>
void join_on_threads(const std::vector<T>& build) {
  runtime::thread_pool threads(4);
  runtime::buffer_pool pool;
  const runtime::cancel_flag cancel;
  join_table table(ir::describe<T>(), build.data(), build.size(), {}, threads, pool, cancel);
  std::atomic<std::size_t> found{0};
  threads.for_each(8, [&](std::size_t i) {
    join_table::cursor at;
    match_batch matches;
    while (table.probe(build.data() + i * 1000, 1000, at, matches)) {
      table.mark(matches);
      found += matches.size();
    }
  }, cancel);
  EXPECT_GE(found, 8000u);
  EXPECT_TRUE(table.matched(0));
}

TEST(join_table, is_built_and_probed_by_several_threads) {
  std::vector<std::int64_t> unique(300000), repeated(300000), scattered(300000);
  std::vector<std::string> strings(200000);
  for (std::size_t i = 0; i < unique.size(); ++i) {
    unique[i] = static_cast<std::int64_t>(i);
    repeated[i] = static_cast<std::int64_t>(i % 100000);
    scattered[i] = static_cast<std::int64_t>(hash_word(i % 200000));
  }
  for (std::size_t i = 0; i < strings.size(); ++i) strings[i] = "string " + std::to_string(i % 150000);
  join_on_threads(unique);
  join_on_threads(repeated);
  join_on_threads(scattered);
  join_on_threads(strings);
}

}  // namespace
}  // namespace query::cpu
