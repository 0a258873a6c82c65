// States of the user's own over columns: their functions read fields where they lie, and give what records do, to the last bit.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct offer {
  std::int32_t shop;
  std::string item, note;
  double price;
  std::optional<std::int32_t> rank;
};
QUERY_RECORD(offer, shop, item, note, price, rank);
struct shop_name {
  std::int32_t shop;
  std::string name;
};
QUERY_RECORD(shop_name, shop, name);
struct named_offer {
  std::int32_t shop;
  std::string item;
  std::optional<std::string> name;
  double price;
};
QUERY_RECORD(named_offer, shop, item, name, price);

namespace {

struct offers {
  std::vector<offer> rows;
  query::columns_of<offer> columns;

  offers(std::size_t n, std::uint32_t shops) {
    for (std::size_t i = 0; i < n; ++i) {
      const auto x = static_cast<std::uint32_t>(i) * 2654435761u;
      const double price = x % 31 == 0 ? std::numeric_limits<double>::quiet_NaN() : x % 29 == 0 ? -0.0 : (x % 5001) / 7.0;
      rows.push_back({static_cast<std::int32_t>((x >> 7) % shops), (x % 2 ? "an item of the long name " : "i") + std::to_string(x % 97),
                      "note " + std::to_string(i), price, x % 5 ? std::optional(static_cast<std::int32_t>(x % 13)) : std::nullopt});
    }
    columns = query::from(rows).to_vectors();
  }
};

using two = std::pair<double, double>;
const auto largest_two = query::aggregates::aggregate(
    two(-1, -1),
    [](const two& s, const auto& r) { return r.price > s.first ? two(r.price, s.first) : r.price > s.second ? two(s.first, r.price) : s; },
    [](const two& a, const two& b) {
      return a.first > b.first ? two(a.first, std::max(a.second, b.first)) : two(b.first, std::max(b.second, a.first));
    });
// Reads strings and an optional, takes the row by value, and depends on the order of the rows.
const auto story = query::aggregates::aggregate(
    std::string(),
    [](std::string s, auto r) {
      if (s.size() < 60) s += r.item.substr(0, 3) + (r.rank ? std::to_string(*r.rank) : "-");
      return s;
    },
    [](std::string a, const std::string& b) { return a.size() < 60 ? a + b : a; }, [](const std::string& s) { return s.substr(0, 60); });

using answer = std::tuple<std::int32_t, std::uint64_t, std::uint64_t, std::string, std::int64_t, std::uint64_t>;
template <class Q> std::vector<answer> answers(const Q& q) {
  using namespace query::aggregates;
  std::vector<answer> all;
  for (const auto& [shop, best, text, n, sum] :
       q.aggregate_by([](auto r) { return r.shop; }, largest_two, story, count(), query::aggregates::sum([](auto r) { return r.price; }))
           .to_vector())
    all.emplace_back(shop, std::bit_cast<std::uint64_t>(best.first), std::bit_cast<std::uint64_t>(best.second), text, n,
                     std::isnan(sum) ? 0 : std::bit_cast<std::uint64_t>(sum));
  return all;
}
template <class T> std::vector<T> sorted(std::vector<T> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}
bool over_columns(const std::string& plan) {
  const auto at = plan.find("aggregate_by", plan.find("machine graph"));
  return plan.substr(at, plan.find('\n', at) - at).find(", over columns") != std::string::npos;
}

void same_as_records(std::size_t n, std::uint32_t shops) {
  SCOPED_TRACE(std::to_string(n) + " rows, " + std::to_string(shops) + " shops");
  const offers o(n, shops);
  const auto wanted = sorted(answers(query::from(o.rows)));
  std::optional<std::vector<answer>> first;
  const auto columns = query::from(query::columns(o.columns));
  for (const int threads : {1, 2, 7, 16}) {
    if (sanitized && threads > 2) continue;
    const auto now = answers(columns.in(query::Session({.threads = threads})));
    if (!first) first = now;
    EXPECT_EQ(now, *first) << threads << " threads";
    // Sums of floats are of other parts than those of records: compared without them.
    auto here = sorted(now), there = wanted;
    for (auto* all : {&here, &there})
      for (answer& a : *all) std::get<5>(a) = 0;
    EXPECT_EQ(here, there) << threads << " threads";
  }
  const temp_folder at("own_states_test");
  const query::Session little({.threads = 2, .memory_limit = std::size_t{24} << 20, .temp_folder = at.name()});
  EXPECT_EQ(answers(columns.in(little)), *first);
}

TEST(own_states, are_those_of_records) {
  same_as_records(0, 1);
  same_as_records(1, 1);
  same_as_records(3'000, 1);
  same_as_records(3'000, 40);
  same_as_records(sanitized ? 20'000 : 140'000, 6'000);
}
TEST(own_states, of_about_as_many_groups_as_rows) { same_as_records(sanitized ? 20'000 : 140'000, 400'000); }

TEST(own_states, behind_tests_and_joins) {
  const offers o(20'000, 300);
  query::columns_of<shop_name> names;
  for (std::int32_t s = 0; s < 200; ++s) {
    std::get<0>(names.fields).push_back(s);
    std::get<1>(names.fields).push_back("the shop of number " + std::to_string(s));
  }
  using pair = std::pair<double, double>;
  const auto most = query::aggregates::aggregate(
      pair(0, 0),
      [](const pair& s, const auto& r) {
        return pair(s.first + (r.name ? static_cast<double>(r.name->size()) : 1.0), std::max<double>(s.second, r.price));
      },
      [](const pair& a, const pair& b) { return pair(a.first + b.first, std::max(a.second, b.second)); });
  const auto longest = [most](auto q) { return sorted(q.aggregate_by([](auto r) { return r.item; }, most).to_vector()); };
  const auto shop = [](auto r) { return r.shop; };
  const auto joined = [&](auto q) {
    return q.where([](auto r) { return r.price > 1; }).left_join(query::from(query::columns(names)), shop, shop, [](auto l, auto r) {
      return r ? query::make<named_offer>(l.shop, l.item, r->name, l.price)
               : query::make<named_offer>(l.shop, l.item, std::nullopt, l.price);
    });
  };
  const auto wanted = longest(query::from(joined(query::from(o.rows)).to_vector()));
  EXPECT_EQ(longest(joined(query::from(query::columns(o.columns)))), wanted);
  EXPECT_EQ(longest(joined(query::from(query::columns(o.columns))).verify()), wanted);
}

TEST(own_states, say_so) {
  const offers o(100, 3);
  const auto columns = query::from(query::columns(o.columns));
  const auto shop = [](auto r) { return r.shop; };
  EXPECT_TRUE(over_columns(columns.aggregate_by(shop, largest_two).explain())) << columns.aggregate_by(shop, largest_two).explain();
  static_assert(sizeof(offer) > 64);  // larger records are read by field, too
  EXPECT_TRUE(over_columns(query::from(o.rows).aggregate_by(shop, largest_two).explain()));
  const auto of_records = query::aggregates::aggregate(0.0, [](double s, const offer& r) { return std::max(s, r.price); },
                                                       [](double a, double b) { return std::max(a, b); });
  EXPECT_FALSE(over_columns(columns.aggregate_by(shop, of_records).explain()));
}

}  // namespace
}  // namespace query::tests
