// Verify mode looks at rows all over a table, not at its beginning alone, and at functions behind filters that few rows pass.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/verify/sampled_rows.hpp"

namespace verify_rows_test {

struct Fill {
  std::int32_t id = 0;
  double price = 0;
};
QUERY_RECORD(Fill, id, price);

std::vector<Fill> fills(std::int32_t n) {
  std::vector<Fill> f;
  for (std::int32_t i = 0; i < n; ++i) f.push_back({i, 1.0 + i});
  return f;
}

// The value itself; its trace is another.
template <class V> auto lie(const V& v) {
  if constexpr (std::is_arithmetic_v<V>) return v;
  else return v + 1;
}
const auto wrong_price = [](auto t) { return lie(t.price); };
const auto late = [](auto t) { return query::iff(t.id >= 1500, lie(t.price), t.price); };
const auto last = [](auto t) { return query::iff(t.id >= 99'990, lie(t.price), t.price); };

TEST(verify_rows, differences_behind_the_first_thousand_rows) {
  const auto all = fills(100'000);
  const auto rows = query::from(all).verify();
  EXPECT_THROW(rows.select(late).sum(), query::user_error);
  EXPECT_THROW(rows.select(last).sum(), query::user_error);
  EXPECT_THROW(rows.order_by(late).to_vector(), query::user_error);
  EXPECT_THROW(rows.reduce([](auto g) { return g.sum(last); }), query::user_error);
  const auto id = [](auto t) { return t.id; };
  const auto late_id = [](auto t) { return query::iff(t.id >= 1500, lie(t.id), t.id); };
  EXPECT_THROW(rows.semi_join(query::from(all), id, late_id).count(), query::user_error);
  EXPECT_EQ(rows.select([](auto t) { return t.price; }).count(), 100'000);
}

TEST(verify_rows, of_runs_and_matches) {
  const auto all = fills(5000);
  const auto rows = query::from(all).verify();
  const auto right = [](auto run) { return query::sum(run, [](auto t) { return t.price; }); };
  const auto wrong = [](auto run) { return query::sum(run, wrong_price); };
  const auto seventh_wrong = [](auto run) { return query::sum(run, [](auto t) { return query::iff(t.id == 6, lie(t.price), t.price); }); };
  EXPECT_THROW(rows.chunk(10, wrong).to_vector(), query::user_error);
  EXPECT_THROW(rows.chunk(4, seventh_wrong).to_vector(), query::user_error);
  EXPECT_THROW(rows.chunk(1'000'000, wrong).to_vector(), query::user_error);
  EXPECT_THROW(rows.window(5, wrong).to_vector(), query::user_error);
  EXPECT_THROW(rows.window(3, seventh_wrong, 2).to_vector(), query::user_error);
  EXPECT_EQ(rows.chunk(10, right).count(), 500);
  EXPECT_EQ(rows.window(5, right).count(), 4996);
  EXPECT_EQ(rows.window(6000, wrong).count(), 0);

  const auto id = [](auto t) { return t.id / 3; };
  const auto sums = [&](auto f) { return rows.group_join(query::from(all), id, id, [f](auto l, auto own) { return l.price + f(own); }); };
  EXPECT_THROW(sums(wrong).to_vector(), query::user_error);
  EXPECT_THROW(sums(seventh_wrong).to_vector(), query::user_error);
  EXPECT_EQ(sums(right).count(), 5000);
  try {
    rows.window(5, wrong).to_vector();
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("5 rows from row 0 = {id: 0, price: 1} on"), std::string::npos) << e.what();
  }
}

TEST(verify_rows, of_left_rows_without_matches) {
  const auto all = fills(300), few = fills(30);
  const auto id = [](auto t) { return t.id; };
  const auto joined = [&](auto f) { return query::from(all).verify().group_join(query::from(few), id, id, f); };
  const auto sums = joined([](auto l, auto own) { return l.price + query::sum(own, [](auto t) { return t.price; }); }).to_vector();
  ASSERT_EQ(sums.size(), 300u);
  EXPECT_EQ(sums[29], 60);
  EXPECT_EQ(sums[30], 31);
  const auto wrong_if_empty = [](auto l, auto own) { return query::iff(own.size() == 0, lie(l.price), l.price); };
  EXPECT_THROW(joined(wrong_if_empty).to_vector(), query::user_error);
}

TEST(verify_rows, of_nearest_matches) {
  const auto all = fills(5000);
  const auto rows = query::from(all).verify();
  const auto even = [](auto t) { return t.id * 2; };
  const auto odd = [](auto t) { return t.id * 2 + 1; };
  const auto late_odd = [](auto t) { return query::iff(t.id >= 4990, lie(t.id), t.id) * 2 + 1; };
  const auto right = [](auto l, auto r) { return l.price + r->price; };
  const auto late_wrong = [](auto l, auto r) { return query::iff(l.id >= 4990, lie(r->price), r->price); };
  EXPECT_EQ(rows.asof_join(query::from(all), odd, even, right).to_vector().back(), 10'000);
  EXPECT_THROW(rows.asof_join(query::from(all), odd, even, late_wrong).to_vector(), query::user_error);
  EXPECT_THROW(rows.asof_join(query::from(all), late_odd, even, right).to_vector(), query::user_error);
  EXPECT_THROW(rows.asof_join(query::from(all), even, late_odd, right, {.direction = query::nearest::either}).to_vector(),
               query::user_error);
  const auto third = [](auto t) { return t.id % 3; };
  EXPECT_EQ(rows.asof_join(query::from(all), third, third, odd, even, right).to_vector().back(), 10'000);
  EXPECT_THROW(rows.asof_join(query::from(all), third, third, odd, even, late_wrong).to_vector(), query::user_error);
}

TEST(verify_rows, of_columns_too) {
  std::vector<double> numbers(50'000);
  std::iota(numbers.begin(), numbers.end(), 0.0);
  EXPECT_THROW(query::from(numbers).verify().select([](auto x) { return query::iff(x > 49'000.0, lie(x), x); }).sum(), query::user_error);
}

TEST(verify_rows, functions_behind_filters_that_few_rows_pass) {
  const auto all = fills(50'000);
  const auto rows = query::from(all).verify();
  EXPECT_THROW(rows.where([](auto t) { return t.id >= 5000; }).select(wrong_price).sum(), query::user_error);
  EXPECT_THROW(rows.where([](auto t) { return t.id == 12'345; }).select(wrong_price).sum(), query::user_error);
  EXPECT_THROW(rows.where([](auto t) { return t.id == 12'345; })
                   .group_by([](auto t) { return t.id; })
                   .select([](auto g) { return g.sum(wrong_price); })
                   .to_vector(),
               query::user_error);
  // No row passes: there is nothing to compare, and nothing is wrong.
  EXPECT_EQ(rows.where([](auto t) { return t.id < 0; }).select(wrong_price).count(), 0);
}

TEST(verify_rows, predicates_that_end_a_sequence_do_not_see_later_rows) {
  const auto all = fills(100'000);
  EXPECT_EQ(query::from(all).verify().take_while([](auto t) { return t.id < 2000 || (t.id > 50'000 && lie(t.id) < 50'002); }).count(),
            2000);
}

TEST(verify_rows, rounds_see_every_row_of_a_table_that_is_not_too_large) {
  for (const std::size_t n : {std::size_t{0}, std::size_t{1}, std::size_t{1024}, std::size_t{1025}, std::size_t{5001}, std::size_t{65'000},
                              std::size_t{10'000'000}}) {
    std::set<std::size_t> seen;
    std::size_t first_round = 0, taken = 0;
    for (std::size_t round = 0; query::cpu::verify::has_round(n, round); ++round) {
      query::cpu::verify::for_each_run(n, round, [&](std::size_t first, std::size_t count) {
        ASSERT_LE(first + count, n);
        for (std::size_t i = first; i < first + count; ++i) seen.insert(i);
        taken += count;
        if (round == 0) first_round += count;
      });
      ASSERT_LE(round, 64u);
    }
    EXPECT_EQ(first_round, std::min<std::size_t>(n, 1024));
    EXPECT_LE(taken, 65'536u);
    if (n <= 65'000) {
      EXPECT_EQ(seen.size(), n);
    }
    EXPECT_EQ(seen.contains(0), n > 0);
    EXPECT_EQ(seen.contains(n - 1), n > 0);
  }
}

}  // namespace verify_rows_test
