// reverse, the last rows, samples, partitions and loops in less memory than their rows take: the rows of enough memory, in their order.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "spill_cases.hpp"

namespace query::tests {

namespace spilled_sequences {

struct Place {
  std::int32_t shelf;
  std::string room;
  friend bool operator==(const Place&, const Place&) = default;
};
QUERY_RECORD(Place, shelf, room);

struct Item {
  std::int64_t key;
  double weight;
  std::string name;
  std::optional<std::int32_t> owner;
  Place at;
  friend bool operator==(const Item&, const Item&) = default;
};
QUERY_RECORD(Item, key, weight, name, owner, at);

}  // namespace spilled_sequences

namespace {

using spilled_sequences::Item;

constexpr std::int64_t items = 60'000;
constexpr std::size_t least_memory = 3u << 20, little_memory = 4u << 20;

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
Item item(std::int64_t i) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
  return {static_cast<std::int64_t>(x % 6'000), static_cast<double>(i) / 7,
          x % 3 ? "an item with the name of number " + std::to_string(x % 900) : std::to_string(i),
          x % 5 ? std::optional<std::int32_t>(static_cast<std::int32_t>(x >> 40)) : std::nullopt,
          {static_cast<std::int32_t>(i % 11), x % 4 ? "hall" : "a room that is far away from all others"}};
}
const std::vector<Item>& all_items() {
  static const std::vector<Item> all = [] {
    std::vector<Item> made;
    for (std::int64_t i = 0; i < items; ++i) made.push_back(item(i));
    return made;
  }();
  return all;
}

const auto key = [](auto i) { return i.key; };
const auto weight = [](auto i) { return i.weight; };

// The same query in enough memory, and in a quarter and a sixteenth of what it takes there: with each number of threads in turn.
template <class Source, class Make> void expect_alike(const char* from, Source source, Make make) {
  SCOPED_TRACE(from);
  const Session enough({.threads = 2});
  const auto wanted = make(source(enough)).to_vector();
  const std::size_t need = enough.memory_peak();
  const temp_folder at("spilled_sequences_test");
  static unsigned turn = 0;
  ++turn;
  for (const std::size_t share : {4u, 16u})
    for (const int threads : {1, 2, 7}) {
      if (threads == (share == 4 ? 1 : 7) || (sanitized && threads == 1)) continue;
      if (!sanitized && (threads == 2) != (share == 4 ? turn % 2 == 0 : turn / 2 % 2 == 0)) continue;
      const std::size_t memory = std::max(need / share, least_memory);
      SCOPED_TRACE(std::to_string(threads) + " threads, 1/" + std::to_string(share) + " of " + std::to_string(need));
      const Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name()});
      std::size_t n = 0, differing = 0;
      make(source(little)).for_each([&](const auto& row) { differing += n >= wanted.size() || !(row == wanted[n]), ++n; });
      EXPECT_EQ(n, wanted.size());
      EXPECT_EQ(differing, 0u);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(at.empty());
    }
}
const auto made = [](const Session& s) { return range(std::int64_t{0}, items).in(s).select(query::opaque(item)); };
template <class Make> void expect_alike(Make make) {
  expect_alike("vector", [](const Session& s) { return from(all_items()).in(s); }, make);
  expect_alike("made by a function", made, make);
  expect_alike("filtered", [](const Session& s) { return from(all_items()).in(s).where([](auto i) { return i.key % 4 != 0; }); }, make);
  expect_alike("generator", [](const Session& s) {
    return generate([i = std::int64_t{0}]() mutable { return i == items ? std::optional<Item>() : item(i++); }).in(s);
  }, make);
  expect_alike("sorted", [](const Session& s) { return from(all_items()).in(s).order_by(key); }, make);
  expect_alike("grouped", [](const Session& s) {
    return from(all_items()).in(s).group_by(weight).select([](auto g) { return g.first(); });
  }, make);
  expect_alike("joined", [](const Session& s) {
    return from(all_items()).in(s).join(from(all_items()).in(s).take(items / 4), key, [](auto i) { return i.key / 8; },
                                       query::opaque([](const Item& a, const Item& b) {
                                         Item both = a;
                                         both.weight += b.weight;
                                         return both;
                                       })).as_ordered();
  }, make);
}

TEST(spilled_sequences, reversed) {
  expect_alike([](auto q) { return q.reverse(); });
  expect_alike("first ones", made, [](auto q) { return q.reverse().take(items / 3).select(weight); });
}

TEST(spilled_sequences, without_the_first_or_last_rows) {
  expect_alike([](auto q) { return q.skip_last(1000).reverse().skip(1000).skip_last(items / 4); });
}

TEST(spilled_sequences, last_rows) {
  expect_alike([](auto q) { return q.take_last(100); });
  expect_alike([](auto q) { return q.take_last(items / 3); });
  const Session little({.threads = 2, .memory_limit = little_memory});
  EXPECT_EQ(from(all_items()).in(little).order_by_descending(weight).last(), item(0));
}

TEST(spilled_sequences, samples) {
  expect_alike([](auto q) { return q.sample(100); });
  expect_alike([](auto q) { return q.sample(items / 3, 7); });
  expect_alike([](auto q) { return q.sample(10 * items).select(weight); });
}

const auto mixed = [](std::span<const Item> rows) {
  double sum = static_cast<double>(rows.size());
  for (const Item& i : rows) sum = sum / 2 + i.weight + static_cast<double>(i.name.size());
  return sum;
};

TEST(spilled_sequences, partitions) {
  expect_alike([](auto q) { return q.hash_partitioned_by(key, 64); });
  expect_alike([](auto q) { return q.range_partitioned_by(key, 64); });
}

TEST(spilled_sequences, functions_of_partitions) {
  expect_alike([](auto q) { return q.hash_partitioned_by(key, 300).apply(mixed); });
  expect_alike([](auto q) { return q.range_partitioned_by([](auto i) { return i.name; }, 200).apply(mixed); });
  expect_alike([](auto q) { return q.partitioned(100).apply(mixed); });
}

TEST(spilled_sequences, partitions_that_are_changed_or_kept) {
  expect_alike("changed", made, [](auto q) {
    return q.hash_partitioned_by(key, 300).where([](auto i) { return i.key % 3 != 0; }).apply(mixed);
  });
  expect_alike("own order", made, [](auto q) {
    return q.range_partitioned_by(key, 40, [](std::int64_t a, std::int64_t b) { return a % 100 > b % 100; }).apply(mixed);
  });
  expect_alike("more partitions than keys", made, [](auto q) { return q.range_partitioned_by(key, 30'000).apply(mixed); });
  expect_alike("many results", made, [](auto q) {
    return q.hash_partitioned_by(key, 300).apply([](std::span<const Item> rows) { return std::vector<Item>(rows.rbegin(), rows.rend()); });
  });
  const Session little({.threads = 2, .memory_limit = 2 * little_memory});
  const auto kept = made(little).hash_partitioned_by(key, 300).cached();
  const auto wanted = from(all_items()).hash_partitioned_by(key, 300).apply(mixed).to_vector();
  for (int time = 0; time < 2; ++time) EXPECT_EQ(kept.apply(mixed).to_vector(), wanted);
}

TEST(spilled_sequences, partition_that_is_too_large) {
  const Session little({.threads = 2, .memory_limit = little_memory});
  const std::string why = resource_error_of([&] {
    made(little).hash_partitioned_by([](auto) { return 1; }, 8).apply(mixed).to_vector();
  });
  EXPECT_NE(why.find("divide the rows into more partitions"), std::string::npos) << why;
  EXPECT_NE(why.find("while running apply"), std::string::npos) << why;
}

TEST(spilled_sequences, rounds_of_loops) {
  const auto heavier = query::opaque([](const Item& i) {
    Item next = i;
    next.weight += 1;
    return next;
  });
  expect_alike([&](auto q) {
    return q.do_while([&](auto x) { return x.where([](auto i) { return i.key % 7 != 0; }).select(heavier); }, query::times(3));
  });
  expect_alike("sorts in rounds", made, [](auto q) {
    return q.do_while([](auto x) { return x.order_by(key).reverse(); }, query::times(2));
  });
  expect_alike("sets and joins in rounds", made, [](auto q) {
    return q.do_while([](auto x) { return x.distinct_by([](auto i) { return i.name; }).as_ordered().order_by(weight); }, query::times(2));
  });
}

TEST(spilled_sequences, rows_that_are_read_twice) {
  expect_alike("two readers", made, [](auto q) {
    const auto half = q.skip(items / 2);
    return half.concat(half.reverse()).reverse().select(weight);
  });
}

// ---------------------------------------------------------------- what goes wrong
template <class Make> spilling_query spilling(const char* verb, Make make) {
  return {little_memory, verb, [make](const Session& s) {
            static const auto wanted = make(made(Session({.threads = 2}))).to_vector();
            std::size_t n = 0, differing = 0;
            make(made(s)).for_each([&](const auto& row) { differing += n >= wanted.size() || !(row == wanted[n]), ++n; });
            return n == wanted.size() && !differing;
          }};
}
template <class Check> void each_verb(Check check) {
  check(spilling("reverse", [](auto q) { return q.reverse(); }));
  check(spilling("sample", [](auto q) { return q.sample(items / 2); }));
  check(spilling("skip_last", [](auto q) { return q.skip_last(5); }));
  check(spilling("take_last", [](auto q) { return q.take_last(items - 5); }));
  check(spilling("hash_partitioned_by", [](auto q) { return q.hash_partitioned_by(key, 50); }));
  check(spilling("range_partitioned_by", [](auto q) { return q.range_partitioned_by(key, 50); }));
}

TEST(spilled_sequences, folder_that_is_gone) { each_verb(expect_error_without_folder); }
TEST(spilled_sequences, disk_that_is_full) {
  each_verb([](const spilling_query& q) { expect_error_of_full_disk(q, {200'000}); });
}
TEST(spilled_sequences, limit_of_temporary_files) {
  each_verb([](const spilling_query& q) { expect_error_over_limit_of_files(q, "100K"); });
}
TEST(spilled_sequences, faulty_files) { each_verb(expect_right_or_error_of_faulty_files); }

TEST(spilled_sequences, functions_that_throw_and_stops) {
  const temp_folder at("spilled_sequences_test");
  const Session little({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  std::stop_source stop;
  const auto failing = [&](const auto& run) {
    EXPECT_THROW(run(query::opaque([](std::int64_t i) {
                   if (i == items - 3) throw std::domain_error("late");
                   return item(i);
                 }), std::stop_token()), std::domain_error);
    EXPECT_EQ(little.memory_used(), 0u);
    stop = std::stop_source();
    EXPECT_THROW(run(query::opaque([&](std::int64_t i) {
                   if (i == items - 5000) stop.request_stop();
                   return item(i);
                 }), stop.get_token()), query::cancelled);
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  };
  const auto rows = [&](const auto& make, const std::stop_token& token) {
    return range(std::int64_t{0}, items).in(little).select(make).stop_on(token);
  };
  failing([&](const auto& make, const std::stop_token& token) { rows(make, token).reverse().to_vector(); });
  failing([&](const auto& make, const std::stop_token& token) { rows(make, token).sample(items / 2).to_vector(); });
  failing([&](const auto& make, const std::stop_token& token) { rows(make, token).hash_partitioned_by(key, 50).apply(mixed).to_vector(); });
  failing([&](const auto& make, const std::stop_token& token) { rows(make, token).range_partitioned_by(key, 50).to_vector(); });
  EXPECT_THROW(from(all_items()).in(little).hash_partitioned_by(key, 300).apply([](std::span<const Item> of) -> int {
    if (of.size() % 7 == 3) throw std::domain_error("of a partition");
    return 1;
  }).to_vector(), std::domain_error);
  EXPECT_EQ(little.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
}

}  // namespace
}  // namespace query::tests
