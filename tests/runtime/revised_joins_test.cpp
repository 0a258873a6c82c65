// Joins in partitions whose hash table proves to be small when its rows are about to be sent: each partition gets all of them, and the rows
// that probe it stay where they are. The answers are those of one partition, whatever is decided.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace revised_joins_test {

struct sale {
  std::int64_t id;
  std::int32_t shop;
  double price;
  std::string text;
};
QUERY_RECORD(sale, id, shop, price, text);
struct shop {
  std::int32_t number, town;
  std::optional<double> rent;
};
QUERY_RECORD(shop, number, town, rent);
struct found {
  std::int64_t id;
  std::int32_t town;
  double x;
  auto operator<=>(const found&) const = default;
};
QUERY_RECORD(found, id, town, x);

namespace {

std::vector<sale> sales(std::int64_t n) {
  std::vector<sale> all;
  for (std::int64_t i = 0; i < n; ++i)
    all.push_back({i, static_cast<std::int32_t>(i * 7919 % 211), i % 97 ? static_cast<double>(i % 1000) / 7 : -0.0,
                   "sale " + std::to_string(i)});
  return all;
}
// Keys twice, and some that no sale has.
std::vector<shop> shops(std::int32_t n) {
  std::vector<shop> all;
  for (std::int32_t i = 0; i < n; ++i)
    all.push_back({i % 300, i % 11, i % 5 ? std::optional<double>(i / 3.0) : std::nullopt});
  return all;
}

struct in_partitions {
  in_partitions(int partitions, std::uint64_t most_broadcast) : of({.threads = 2, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = most_broadcast;
  }
  std::uint64_t sent() const { return of.state()->sent_rows; }
  query::Session of;
};
constexpr std::uint64_t a_page = 4096;  // bytes that go to each partition

bool says(const std::string& text, std::string_view words) { return text.find(words) != std::string::npos; }

const auto shop_of = [](auto s) { return s.shop; };
const auto number_of = [](auto s) { return s.number; };
const auto pair_of = [](auto s, auto t) { return query::make<found>(s.id, t.town, s.price + t.rent.value_or(1.0)); };
// The planner knows how many rows there are before the filter only: too many to be sent to all for sure.
const auto some = [](const query::Session& s, const std::vector<shop>& all, std::int32_t below) {
  return query::from(all).in(s).where([below](auto t) { return t.town < below; });
};
std::vector<found> in_order(std::vector<found> rows) {
  std::ranges::sort(rows, [](const found& a, const found& b) { return a < b; });
  return rows;
}

TEST(revised_joins, send_the_few_and_leave_the_many) {
  const std::vector<sale> rows = sales(20'000);
  const std::vector<shop> all = shops(1000);
  const auto q = [&](const query::Session& s) { return query::from(rows).in(s).join(some(s, all, 1), shop_of, number_of, pair_of); };
  const in_partitions one(1, a_page), hashed(4, 0), revised(4, a_page);
  const auto expected = in_order(q(one.of).to_vector());
  ASSERT_GT(expected.size(), 1000u);
  EXPECT_EQ(in_order(q(hashed.of).to_vector()), expected);
  EXPECT_GT(hashed.sent(), rows.size());
  const auto query = q(revised.of);
  const std::string before = query.explain();
  EXPECT_TRUE(says(before, "if these rows prove to be small, each partition gets all of them")) << before;
  EXPECT_FALSE(says(before, "in the last run")) << before;
  EXPECT_EQ(in_order(query.to_vector()), expected);
  EXPECT_LT(revised.sent(), rows.size() / 2 + expected.size());
  const std::string after = query.explain();
  EXPECT_TRUE(says(after, "exchange by hash for join")) << after;
  EXPECT_TRUE(says(after, "in the last run: 91 rows went to each partition, and those that probe them stayed")) << after;
  EXPECT_TRUE(says(query.explain_json(), "\"revised_if_small\"")) << query.explain_json();
}

TEST(revised_joins, of_many_rows_go_by_hash) {
  const std::vector<sale> rows = sales(20'000);
  const std::vector<shop> all = shops(1000);
  const in_partitions four(4, a_page);
  const auto q = query::from(rows).in(four.of).join(some(four.of, all, 9), shop_of, number_of, pair_of);
  (void)q.to_vector();
  EXPECT_GT(four.sent(), rows.size());
  EXPECT_TRUE(says(q.explain(), "went by hash, as those that probe them")) << q.explain();
}

// The same bits each time and in each number of partitions where the plan says so: here by an order at the end.
TEST(revised_joins, of_all_kinds_give_the_answers_of_one_partition) {
  const std::vector<shop> many = shops(1000), none;
  for (const std::int64_t n : {0, 1, 5000}) {
    const std::vector<sale> rows = sales(n);
    for (const std::vector<shop>* const all : {&many, &none})
      for (const std::int32_t below : {0, 1, 11}) {
        const auto answers = [&](const query::Session& s) {
          const auto left = query::from(rows).in(s);
          const auto with = query::from(rows).in(s).where([](auto x) { return x.id >= 0; });
          const auto right = some(s, *all, below);
          const auto by_id = [](auto r) { return r.id; };
          std::vector<std::vector<found>> lists{
              in_order(left.join(right, shop_of, number_of, pair_of).to_vector()),
              in_order(right.join(with, number_of, shop_of, [](auto t, auto s) {
                              return query::make<found>(s.id, t.town, s.price);
                            }).to_vector()),
              in_order(left.left_join(right, shop_of, number_of, [](auto s, auto t) {
                             return query::make<found>(s.id, query::iff(t.has_value(), t->town, -1), s.price);
                           }).to_vector())};
          std::vector<std::vector<std::int64_t>> ids{
              left.semi_join(right, shop_of, number_of).select(by_id).order_by([](auto i) { return i; }).to_vector(),
              left.anti_join(right, shop_of, number_of).select(by_id).order_by([](auto i) { return i; }).to_vector()};
          const auto count = left.join(right, shop_of, number_of, pair_of).count();
          return std::tuple(lists, ids, count);
        };
        const in_partitions one(1, a_page);
        const auto expected = answers(one.of);
        for (const int partitions : {2, 4, 7}) {
          SCOPED_TRACE(std::to_string(n) + " rows, towns below " + std::to_string(below) + ", in " + std::to_string(partitions));
          const in_partitions revised(partitions, a_page);
          EXPECT_EQ(answers(revised.of), expected);
          EXPECT_EQ(answers(revised.of), expected);
        }
      }
  }
}

// Rows that somebody wants by the hash of their key are sent so.
TEST(revised_joins, are_none_where_rows_have_to_lie_by_their_key) {
  const std::vector<sale> rows = sales(5000);
  const std::vector<shop> all = shops(1000);
  const auto joined = [&](const query::Session& s) {
    return query::from(rows).in(s).join(some(s, all, 1), shop_of, number_of,
                                        [](auto s, auto t) { return query::make<shop>(s.shop, t.town, s.price); });
  };
  const auto groups = [](const auto& q) {
    auto sums = q.group_by(number_of).select([](auto g) { return std::pair(g.key(), g.count()); }).to_vector();
    std::ranges::sort(sums);
    return sums;
  };
  const in_partitions one(1, a_page), four(4, a_page);
  const auto expected = groups(joined(one.of));
  const std::string plan = joined(four.of).group_by(number_of).select([](auto g) { return g.count(); }).explain();
  ASSERT_TRUE(says(plan, "group_by: no exchange")) << plan;
  EXPECT_FALSE(says(plan, "prove to be small")) << plan;
  EXPECT_EQ(groups(joined(four.of)), expected);
  // The query to come finds cached rows, and knows from its plan alone how they lie.
  const auto cached = joined(four.of).cached();
  EXPECT_FALSE(says(cached.explain(), "prove to be small")) << cached.explain();
  EXPECT_EQ(cached.count(), joined(one.of).count());
  EXPECT_EQ(groups(cached), expected);
}

TEST(revised_joins, are_decided_anew_in_each_run) {
  const std::vector<sale> rows = sales(5000);
  std::vector<shop> all = shops(1000);
  const in_partitions four(4, a_page);
  const auto of_town = query::from(all).in(four.of).where([](auto t) { return t.town == 0; });
  const auto q = query::from(rows).in(four.of).join(of_town, shop_of, number_of, pair_of);
  const auto few = q.count();
  EXPECT_TRUE(says(q.explain(), "went to each partition")) << q.explain();
  for (shop& s : all) s.town = 0;
  EXPECT_GT(q.count(), few);
  EXPECT_TRUE(says(q.explain(), "went by hash")) << q.explain();
  for (shop& s : all) s.town = 1;
  EXPECT_EQ(q.count(), 0u);
  EXPECT_TRUE(says(q.explain(), "0 rows went to each partition")) << q.explain();
}

}  // namespace
}  // namespace revised_joins_test
