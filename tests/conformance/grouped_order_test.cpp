// group_by behind a sort: the rows of each group come in the order of the sort, and so do groups with as_ordered().
#include <algorithm>
#include <map>
#include <random>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct event {
  std::int32_t key;
  std::int64_t at;
  double price;
};
QUERY_RECORD(event, key, at, price);

std::vector<event> events(std::size_t n) {
  std::vector<event> all;
  std::mt19937_64 random(seed());
  for (std::size_t i = 0; i < n; ++i)
    all.push_back({static_cast<std::int32_t>(random() % 7), static_cast<std::int64_t>(random() % 1000), static_cast<double>(i)});
  return all;
}
const auto key = [](auto x) { return x.key; };
const auto at = [](auto x) { return x.at; };

CONFORMS(grouped_order, rows_of_a_group_keep_the_order_before_it, "group_by.groups", "group_by", "order_by", "order_by_descending") {
  for (const std::size_t n : {std::size_t{50}, std::size_t{200'000}}) {
    const std::vector<event> rows = events(n);
    std::vector<event> sorted = rows;
    std::stable_sort(sorted.begin(), sorted.end(), [](const event& a, const event& b) { return a.at > b.at; });
    std::map<std::int32_t, std::vector<double>> wanted;
    for (const event& x : sorted) wanted[x.key].push_back(x.price);
    const auto q = source(e, rows).order_by_descending(at);

    std::map<std::int32_t, std::vector<double>> groups, collected;
    for (const auto& g : q.group_by(key).groups()) {
      auto& prices = groups[g.key()];
      for (const event& x : g.rows()) prices.push_back(x.price);
    }
    EXPECT_EQ(groups, wanted);
    for (const auto& [k, prices] :
         q.group_by(key).select([](auto g) { return std::pair(g.key(), g.collect([](auto x) { return x.price; })); }))
      collected[k] = prices;
    EXPECT_EQ(collected, wanted);
    for (const auto& [k, first, last] : q.group_by(key).select(
             [](auto g) { return std::tuple(g.key(), g.first([](auto x) { return x.price; }), g.last([](auto x) { return x.price; })); })) {
      EXPECT_EQ(first, wanted[k].front());
      EXPECT_EQ(last, wanted[k].back());
    }
    // The first of equals.
    std::map<std::int32_t, event> least;
    for (const event& x : sorted)
      if (const auto [it, is_new] = least.try_emplace(x.key, x); !is_new && x.at / 100 < it->second.at / 100) it->second = x;
    for (const auto& [k, best] :
         q.group_by(key).select([](auto g) { return std::pair(g.key(), g.arg_min([](auto x) { return x.at / 100; })); }))
      EXPECT_EQ(best.price, least[k].price);
    const auto table = q.to_lookup(key);
    for (const auto& [k, prices] : wanted) {
      std::vector<double> got;
      for (const event& x : table[k]) got.push_back(x.price);
      EXPECT_EQ(got, prices);
    }
  }
}

CONFORMS(grouped_order, groups_come_in_the_order_of_their_first_row, "group_by.select", "order_by", "as_ordered") {
  const std::vector<event> rows = events(3000);
  std::vector<event> sorted = rows;
  std::stable_sort(sorted.begin(), sorted.end(), [](const event& a, const event& b) { return a.at < b.at; });
  std::vector<std::int32_t> wanted;
  for (const event& x : sorted)
    if (std::find(wanted.begin(), wanted.end(), x.key) == wanted.end()) wanted.push_back(x.key);
  EXPECT_ROWS(source(e, rows).order_by(at).group_by(key).select([](auto g) { return g.key(); }).as_ordered().to_vector(), wanted);
  EXPECT_ROWS(source(e, rows).order_by(at).group_by(key).as_ordered().keys().to_vector(), wanted);
}

}  // namespace
}  // namespace conformance
