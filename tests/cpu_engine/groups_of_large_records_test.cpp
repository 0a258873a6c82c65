// A group_by of records that are larger than a cache line reads their fields as columns, whatever the key. The answers are a loop's.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "temp_folder.hpp"

namespace query::tests {

struct WideReading {
  std::string station, note;
  std::optional<double> level;
  std::int32_t key = 0, part = 0;
  std::int64_t number = 0;
  double unread[4] = {};
};
QUERY_RECORD(WideReading, station, note, level, key, part, number, unread);
struct OfWideReadings {
  std::int32_t key;
  std::int64_t n, sum;
  std::optional<double> highest;
  std::int64_t first;
  auto operator<=>(const OfWideReadings&) const = default;
};
QUERY_RECORD(OfWideReadings, key, n, sum, highest, first);
struct OfWideStations {
  std::string station;
  std::int32_t part;
  std::string last;
  double middle;
  auto operator<=>(const OfWideStations&) const = default;
};
QUERY_RECORD(OfWideStations, station, part, last, middle);

namespace {

static_assert(sizeof(WideReading) > 64);

std::vector<WideReading> readings(std::size_t n, std::uint64_t groups) {
  std::vector<WideReading> all(n);
  std::uint64_t x = 11;
  for (std::size_t i = 0; i < n; ++i) {
    x = x * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t g = (x >> 33) % groups;
    WideReading& r = all[i];
    r.key = static_cast<std::int32_t>(g) - 5;
    r.part = static_cast<std::int32_t>(g % 3);
    r.station = g % 2 ? "s" + std::to_string(g) : "a station whose name is long, number " + std::to_string(g);
    r.note = std::to_string(x % 1000) + (x % 7 ? "" : " and more words than fit into a short string");
    if (g % 5 && x % 4) r.level = static_cast<double>(x % 1001) - 500;
    r.number = static_cast<std::int64_t>(i);
  }
  return all;
}

std::vector<OfWideReadings> by_key(const std::vector<WideReading>& rows, std::int64_t from) {
  std::map<std::int32_t, OfWideReadings> all;
  for (const WideReading& r : rows) {
    if (r.number < from) continue;
    OfWideReadings& g = all.try_emplace(r.key, OfWideReadings{r.key, 0, 0, std::nullopt, r.number}).first->second;
    ++g.n;
    g.sum += r.number;
    if (r.level && (!g.highest || *r.level > *g.highest)) g.highest = r.level;
  }
  std::vector<OfWideReadings> result;
  for (const auto& [key, g] : all) result.push_back(g);
  return result;
}

std::vector<OfWideStations> by_station(const std::vector<WideReading>& rows) {
  std::map<std::tuple<std::string, std::int32_t>, std::pair<std::string, std::vector<double>>> all;
  for (const WideReading& r : rows) {
    auto& [last, numbers] = all[{r.station, r.part}];
    last = r.note;
    numbers.push_back(static_cast<double>(r.number));
  }
  std::vector<OfWideStations> result;
  for (auto& [key, g] : all) {
    std::vector<double>& v = g.second;
    std::sort(v.begin(), v.end());
    const double middle = (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
    result.push_back({std::get<0>(key), std::get<1>(key), g.first, middle});
  }
  return result;
}

template <class T> std::vector<T> sorted(std::vector<T> v) {
  std::sort(v.begin(), v.end());
  return v;
}

auto asked_by_key(query::Query<WideReading> q) {
  return q.group_by([](auto r) { return r.key; }).select([](auto g) {
    return query::make<OfWideReadings>(g.key(), g.count(), g.sum([](auto r) { return r.number; }), g.max([](auto r) { return r.level; }),
                                   g.first([](auto r) { return r.number; }));
  });
}
auto asked_by_station(query::Query<WideReading> q) {
  return q.group_by([](auto r) { return std::tuple(r.station, r.part); }).select([](auto g) {
    return query::make<OfWideStations>(std::get<0>(g.key()), std::get<1>(g.key()), g.last([](auto r) { return r.note; }),
                                   g.median([](auto r) { return query::cast<double>(r.number); }));
  });
}

// One row; few groups; many; about as many as rows.
const std::vector<std::vector<WideReading>>& sizes() {
  static const std::vector<std::vector<WideReading>> all{
      {}, readings(1, 1), readings(3'000, 17), readings(300'000, 1), readings(560'000, 45'000), readings(200'000, 1'500'000)};
  return all;
}

TEST(groups_of_large_records, are_those_of_a_loop) {
  for (const std::vector<WideReading>& rows : sizes())
    for (const int threads : {1, 4}) {
      const query::Session session({.threads = threads});
      const query::Query<WideReading> q = query::from(rows).in(session);
      EXPECT_TRUE(sorted(asked_by_key(q).to_vector()) == by_key(rows, 0)) << rows.size();
      const auto later = asked_by_key(q.where([](auto r) { return r.number >= 1'000; }));
      EXPECT_TRUE(sorted(later.to_vector()) == by_key(rows, 1'000)) << rows.size();
      EXPECT_TRUE(sorted(asked_by_station(q).to_vector()) == by_station(rows)) << rows.size();
      EXPECT_EQ(asked_by_key(q).to_columns().size(), by_key(rows, 0).size());
    }
  EXPECT_NE(asked_by_key(query::from(sizes().back())).explain().find("over columns"), std::string::npos);
}

TEST(groups_of_large_records, keep_the_order_of_their_first_rows) {
  const std::vector<WideReading>& rows = sizes()[4];
  std::vector<std::int32_t> wanted;
  std::map<std::int32_t, bool> seen;
  for (const WideReading& r : rows)
    if (!std::exchange(seen[r.key], true)) wanted.push_back(r.key);
  const auto got = query::from(rows).as_ordered().group_by([](auto r) { return r.key; }).select([](auto g) { return g.key(); }).to_vector();
  EXPECT_TRUE(got == wanted);
}

TEST(groups_of_large_records, go_to_files_when_memory_is_short) {
  const temp_folder folder("groups_of_large_records_test");
  for (const std::vector<WideReading>& rows : {std::cref(sizes()[4]), std::cref(sizes()[5])}) {
    const query::Session session({.threads = 4, .memory_limit = 16u << 20, .temp_folder = folder.name()});
    const query::Query<WideReading> q = query::from(rows).in(session);
    EXPECT_TRUE(sorted(asked_by_key(q).to_vector()) == by_key(rows, 0));
    EXPECT_TRUE(sorted(asked_by_station(q).to_vector()) == by_station(rows));
  }
}

// Whole rows are asked for: records stay what they are.
TEST(groups_of_large_records, give_whole_rows) {
  for (const std::vector<WideReading>& rows : sizes()) {
    std::map<std::int32_t, std::int64_t> wanted;
    for (const WideReading& r : rows) {
      const auto at = wanted.try_emplace(r.key, r.number).first;
      at->second = std::max(at->second, r.number);
    }
    const auto got = query::from(rows).group_by([](auto r) { return r.key; }).select([](auto g) {
      return g.arg_max([](auto r) { return r.number; });
    }).to_vector();
    ASSERT_EQ(got.size(), wanted.size());
    for (const auto& r : got) EXPECT_EQ(r.number, wanted.at(r.key));
  }
}

}  // namespace
}  // namespace query::tests
