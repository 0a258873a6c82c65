// Partitions group their rows before they send them: every aggregate is the same as in one partition, and few rows are sent.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/session_state.hpp"

namespace partial_groups_test {

struct sale {
  std::int64_t id;
  std::int32_t shop;
  std::optional<std::int32_t> amount;
  double weight;
};
QUERY_RECORD(sale, id, shop, amount, weight);
bool operator==(const sale& a, const sale& b) { return a.id == b.id; }
struct named {
  std::string name;
  std::int64_t id;
};
QUERY_RECORD(named, name, id);
struct report {
  std::int32_t shop;
  std::int64_t n, some;
  std::optional<std::int32_t> low, high;
  std::optional<double> mean, spread;
  std::int64_t first, last, best;
  bool any, all;
  bool operator==(const report&) const = default;
};
QUERY_RECORD(report, shop, n, some, low, high, mean, spread, first, last, best, any, all);

std::vector<sale> sales(std::int64_t n, std::int64_t shops) {
  std::vector<sale> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int64_t x = i * 7919 % 10'007;
    rows.push_back({i, static_cast<std::int32_t>(i * 31 % shops), std::nullopt, static_cast<double>(x % 64)});
    if (x % 5) rows.back().amount = static_cast<std::int32_t>(x % 100 - 50);
    if (x % 17 == 0) rows.back().weight = std::numeric_limits<double>::quiet_NaN();
  }
  return rows;
}
struct session {
  explicit session(int partitions, bool interpret = false)
      : of({.threads = 2, .interpret = interpret, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
    of.state()->most_broadcast = 64;
  }
  std::uint64_t sent() const { return of.state()->sent_rows; }
  query::Session of;
};
bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

const auto shop = [](auto s) { return s.shop; };
const auto reported = [](auto g) {
  return query::make<report>(g.key(), g.count(), g.count([](auto s) { return s.amount; }), g.min([](auto s) { return s.amount; }),
                             g.max([](auto s) { return s.amount; }), g.mean([](auto s) { return s.amount; }),
                             g.variance([](auto s) { return s.shop; }), g.first([](auto s) { return s.id; }),
                             g.last([](auto s) { return s.id; }), g.arg_max([](auto s) { return s.weight; }).id,
                             g.any([](auto s) { return s.id == 77; }), g.all([](auto s) { return s.weight < 60; }));
};
std::vector<report> by_shop(std::vector<report> rows) {
  std::ranges::sort(rows, {}, &report::shop);
  return rows;
}

TEST(partial_groups, every_state_of_plain_values_is_sent) {
  for (const bool interpret : {false, true})
    for (const std::int64_t n : {0, 1, 5, 1'000, 30'000}) {
      const auto rows = sales(n, 13);
      const session one(1, interpret), four(4, interpret), seven(7, interpret);
      const auto in = [&](const session& s) { return query::from(rows).in(s.of).group_by(shop).select(reported); };
      const auto wanted = by_shop(in(one).to_vector());
      EXPECT_EQ(by_shop(in(four).to_vector()), wanted);
      EXPECT_EQ(by_shop(in(seven).to_vector()), wanted);
      EXPECT_LE(four.sent(), 4u * 13 + 13);
      EXPECT_EQ(four.of.memory_used(), 0u);
      EXPECT_TRUE(says(in(four).explain(), "exchange of groups by hash for group_by"));
      EXPECT_TRUE(says(in(four).explain_dot(), "exchange of groups by hash for group_by"));
      EXPECT_FALSE(says(in(one).explain(), "exchange"));
    }
}

TEST(partial_groups, keys_of_strings_come_from_records_and_columns) {
  std::vector<std::string> names;
  std::vector<std::int64_t> ids;
  std::vector<named> rows;
  for (std::int64_t i = 0; i < 20'000; ++i) {
    names.push_back("a name that no buffer within a string holds " + std::to_string(i % 97));
    ids.push_back(i);
    rows.push_back({names.back(), i});
  }
  const auto in = [](const session& s, const auto& from) {
    auto all = from.in(s.of)
                   .group_by([](auto r) { return r.name; })
                   .select([](auto g) { return query::make<named>(g.key(), g.sum([](auto r) { return r.id; })); })
                   .to_vector();
    std::ranges::sort(all, {}, &named::name);
    std::vector<std::pair<std::string, std::int64_t>> pairs;
    for (const named& x : all) pairs.emplace_back(x.name, x.id);
    return pairs;
  };
  const auto columns = query::from(query::columns<named>(names, ids));
  for (const bool interpret : {false, true}) {
    const session one(1, interpret), four(4, interpret);
    const auto wanted = in(one, query::from(rows));
    ASSERT_EQ(wanted.size(), 97u);
    EXPECT_EQ(in(four, query::from(rows)), wanted);
    EXPECT_EQ(in(four, columns), wanted);
    EXPECT_EQ(four.sent(), 2 * (4u * 97 + 97));
  }
}

// Far more groups than a first look expects to merge: rows go as groups of one row, and give the same.
TEST(partial_groups, rows_with_keys_of_their_own_are_sent_as_groups) {
  const auto rows = sales(300'000, 280'009);
  std::vector<std::string> names;
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < 300'000; ++i) {
    names.push_back(std::to_string(i * 31 % 280'009));
    ids.push_back(i);
  }
  const session one(1), four(4);
  const auto in = [&](const session& s) { return by_shop(query::from(rows).in(s.of).group_by(shop).select(reported).to_vector()); };
  EXPECT_EQ(in(four), in(one));
  EXPECT_GE(four.sent(), 300'000u + 280'009);
  const auto longest = [&](const session& s) {
    return query::from(query::columns<named>(names, ids))
        .in(s.of)
        .group_by([](auto r) { return r.name; })
        .select([](auto g) { return query::make<named>(g.key(), g.first([](auto r) { return r.id; }) * 3 + g.count()); })
        .sum([](auto r) { return r.id; });
  };
  EXPECT_EQ(longest(four), longest(one));
  EXPECT_EQ(four.of.memory_used(), 0u);
}

// A partition's first rows hardly share keys, but all of its rows do: groups are sent.
TEST(partial_groups, keys_that_come_back_late_are_sent_as_groups) {
  auto rows = sales(600'000, 10);
  std::mt19937 random(1);
  for (sale& s : rows) s.shop = static_cast<std::int32_t>(random() % 50'000);
  const session one(1), two(2);
  const auto in = [&](const session& s) { return by_shop(query::from(rows).in(s.of).group_by(shop).select(reported).to_vector()); };
  EXPECT_EQ(in(two), in(one));
  EXPECT_LE(two.sent(), 3 * 50'000u);  // the groups of both partitions, and the results
}

TEST(partial_groups, where_states_are_lists_or_own_memory_rows_are_sent) {
  const auto rows = sales(2'000, 10);
  const session four(4);
  const auto lists = query::from(rows).in(four.of).group_by(shop).select([](auto g) {
    return std::pair(g.key(), g.collect([](auto s) { return s.id; }));
  });
  for (const auto& [key, ids] : lists.to_vector()) EXPECT_TRUE(std::ranges::is_sorted(ids)) << key;
  EXPECT_EQ(four.sent(), 2'000u + 10);
  EXPECT_TRUE(says(lists.explain(), "partitions send rows, not groups: the states of collect hold all values")) << lists.explain();
}

TEST(partial_groups, the_users_own_equality_sends_groups_by_its_hash) {
  const auto rows = sales(5'000, 40);
  const session one(1), four(4);
  const auto near = [](std::int32_t a, std::int32_t b) { return a / 4 == b / 4; };
  const auto hash = [](std::int32_t a) { return static_cast<std::size_t>(a / 4); };
  const auto in = [&](const session& s) {
    auto counts = query::from(rows).in(s.of).group_by(shop, near, hash).select([](auto g) { return g.count(); }).to_vector();
    std::ranges::sort(counts);
    return counts;
  };
  EXPECT_EQ(in(four), in(one));
  EXPECT_EQ(four.sent(), 4u * 10 + 10);
}

TEST(partial_groups, an_aggregate_of_all_rows_sends_a_state_a_partition) {
  for (const bool interpret : {false, true})
    for (const std::int64_t n : {0, 1, 3, 10'000}) {
      const auto rows = sales(n, 13);
      const session one(1, interpret), four(4, interpret);
      const auto in = [&](const session& s) {
        return query::from(rows).in(s.of).where([](auto x) { return x.id % 3 != 1; }).reduce([](auto g) {
          return std::tuple(g.count(), g.max([](auto x) { return x.id; }), g.arg_max([](auto x) { return x.id % 100; }),
                            g.arg_min([](auto x) { return x.weight; }), g.mean([](auto x) { return x.amount; }));
        });
      };
      EXPECT_EQ(in(four), in(one)) << n;
      EXPECT_LE(four.sent(), 4u);
    }
  const auto rows = sales(1'000, 13);
  const session four(4);
  const auto least = query::from(rows).in(four.of).explain("min_by", [](auto x) { return x.weight; });
  EXPECT_TRUE(says(least, "exchange: gather of states for min_by")) << least;
}

}  // namespace partial_groups_test
