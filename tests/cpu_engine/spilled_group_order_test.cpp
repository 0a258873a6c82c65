// group_by whose first part has more groups than memory has room for, with keys that are no random draw: whether parts have tables is
// decided as in enough memory, so that the order of groups and the last bits of their sums are the same.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/alike_in_little_memory.hpp"

namespace query::tests {

struct MeterReading {
  std::int64_t meter;
  std::string place;
  double value;
};
QUERY_RECORD(MeterReading, meter, place, value);

namespace {

// Rows of columns are not sampled, and the first part has 1 << 16 rows.
constexpr std::int64_t part = 1 << 16, readings = 5 * part + 1000;
constexpr std::size_t little_memory = 10u << 20;

std::uint64_t mixed(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 29)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 32);
}

struct meter_keys {
  const char* what;
  std::function<std::int64_t(std::int64_t)> key;
};
const std::vector<meter_keys> kinds_of_keys{
    {"sorted, five rows a key", [](std::int64_t i) { return i / 5; }},
    {"Zipf", [](std::int64_t i) { return static_cast<std::int64_t>(std::exp2(static_cast<double>(mixed(i) >> 40) / (1 << 24) * 40)); }},
    {"many keys, then one", [](std::int64_t i) { return i % part < part * 3 / 10 ? i : -7; }},
    {"one key, then many", [](std::int64_t i) { return i % part < part * 3 / 10 ? -7 : i; }},
    {"one key in most rows, then many", [](std::int64_t i) { return i % part < part * 6 / 10 ? -7 : i; }},
    {"few keys one after the other", [](std::int64_t i) { return i % 20'000; }},
    {"many keys one after the other", [](std::int64_t i) { return i % 40'000; }},
};

struct meter_columns {
  std::vector<std::int64_t> meter;
  std::vector<std::string> place;
  std::vector<double> value;
};
meter_columns made(const meter_keys& keys) {
  meter_columns c;
  for (std::int64_t i = 0; i < readings; ++i) {
    c.meter.push_back(keys.key(i) * 1'000'003);
    c.place.push_back("the place of the meter with the number " + std::to_string(keys.key(i)));
    c.value.push_back(static_cast<double>(mixed(static_cast<std::uint64_t>(i)) >> 40) / 977.0);
  }
  return c;
}

const auto meter = [](auto r) { return r.meter; };
const auto place = [](auto r) { return r.place; };
template <class Key> auto sums(Key key) {
  return [key](auto q) {
    return q.group_by(key).select([](auto g) {
      return std::tuple(g.key(), g.sum([](auto r) { return r.value; }), g.mean([](auto r) { return r.value * 3; }), g.count());
    });
  };
}

TEST(spilled_group_order, first_part_decides_as_in_enough_memory) {
  for (const meter_keys& keys : kinds_of_keys) {
    const meter_columns c = made(keys);
    std::vector<MeterReading> records;
    for (std::size_t i = 0; i < c.meter.size(); ++i) records.push_back({c.meter[i], c.place[i], c.value[i]});
    const auto of_columns = [&](const Session& s) { return from(columns<MeterReading>(c.meter, c.place, c.value)).in(s); };
    const auto of_records = [&](const Session& s) { return from(records).in(s); };
    const std::string what = keys.what;
    expect_alike(what + ", numbers in columns", little_memory, of_columns, sums(meter), false);
    expect_alike(what + ", strings in columns", little_memory, of_columns, sums(place), false);
    expect_alike(what + ", numbers in records", little_memory, of_records, sums(meter), false);
    expect_alike(what + ", behind a test", little_memory, of_records,
                 [](auto q) { return sums(meter)(q.where([](auto r) { return r.value > 4000; })); }, false);
  }
}

TEST(spilled_group_order, keys_of_two_columns) {
  const meter_columns c = made(kinds_of_keys[2]);
  const auto of_columns = [&](const Session& s) { return from(columns<MeterReading>(c.meter, c.place, c.value)).in(s); };
  expect_alike("many keys, then one", little_memory, of_columns,
               sums([](auto r) { return std::pair(r.meter, r.place); }), false);
}

// So few groups come in the order of their first appearance, which is known only when all have been found.
TEST(spilled_group_order, few_groups_with_large_results) {
  const meter_columns c = made({"few keys after the other", [](std::int64_t i) { return i / 25 * 7919 % 1'000'003; }});
  const auto of_columns = [&](const Session& s) { return from(columns<MeterReading>(c.meter, c.place, c.value)).in(s); };
  const auto moments = [](auto key) {
    return [key](auto q) {
      return q.group_by(key).select([](auto g) {
        return std::tuple(g.key(), g.sum([](auto r) { return r.value; }), g.sum([](auto r) { return r.value * 3; }),
                          g.sum([](auto r) { return r.value * r.value; }), g.min([](auto r) { return r.value; }),
                          g.max([](auto r) { return r.value; }), g.mean([](auto r) { return r.value; }), g.count(),
                          g.stddev([](auto r) { return r.value; }), g.sum([](auto r) { return r.meter; }));
      });
    };
  };
  expect_alike("numbers", 6u << 20, of_columns, moments(meter));
  expect_alike("strings", 6u << 20, of_columns, moments(place));
  expect_alike("in order of appearance", 6u << 20, of_columns, [&](auto q) { return moments(meter)(q).as_ordered(); });
}

// Cached rows have most of the memory when the query begins: all rows of the first part go to the store.
TEST(spilled_group_order, first_part_without_a_table) {
  std::vector<std::int64_t> numbers(readings);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i);
  for (const std::int64_t keys : {20'000, 40'000}) {
    const auto make = [&](const Session& s) {
      return from(numbers).in(s).group_by([=](auto i) { return i % keys; }).select([](auto g) {
        return std::pair(g.key(), g.sum([](auto i) { return static_cast<double>(i) / 7; }));
      });
    };
    const auto wanted = make(Session({.threads = 2})).to_vector();
    Session little({.threads = 1, .memory_limit = 64u << 20});
    const auto kept = from(numbers).in(little).select_many([](auto i) { return std::vector<std::int64_t>(25, i); }).cached();
    EXPECT_EQ(kept.count(), numbers.size() * 25);
    EXPECT_GT(little.memory_used(), 48u << 20);
    EXPECT_EQ(make(little).to_vector(), wanted);
  }
}

}  // namespace
}  // namespace query::tests
