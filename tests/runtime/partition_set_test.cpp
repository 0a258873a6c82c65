// A query in several partitions of one process: the answers of one partition, and no more rows sent than the plan needs.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace partition_set_test {

struct trade {
  std::int64_t id;
  std::int32_t symbol;
  double price;
  std::string text;
};
QUERY_RECORD(trade, id, symbol, price, text);
struct total {
  std::int32_t symbol;
  double sum;
  std::int64_t count;
};
QUERY_RECORD(total, symbol, sum, count);
struct place { std::int64_t id; double x; };
QUERY_RECORD(place, id, x);
struct centre { std::int64_t number; double x; };
QUERY_RECORD(centre, number, x);

std::vector<trade> trades(std::int64_t n) {
  std::vector<trade> rows;
  for (std::int64_t i = 0; i < n; ++i)
    rows.push_back({i, static_cast<std::int32_t>(i * 7919 % 101), static_cast<double>(i % 1000), "trade " + std::to_string(i)});
  return rows;
}

struct session {
  explicit session(int partitions, std::uint64_t most_broadcast = 8 << 20) : of({.threads = 2, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = most_broadcast;
  }
  std::uint64_t sent() const { return of.state()->sent_rows; }
  query::Session of;
};
std::size_t times(const std::string& text, const std::string& words) {
  std::size_t n = 0;
  for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++n;
  return n;
}

const auto symbol = [](auto t) { return t.symbol; };
const auto totals = [](auto g) {
  return query::make<total>(g.key(), g.sum([](auto t) { return t.price; }), g.count());
};
bool operator==(const total& a, const total& b) { return a.symbol == b.symbol && a.sum == b.sum && a.count == b.count; }
std::vector<total> in_order(std::vector<total> t) {
  std::ranges::sort(t, {}, &total::symbol);
  return t;
}

TEST(partition_set, any_number_gives_the_same_answers) {
  for (const std::int64_t n : {0, 1, 3, 20'000}) {
    const auto rows = trades(n);
    const auto q = query::from(rows).where([](auto t) { return t.id % 3 != 0; });
    const session one(1);
    const auto groups = in_order(q.group_by(symbol).select(totals).in(one.of).to_vector());
    const auto sum = q.in(one.of).sum([](auto t) { return t.id; });
    for (const int parts : {2, 3, 4, 7, 64}) {
      SCOPED_TRACE(std::to_string(n) + " rows in " + std::to_string(parts));
      const session some(parts);
      EXPECT_EQ(in_order(q.group_by(symbol).select(totals).in(some.of).to_vector()), groups);
      EXPECT_EQ(q.in(some.of).sum([](auto t) { return t.id; }), sum);
      std::vector<std::int64_t> ids;
      for (const auto& t : q.in(some.of).to_vector()) ids.push_back(t.id);
      EXPECT_TRUE(std::ranges::is_sorted(ids));
      EXPECT_EQ(some.of.memory_used(), 0u);
    }
  }
}

TEST(partition_set, folds_send_nothing) {
  const auto rows = trades(10'000);
  const session four(4);
  const auto q = query::from(rows).in(four.of).where([](auto t) { return t.symbol < 50; });
  EXPECT_GT(q.count(), 0);
  EXPECT_GT(q.max([](auto t) { return t.price; }), 0);
  EXPECT_EQ(four.sent(), 0u);
  EXPECT_EQ(times(q.explain("count"), "exchange"), 0u);
}

TEST(partition_set, groups_are_sent_and_their_results) {
  const auto rows = trades(10'000);
  const session four(4);
  const auto q = query::from(rows).in(four.of).group_by(symbol).select(totals);
  EXPECT_EQ(q.to_vector().size(), 101u);
  EXPECT_EQ(four.sent(), 4 * 101 + 101u);
  const std::string plan = q.explain();
  EXPECT_EQ(times(plan, "exchange of groups by hash for group_by"), 1u) << plan;
  EXPECT_EQ(times(plan, "exchange: gather"), 1u) << plan;
}

TEST(partition_set, a_small_side_of_a_join_goes_to_each_partition) {
  const auto rows = trades(10'000);
  std::vector<total> names(10);
  for (int i = 0; i < 10; ++i) names[static_cast<std::size_t>(i)].symbol = i;
  const auto by = [](const query::Session& s, const auto& l, const auto& r) {
    return query::from(l).in(s).join(query::from(r), symbol, symbol, [](auto t, auto n) { return t.id + n.symbol; });
  };
  const session one(1), small(4), large(4, 0);
  const auto sum = by(one.of, rows, names).sum();
  EXPECT_EQ(by(small.of, rows, names).sum(), sum);
  EXPECT_EQ(small.sent(), 10u);
  EXPECT_EQ(times(by(small.of, rows, names).explain("sum"), "exchange: broadcast"), 1u);
  EXPECT_EQ(by(large.of, rows, names).sum(), sum);
  EXPECT_EQ(large.sent(), rows.size() + 10);
  EXPECT_EQ(times(by(large.of, rows, names).explain("sum"), "exchange by hash for join"), 2u);
}

// The second join does not send what the first one gave, as its rows lie by that key, nor the copies of a small side.
TEST(partition_set, joins_one_behind_the_other) {
  const auto rows = trades(3'000), others = trades(101);
  std::vector<total> names(3);
  for (int i = 0; i < 3; ++i) names[static_cast<std::size_t>(i)].symbol = i;
  const auto by = [&](const query::Session& s, const auto& first, const auto& second) {
    return query::from(rows).in(s)
        .join(query::from(first), symbol, symbol, [](auto t, auto) { return t; })
        .join(query::from(second), symbol, symbol, [](auto t, auto n) { return t.id * 1000 + n.symbol; });
  };
  const session one(1), four(4, 100), none(4, 0);
  EXPECT_GT(by(one.of, names, others).count(), 0);
  for (const session* s : {&four, &none}) {
    EXPECT_EQ(by(s->of, names, others).count(), by(one.of, names, others).count());
    EXPECT_EQ(by(s->of, names, others).sum(), by(one.of, names, others).sum());
    EXPECT_EQ(by(s->of, others, names).sum(), by(one.of, others, names).sum());
    EXPECT_EQ(by(s->of, others, others).sum(), by(one.of, others, others).sum());
  }
  EXPECT_EQ(times(by(four.of, names, others).explain("sum"), "exchange by hash for join"), 2u);
  EXPECT_EQ(times(by(none.of, others, others).explain("sum"), "exchange by hash for join"), 3u);
}

TEST(partition_set, verify_looks_at_each_partition) {
  std::vector<std::int64_t> rows(2'000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  const auto lie = [](auto x) {
    if constexpr (std::is_same_v<std::decay_t<decltype(x)>, std::int64_t>) return x >= 1'500 ? x + 1 : x;
    else return x + 0;
  };
  for (const int parts : {1, 4}) {
    const session some(parts);
    const auto q = query::from(rows).in(some.of).verify().select(lie);
    EXPECT_THROW((void)q.sum(), query::user_error) << parts;
    EXPECT_THROW((void)q.to_vector(), query::user_error) << parts;
  }
}

TEST(partition_set, the_best_rows_are_those_of_the_best_of_each_partition) {
  const auto rows = trades(10'000);
  const auto best = [&](const session& s) {
    std::vector<std::int64_t> ids;
    for (const auto& t : query::from(rows).in(s.of).order_by([](auto t) { return t.price; }).take(5).to_vector()) ids.push_back(t.id);
    return ids;
  };
  const session one(1), four(4);
  EXPECT_EQ(best(four), best(one));
  EXPECT_LE(four.sent(), 20u);
}

// k-means: each round sends what the partitions know of each centre, and few rows besides.
TEST(partition_set, rounds_of_a_loop_send_what_depends_on_them) {
  std::vector<place> points;
  for (std::int64_t i = 0; i < 30'000; ++i) points.push_back({i, static_cast<double>(i % 3 * 100 + i % 7)});
  const std::vector<centre> start = {{0, 10}, {1, 90}, {2, 220}};
  const auto run = [&](const session& s, std::uint64_t rounds) {
    const auto all = query::from(points).in(s.of);
    return query::from(start).in(s.of).do_while([&](query::Query<centre> now) {
      const auto centres = query::broadcast(now);
      return all.select([centres](const place& p) {
        std::int64_t best = 0;
        for (const centre& c : centres)
          if (std::abs(c.x - p.x) < std::abs(centres[static_cast<std::size_t>(best)].x - p.x)) best = c.number;
        return centre{best, p.x};
      }).group_by([](auto c) { return c.number; }).select([](auto g) {
        return query::make<centre>(g.key(), g.mean([](auto c) { return c.x; }));
      }).order_by([](auto c) { return c.number; });
    }, query::times(rounds)).to_vector();
  };
  const session one(1), four(4);
  const auto wanted = run(one, 5), got = run(four, 5);
  ASSERT_EQ(got.size(), wanted.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i].x, wanted[i].x, 1e-9);
  EXPECT_LE(four.sent(), 5 * (4 * 3 + 3 + 4 * 3u));
}

TEST(partition_set, rows_that_cannot_travel_stay) {
  struct opaque {
    std::shared_ptr<int> n;
    bool operator<(const opaque& o) const { return *n < *o.n; }
  };
  std::vector<opaque> rows;
  for (int i = 0; i < 100; ++i) rows.push_back({std::make_shared<int>(i)});
  const session four(4);
  const auto q = query::from(rows).in(four.of).where([](const opaque& o) { return *o.n > 9; });
  EXPECT_EQ(q.to_vector().size(), 90u);
  EXPECT_EQ(four.sent(), 0u);
  EXPECT_EQ(times(q.explain(), "in one partition: rows of"), 1u) << q.explain();
  EXPECT_EQ(q.count(), 90);  // no row leaves
}

TEST(partition_set, a_users_error_names_verb_and_place_and_leaves_nothing) {
  const auto rows = trades(5'000);
  const session four(4);
  const auto q = query::from(rows).in(four.of).select([](const trade& t) -> std::int64_t {
    if (t.id == 4'321) throw std::runtime_error("of the user's");
    return t.id;
  });
  EXPECT_THROW((void)q.group_by([](auto x) { return x % 10; }).count().to_vector(), std::runtime_error);
  EXPECT_THROW((void)q.sum(), std::runtime_error);
  EXPECT_EQ(four.of.memory_used(), 0u);
  EXPECT_EQ(query::from(rows).in(four.of).count(), 5'000);
}

}  // namespace partition_set_test
