// Joins in partitions where most rows have one key: the rows that probe are spread, and what they look up goes to each partition. The
// answers, and the order of the rows of each key, are those of an exchange by hash.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace skewed_joins_test {

struct sale {
  std::int64_t id;
  std::int32_t shop;
  std::string text;
};
QUERY_RECORD(sale, id, shop, text);
struct shop {
  std::int32_t number, floor;
};
QUERY_RECORD(shop, number, floor);
struct found {
  std::int32_t shop;
  std::int64_t id;
  std::int32_t floor;
  auto operator<=>(const found&) const = default;
};
QUERY_RECORD(found, shop, id, floor);

namespace {

// `heavy` of a hundred rows are of shop 5, others of one of 1,009.
std::vector<sale> sales(std::int64_t n, std::int64_t heavy) {
  std::vector<sale> all;
  for (std::int64_t i = 0; i < n; ++i)
    all.push_back({i, i * 37 % 100 < heavy ? 5 : static_cast<std::int32_t>(i * 7919 % 1009),
                   "a sale with more letters than fit " + std::to_string(i)});
  return all;
}
// Two floors each; shops above 1,000 are closed.
std::vector<shop> shops() {
  std::vector<shop> all;
  for (std::int32_t i = 0; i < 2000; ++i) all.push_back({i % 1000, i / 1000 * 3 + i % 2});
  return all;
}

struct in_partitions {
  explicit in_partitions(int partitions, std::uint64_t least_spread = 1000, std::size_t memory = 0)
      : of({.threads = 2, .memory_limit = memory, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = 0;
    of.state()->least_spread = least_spread;
  }
  std::uint64_t sent() const { return of.state()->sent_rows; }
  query::Session of;
};
constexpr std::uint64_t never = ~std::uint64_t{0};

bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

const auto shop_of = [](auto s) { return s.shop; };
const auto number_of = [](auto s) { return s.number; };
const auto joined = [](const query::Session& s, const std::vector<sale>& rows, const std::vector<shop>& all) {
  return query::from(rows).in(s).left_join(query::from(all).in(s), shop_of, number_of, [](auto s, auto t) {
    return query::make<found>(s.shop, s.id, query::iff(t.has_value(), t->floor, -1));
  });
};
std::map<std::int32_t, std::vector<found>> by_shop(const std::vector<found>& rows) {
  std::map<std::int32_t, std::vector<found>> all;
  for (const found& f : rows) all[f.shop].push_back(f);
  return all;
}

TEST(skewed_joins, keep_the_order_of_the_rows_of_a_key) {
  const std::vector<sale> rows = sales(20'000, 60);
  const std::vector<shop> all = shops();
  const in_partitions one(1);
  const auto expected = by_shop(joined(one.of, rows, all).to_vector());
  for (const int n : {2, 4, 7}) {
    const in_partitions spread(n), hashed(n, never);
    const auto q = joined(spread.of, rows, all);
    const std::string before = q.explain();
    EXPECT_TRUE(says(before, "if a key proves to be heavy, its rows are spread")) << before;
    const std::vector<found> got = q.to_vector();
    EXPECT_EQ(by_shop(got), expected) << n;
    EXPECT_EQ(by_shop(joined(hashed.of, rows, all).to_vector()), expected) << n;
    EXPECT_EQ(q.to_vector(), got) << "another order the second time, in " << n;
    EXPECT_TRUE(says(q.explain(), "; 1 heavy key spread, with about ")) << q.explain();
    // No row is sent twice but those that are looked up by the heavy key, two for each other partition.
    EXPECT_LE(spread.sent(), 2 * (hashed.sent() + 2 * static_cast<std::uint64_t>(n))) << n;
  }
}

TEST(skewed_joins, of_rows_that_lie_in_one_partition_are_spread_too) {
  const std::vector<sale> rows = sales(20'000, 60);
  const std::vector<shop> all = shops();
  const in_partitions one(1), four(4);
  const auto taken = [&](const query::Session& s) {
    return query::from(rows).in(s).take(15'000).left_join(query::from(all).in(s), shop_of, number_of, [](auto s, auto t) {
      return s.id * query::iff(t.has_value(), t->floor + 2, 1);
    });
  };
  const auto few = taken(four.of);
  EXPECT_EQ(few.sum(), taken(one.of).sum());
  EXPECT_TRUE(says(few.explain("sum"), "1 heavy key spread")) << few.explain("sum");
}

// Rows and what is looked up leave memory.
TEST(skewed_joins, beyond_memory_give_the_same_rows) {
  const std::vector<sale> rows = sales(200'000, 70);
  std::vector<shop> all = shops();
  const in_partitions one(1), little(3, 1000, std::size_t{24} << 20);
  const auto q = [&](const query::Session& s) {
    return query::from(rows).in(s).join(query::from(all).in(s).where([](auto t) { return t.floor >= 0; }), shop_of, number_of,
                                        [](auto s, auto t) { return query::make<sale>(s.id, t.floor, s.text); });
  };
  const auto sum = [&](const query::Session& s) {
    return q(s).select([](auto x) { return x.id * (x.shop + 1) + query::cast<std::int64_t>(x.text.size()); }).sum();
  };
  EXPECT_EQ(sum(little.of), sum(one.of));
  EXPECT_TRUE(says(q(little.of).explain(), "if a key proves to be heavy"));
}

TEST(skewed_joins, even_keys_go_by_hash) {
  const std::vector<sale> rows = sales(20'000, 0);
  const std::vector<shop> all = shops();
  const in_partitions four(4);
  const auto q = joined(four.of, rows, all);
  (void)q.to_vector();
  EXPECT_TRUE(says(q.explain(), "went by hash, as those that probe them\n")) << q.explain();
}

// A semi join gives no pairs to share: what is looked up would be sent to all for nothing.
TEST(skewed_joins, leave_rows_where_more_are_looked_up_than_look) {
  const std::vector<sale> rows = sales(4000, 90);
  const std::vector<shop> many(50'000, shop{5, 1});
  std::vector<shop> few = shops();
  const in_partitions one(1), four(4);
  const auto semi = [&](const query::Session& s, const std::vector<shop>& all) {
    return query::from(rows).in(s).semi_join(query::from(all).in(s).where([](auto t) { return t.floor >= 0; }), shop_of, number_of);
  };
  const auto to_many = semi(four.of, many), to_few = semi(four.of, few);
  EXPECT_EQ(to_many.count(), semi(one.of, many).count());
  EXPECT_TRUE(says(to_many.explain(), "; one partition got 9")) << to_many.explain();
  EXPECT_EQ(to_few.count(), semi(one.of, few).count());
  EXPECT_TRUE(says(to_few.explain(), "1 heavy key spread")) << to_few.explain();
}

TEST(skewed_joins, plans_name_joins_that_spread_nothing) {
  const std::vector<sale> rows = sales(4000, 90);
  const std::vector<shop> all = shops();
  const in_partitions four(4);
  const auto right = query::from(rows).in(four.of).right_join(
      query::from(all).in(four.of), shop_of, number_of, [](const std::optional<sale>&, const shop& t) { return t.floor; });
  EXPECT_TRUE(says(right.explain(), "rows of one key go to one partition, however many they are: it finds those that have no match"))
      << right.explain();
  const auto groups = query::from(rows).in(four.of)
                          .join(query::from(all).in(four.of), shop_of, number_of,
                                [](auto s, auto t) { return query::make<shop>(s.shop, t.floor); })
                          .group_by(number_of).select([](auto g) { return g.count(); });
  EXPECT_TRUE(says(groups.explain(), "however many they are: a later verb wants them there")) << groups.explain();
  const auto sizes = query::from(all).in(four.of).group_by(number_of).select([](auto g) {
    return query::make<shop>(g.key(), query::cast<std::int32_t>(g.count()));
  });
  const auto looks_up = query::from(rows).in(four.of).join(sizes, shop_of, number_of, [](auto s, auto t) { return s.id + t.floor; });
  EXPECT_TRUE(says(looks_up.explain(), "however many they are: what they look up lies there")) << looks_up.explain();
}

// A list of all values of a key is in one place.
TEST(skewed_groups, are_named_in_the_plan) {
  const std::vector<sale> rows = sales(4000, 90), even = sales(4000, 0);
  const in_partitions four(4);
  const auto medians = [&](const std::vector<sale>& all) {
    return query::from(all).in(four.of).group_by(shop_of).select([](auto g) {
      return std::pair(g.key(), g.median([](auto s) { return s.id; }));
    });
  };
  const auto skewed = medians(rows), balanced = medians(even);
  (void)skewed.to_vector();
  (void)balanced.to_vector();
  EXPECT_TRUE(says(skewed.explain(), "in the last run: one partition got 9")) << skewed.explain();
  EXPECT_FALSE(says(balanced.explain(), "one partition got")) << balanced.explain();
}

}  // namespace
}  // namespace skewed_joins_test
