// Groups and joins by integers of a small range, which are found by the keys themselves: answers of keys of many shapes, their order, the
// last bits of sums for any number of threads and in little memory, and what explain() says.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/alike_in_little_memory.hpp"
#include "sanitized.hpp"

namespace query::tests {

struct ShopSale {
  std::int64_t shop;
  std::int32_t number;
  double price;
};
QUERY_RECORD(ShopSale, shop, number, price);

struct ShopSum {
  std::int64_t shop;
  double sum;
  std::int64_t n;
  std::int32_t least, first;
  friend bool operator==(const ShopSum&, const ShopSum&) = default;
};
QUERY_RECORD(ShopSum, shop, sum, n, least, first);

struct ShopMean {
  std::int64_t shop;
  double mean;
  friend bool operator==(const ShopMean&, const ShopMean&) = default;
};
QUERY_RECORD(ShopMean, shop, mean);

struct SaleMatch {
  std::int32_t number;
  double value;
  friend bool operator==(const SaleMatch&, const SaleMatch&) = default;
};
QUERY_RECORD(SaleMatch, number, value);

namespace {

// A sample is taken of more than 2^19 rows.
constexpr std::int64_t rows = (1 << 19) + 100'000, shops = 20'000;

std::uint64_t mixed(std::int64_t i) {
  auto x = (static_cast<std::uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 29)) * 0xbf58476d1ce4e5b9u;
  return x ^ (x >> 32);
}
std::int64_t drawn(std::int64_t i) { return static_cast<std::int64_t>(mixed(i) % shops); }
// Distances of integers may exceed their type: arithmetic of 64 bits wraps.
std::int64_t above(std::int64_t a, std::int64_t b) {
  return std::bit_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min(), highest = std::numeric_limits<std::int64_t>::max();

struct shop_keys {
  const char* what;
  bool perfect;  // does explain() say that keys are not hashed?
  std::function<std::int64_t(std::int64_t)> key;
};
const std::vector<shop_keys> kinds_of_keys{
    {"dense", true, drawn},
    {"one in three", true, [](std::int64_t i) { return drawn(i) / 2 * 3; }},
    {"negative", true, [](std::int64_t i) { return drawn(i) - 3 * shops; }},
    {"the lowest integers", true, [](std::int64_t i) { return above(lowest, drawn(i)); }},
    {"the highest integers", true, [](std::int64_t i) { return above(highest, -drawn(i)); }},
    {"sorted", false, [](std::int64_t i) { return i / 30; }},
    {"mostly small", true, [](std::int64_t i) { return drawn(i) * drawn(i + rows) / shops; }},
    // In rows that the sample does not look at.
    {"a few far away", true, [](std::int64_t i) { return i / 100 != 6'000 ? drawn(i) : i % 2 ? above(highest, -i) : above(lowest, i); }},
    {"far away in several parts", true, [](std::int64_t i) { return i % 100'000 / 500 == 100 ? 1'000'000'000 + drawn(i) : drawn(i); }},
    {"sparse", false, [](std::int64_t i) { return drawn(i) * 1'000'003; }},
    {"the lowest and the highest", false, [](std::int64_t i) { return i % 2 ? above(lowest, drawn(i)) : above(highest, -drawn(i)); }},
    {"few", false, [](std::int64_t i) { return drawn(i) % 100; }},
    {"few of a large range", false, [](std::int64_t i) { return drawn(i) % 2'000 * 37; }},
    {"one", false, [](std::int64_t) { return std::int64_t{-5}; }},
};

std::vector<ShopSale> made(const shop_keys& keys) {
  std::vector<ShopSale> all;
  for (std::int64_t i = 0; i < rows; ++i)
    all.push_back({keys.key(i), static_cast<std::int32_t>(mixed(i) >> 40), 1.0 / static_cast<double>(mixed(i) % 977 + 1)});
  return all;
}
query::columns_of<ShopSale> columns_of(const std::vector<ShopSale>& all) {
  query::columns_of<ShopSale> c;
  auto& [shop, number, price] = c.fields;
  for (const ShopSale& s : all) shop.push_back(s.shop), number.push_back(s.number), price.push_back(s.price);
  return c;
}

const auto by_shop = [](auto s) { return s.shop; };
const auto sums = [](auto q) {
  return q.group_by(by_shop).select([](auto g) {
    return query::make<ShopSum>(g.key(), g.sum([](auto s) { return s.price; }), g.count(), g.min([](auto s) { return s.number; }),
                                g.first([](auto s) { return s.number; }));
  });
};

std::map<std::int64_t, ShopSum> by_hand(const std::vector<ShopSale>& all) {
  std::map<std::int64_t, ShopSum> groups;
  for (const ShopSale& s : all) {
    auto [at, is_new] = groups.try_emplace(s.shop, ShopSum{s.shop, 0, 0, s.number, s.number});
    at->second.sum += s.price;
    at->second.n += 1;
    at->second.least = std::min(at->second.least, s.number);
  }
  return groups;
}

void expect_groups(const std::vector<ShopSum>& answer, const std::map<std::int64_t, ShopSum>& wanted) {
  ASSERT_EQ(answer.size(), wanted.size());
  std::size_t differing = 0;
  for (const ShopSum& s : answer) {
    const auto found = wanted.find(s.shop);
    ASSERT_NE(found, wanted.end()) << s.shop;
    const ShopSum& w = found->second;
    differing += s.n != w.n || s.least != w.least || s.first != w.first || std::abs(s.sum - w.sum) > 1e-9 * w.sum;
  }
  EXPECT_EQ(differing, 0u);
}

// How many vertices say so: a join and the groups behind it are two.
std::size_t perfect_tables(const auto& q) {
  const std::string text = q.explain(), says = "perfect hash table of";
  std::size_t n = 0;
  for (std::size_t at = text.find(says); at != std::string::npos; at = text.find(says, at + 1)) ++n;
  return n;
}
bool says_perfect(const auto& q) { return perfect_tables(q) != 0; }

TEST(perfect_hash, groups_of_keys_of_all_shapes) {
  for (const shop_keys& keys : kinds_of_keys) {
    const std::vector<ShopSale> all = made(keys);
    const query::columns_of<ShopSale> columns = columns_of(all);
    const auto wanted = by_hand(all);
    for (const bool interpret : {false, true}) {
      std::vector<ShopSum> first;
      for (const int threads : {1, 2, 7, 16}) {
        if ((interpret || sanitized) && threads != 7) continue;
        SCOPED_TRACE(std::string(keys.what) + (interpret ? ", interpreted, " : ", ") + std::to_string(threads) + " threads");
        const Session s({.threads = threads, .interpret = interpret});
        const auto of_records = sums(query::from(all).in(s));
        const std::vector<ShopSum> answer = of_records.to_vector();
        expect_groups(answer, wanted);
        EXPECT_EQ(says_perfect(of_records), keys.perfect) << of_records.explain();
        if (first.empty()) first = answer;
        EXPECT_TRUE(answer == first);  // rows, order and all bits
        const auto of_columns = sums(query::from(query::columns(columns)).in(s));
        expect_groups(of_columns.to_vector(), wanted);
      }
    }
  }
}

std::vector<std::int64_t> shops_of(const auto& groups) {
  std::vector<std::int64_t> all;
  for (const auto& [shop, n] : groups.to_vector()) all.push_back(shop);
  return all;
}

// Keys of opaque functions are always hashed, and a generator's rows are merged part by part.
TEST(perfect_hash, groups_come_in_the_order_that_hash_tables_give) {
  for (const shop_keys& keys : kinds_of_keys) {
    const std::vector<ShopSale> all = made(keys);
    const query::columns_of<ShopSale> columns = columns_of(all);
    const std::vector<std::int64_t> wanted = shops_of(query::from(all).count_by(query::opaque([](const ShopSale& s) { return s.shop; })));
    for (const int threads : {1, 2, 7}) {
      if (sanitized && threads != 7) continue;
      SCOPED_TRACE(std::string(keys.what) + ", " + std::to_string(threads) + " threads");
      const Session s({.threads = threads});
      EXPECT_TRUE(shops_of(query::from(all).in(s).count_by(by_shop)) == wanted);
      EXPECT_TRUE(shops_of(query::from(query::columns(columns)).in(s).count_by(by_shop)) == wanted);
      const auto generated = query::generate([&all, i = std::size_t{0}]() mutable -> std::optional<ShopSale> {
        return i == all.size() ? std::nullopt : std::optional(all[i++]);
      });
      EXPECT_TRUE(shops_of(generated.in(s).count_by(by_shop)) == wanted);
    }
  }
}

// Of how many groups, and in how many runs whose groups are in the order of their first appearance.
std::pair<std::size_t, std::size_t> runs_of_first_rows(std::int64_t n, auto key) {
  std::vector<ShopSale> all;
  for (std::int64_t i = 0; i < n; ++i) all.push_back({key(i), static_cast<std::int32_t>(i), 1});
  const auto firsts = query::from(all).group_by(by_shop).select([](auto g) { return g.min([](auto s) { return s.number; }); }).to_vector();
  std::size_t runs = firsts.empty() ? 0 : 1;
  for (std::size_t i = 1; i < firsts.size(); ++i) runs += firsts[i] < firsts[i - 1];
  return {firsts.size(), runs};
}

TEST(perfect_hash, few_groups_come_as_they_appear_first) {
  const auto several = [](std::int64_t keys) { return [keys](std::int64_t i) { return drawn(i) % keys; }; };
  EXPECT_EQ(runs_of_first_rows(0, several(1)), std::pair(std::size_t{0}, std::size_t{0}));
  for (const std::int64_t n : {20'000, 200'000, 700'000}) {
    SCOPED_TRACE(std::to_string(n));
    EXPECT_EQ(runs_of_first_rows(n, several(256)), std::pair(std::size_t{256}, std::size_t{1}));
    for (const std::int64_t keys : {257, 1'000, 10'000}) {
      const auto [groups, runs] = runs_of_first_rows(n, several(keys));
      EXPECT_GT(groups, 256u);
      EXPECT_GT(runs, 32u);
      EXPECT_LE(runs, 64u);
    }
  }
}

TEST(perfect_hash, groups_behind_a_join_and_a_filter) {
  std::vector<ShopSale> all = made(kinds_of_keys.front());
  std::vector<ShopMean> weights;
  for (std::int64_t i = 0; i < shops; ++i) weights.push_back({i, static_cast<double>(i % 7)});
  std::map<std::int64_t, double> wanted;
  for (const ShopSale& s : all)
    if (s.number % 5 != 0) wanted[shops - s.shop] += s.price * static_cast<double>(s.shop % 7);
  std::vector<ShopMean> first;
  for (const int threads : {1, 2, 7, 16}) {
    const Session session({.threads = threads});
    const auto q = query::from(all)
                       .in(session)
                       .where([](auto s) { return s.number % 5 != 0; })
                       .join(query::from(weights).in(session), by_shop, by_shop,
                             [](auto s, auto w) { return query::make<ShopMean>(shops - s.shop, s.price * w.mean); })
                       .group_by(by_shop)
                       .select([](auto g) { return query::make<ShopMean>(g.key(), g.sum([](auto s) { return s.mean; })); });
    const std::vector<ShopMean> answer = q.to_vector();
    EXPECT_EQ(perfect_tables(q), 2u) << q.explain();
    ASSERT_EQ(answer.size(), wanted.size());
    for (const ShopMean& m : answer) EXPECT_NEAR(m.mean, wanted.at(m.shop), 1e-9 * (1 + wanted.at(m.shop)));
    if (first.empty()) first = answer;
    EXPECT_TRUE(answer == first);
  }
}

TEST(perfect_hash, groups_of_a_filter_that_leaves_few_rows_a_key_are_hashed) {
  const std::vector<ShopSale> all = made(kinds_of_keys.front());
  const auto q = query::from(all).where([](auto s) { return s.number % 50 == 0; }).count_by(by_shop);
  std::int64_t n = 0, wanted = 0;
  for (const auto& [shop, k] : q.to_vector()) n += k;
  for (const ShopSale& s : all) wanted += s.number % 50 == 0;
  EXPECT_EQ(n, wanted);
  EXPECT_FALSE(says_perfect(q)) << q.explain();
}

TEST(perfect_hash, groups_of_what_other_verbs_give) {
  const std::vector<ShopSale> all = made(kinds_of_keys.front());
  const std::vector<std::int64_t> wanted = shops_of(query::from(all).count_by(by_shop));
  const auto expect = [&](const auto& rows) {
    const auto q = rows.count_by(by_shop);
    EXPECT_TRUE(shops_of(q) == wanted);
    EXPECT_TRUE(says_perfect(q)) << q.explain();
  };
  expect(query::from(all).cached());
  expect(query::from(all).reverse().reverse());
  expect(query::from(all).concat(query::from(std::vector<ShopSale>())));
  const auto counts = query::from(all).do_while([&](query::Query<ShopSale> now) {
    return now.select([](auto s) { return query::make<ShopSale>(shops - s.shop, s.number, s.price); });
  }, query::times(2));
  expect(counts);
}

TEST(perfect_hash, groups_of_narrow_keys) {
  const std::vector<ShopSale> all = made(kinds_of_keys.front());
  std::map<std::int16_t, std::int64_t> wanted;
  const auto narrow = [](const ShopSale& s) { return static_cast<std::int16_t>(s.shop * 3); };
  for (const ShopSale& s : all) ++wanted[narrow(s)];
  const auto answer = query::from(all).count_by([](auto s) { return query::cast<std::int16_t>(s.shop * 3); }).to_vector();
  ASSERT_EQ(answer.size(), wanted.size());
  for (const auto& [key, n] : answer) EXPECT_EQ(wanted.at(key), n) << key;
}

TEST(perfect_hash, keys_that_may_be_missing_are_hashed) {
  const std::vector<ShopSale> all = made(kinds_of_keys.front());
  std::map<std::optional<std::int64_t>, std::int64_t> wanted;
  const auto key = [](const ShopSale& s) { return s.number % 5 ? std::optional(s.shop) : std::nullopt; };
  for (const ShopSale& s : all) ++wanted[key(s)];
  const auto answer = query::from(all).count_by(key).to_vector();
  ASSERT_EQ(answer.size(), wanted.size());
  for (const auto& [k, n] : answer) EXPECT_EQ(wanted.at(k), n);
}

TEST(perfect_hash, groups_in_little_memory_are_the_same_in_the_same_order) {
  for (const char* const what : {"dense", "one in three", "a few far away", "far away in several parts"}) {
    const auto keys = std::ranges::find(kinds_of_keys, std::string_view(what), &shop_keys::what);
    const std::vector<ShopSale> all = made(*keys);
    const query::columns_of<ShopSale> columns = columns_of(all);
    for (const std::size_t memory : {std::size_t{6} << 20, std::size_t{24} << 20}) {
      SCOPED_TRACE(std::to_string(memory));
      expect_alike(std::string(what) + ", records", memory, [&](const Session& s) { return query::from(all).in(s); }, sums, false);
      expect_alike(std::string(what) + ", columns", memory, [&](const Session& s) { return query::from(query::columns(columns)).in(s); },
                   sums, false);
    }
  }
}

// The build side of the join has no room in 12 MiB: its rows come from files, where nothing can be sampled.
TEST(perfect_hash, groups_behind_a_join_are_in_the_same_order_in_little_memory) {
  std::vector<ShopSale> all = made(kinds_of_keys.front());
  for (std::size_t i = 0; i < all.size(); ++i) all[i].number = static_cast<std::int32_t>(i * 7 % all.size());
  std::vector<SaleMatch> values;
  for (std::size_t i = 0; i < all.size(); ++i) values.push_back({static_cast<std::int32_t>(i), static_cast<double>(i % 10)});
  const auto number = [](auto s) { return s.number; };
  const auto joined = [&](const Session& s) {
    return query::from(all).in(s).join(query::from(values).in(s), number, number, [](auto s, auto v) {
      return query::make<ShopSale>(s.shop - 7, s.number, v.value);
    });
  };
  const auto whole_sums = [](auto q) {
    return q.group_by(by_shop).select([](auto g) {
      return query::make<ShopSum>(g.key(), g.sum([](auto s) { return s.price; }), g.count(), g.min([](auto s) { return s.number; }),
                                  g.max([](auto s) { return s.number; }));
    });
  };
  const auto q = whole_sums(joined(Session({.threads = 2})));
  EXPECT_EQ(q.to_vector().size(), static_cast<std::size_t>(shops));
  EXPECT_EQ(perfect_tables(q), 2u) << q.explain();
  expect_alike("join", 12u << 20, joined, whole_sums);
  expect_alike("join, then a test that leaves few rows", 12u << 20, joined,
               [&](auto rows) { return whole_sums(rows.where([](auto s) { return s.shop % 9 == 0; })); });
  expect_alike("join, then few groups", 12u << 20, joined, [](auto rows) {
    return rows.group_by([](auto s) { return s.shop % 200; }).select([](auto g) { return std::pair(g.key(), g.count()); });
  });
}

TEST(perfect_hash, functions_that_do_not_trace_see_each_row_once) {
  const std::vector<ShopSale> all = made(kinds_of_keys.front());
  std::atomic<std::int64_t> calls = 0;
  const auto key = query::opaque([&calls](const ShopSale& s) {
    calls.fetch_add(1, std::memory_order_relaxed);
    return s.shop;
  });
  EXPECT_EQ(query::from(all).count_by(key).to_vector().size(), by_hand(all).size());
  EXPECT_EQ(calls.load(), rows);
}

TEST(perfect_hash, joins_of_keys_of_all_shapes) {
  constexpr std::int64_t left = 60'000;
  for (const shop_keys& keys : kinds_of_keys) {
    for (const bool unique : {true, false}) {
      std::vector<ShopMean> right;
      std::map<std::int64_t, std::vector<double>> values;
      for (std::int64_t i = 0; i < shops; ++i) {
        const std::int64_t shop = keys.key(i);
        auto& of_shop = values[shop];
        if (unique && !of_shop.empty()) continue;
        right.push_back({shop, static_cast<double>(i)});
        of_shop.push_back(static_cast<double>(i));
      }
      std::vector<ShopSale> sales;
      for (std::int64_t i = 0; i < left; ++i) sales.push_back({keys.key(i * 7 / 3), static_cast<std::int32_t>(i), 0});
      if (values.size() < 200 && !unique) sales.resize(500);
      std::vector<SaleMatch> wanted;
      for (const ShopSale& s : sales)
        if (const auto found = values.find(s.shop); found != values.end())
          for (const double value : found->second) wanted.push_back({s.number, value});
      for (const int threads : {1, 2, 7}) {
        SCOPED_TRACE(std::string(keys.what) + (unique ? ", unique, " : ", ") + std::to_string(threads) + " threads");
        const Session session({.threads = threads});
        const auto q = query::from(sales).in(session).join(query::from(right).in(session), by_shop, by_shop, [](auto s, auto r) {
          return query::make<SaleMatch>(s.number, r.mean);
        });
        EXPECT_TRUE(q.as_ordered().to_vector() == wanted);
      }
    }
  }
}

TEST(perfect_hash, joins_say_that_keys_are_not_hashed) {
  const std::vector<ShopSale> sales = made(kinds_of_keys.front());
  std::vector<ShopMean> right;
  for (std::int64_t i = 0; i < shops; ++i) right.push_back({i, 1.0});
  const auto joined = [&](auto q) {
    return q.join(query::from(right), by_shop, by_shop, [](auto s, auto r) { return query::make<ShopMean>(s.shop, s.price * r.mean); });
  };
  const auto of_records = joined(query::from(sales));
  EXPECT_EQ(of_records.to_vector().size(), sales.size());
  EXPECT_NE(of_records.explain().find("perfect hash table of 20,000 keys"), std::string::npos) << of_records.explain();
  for (ShopMean& r : right) r.shop *= 1'000'003;
  const auto hashed = joined(query::from(sales));
  hashed.count();
  EXPECT_FALSE(says_perfect(hashed)) << hashed.explain();
}

}  // namespace
}  // namespace query::tests
