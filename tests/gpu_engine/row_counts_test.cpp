// How many rows plans expect: counted, guessed, and known once a run has counted them.
#include <gtest/gtest.h>

#include <vector>

#include <query/query.hpp>

#include "runtime/placement/row_counts.hpp"
#include "planner/machine_graph.hpp"

namespace {

using namespace query;
using runtime::row_counts;

template <class Q> double expected_rows(const Q& q) {
  const auto g = planner::make_machine_graph(q.to_pipe(), "rows", {.separate_result = true});
  row_counts rows;
  return rows.of(*g->result.table).value_or(-1);
}
std::vector<int> numbers(int n) {
  std::vector<int> all;
  for (int i = 0; i < n; ++i) all.push_back(i);
  return all;
}

struct row_counts_of_runs : testing::Test {
  Session session{{.threads = 2, .gpu = gpu_use::off}};
  auto few(const std::vector<int>& rows) {
    return from(rows).in(session).as_accelerated().where([](auto x) { return x % 100 == 0; });
  }
  auto few_twice(const std::vector<int>& rows) {
    return few(rows).select([](auto x) { return x * 2; });
  }
};

TEST_F(row_counts_of_runs, know_what_a_filter_gave_the_last_time) {
  auto rows = numbers(100'000);
  const auto others = numbers(100'000);
  EXPECT_EQ(expected_rows(few(rows)), 50'000) << "a guess";
  EXPECT_EQ(few(rows).to_vector().size(), 1000u);
  EXPECT_EQ(expected_rows(few(rows)), 1000) << "of a query that is built anew";
  EXPECT_EQ(expected_rows(few(others)), 50'000) << "of other rows";
  EXPECT_EQ(expected_rows(few_twice(rows)), 50'000) << "of other verbs";
  EXPECT_EQ(few_twice(rows).to_vector().size(), 1000u);
  EXPECT_EQ(expected_rows(few_twice(rows)), 1000);
  std::fill(rows.begin(), rows.end(), 100);
  EXPECT_EQ(few(rows).to_vector().size(), rows.size());
  EXPECT_EQ(expected_rows(few(rows)), 100'000) << "as of the last run";
}

TEST_F(row_counts_of_runs, learn_nothing_from_runs_that_end_early) {
  const auto rows = numbers(70'000);
  // Not the functions of the test above, whose rows may have lain at the same place.
  const auto some = [&] { return from(rows).in(session).as_accelerated().where([](auto x) { return x % 90 == 0; }); };
  EXPECT_EQ(some().first(), 0);
  EXPECT_EQ(some().take(3).to_vector().size(), 3u);
  EXPECT_EQ(expected_rows(some()), 35'000);
}

}  // namespace
