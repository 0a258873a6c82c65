// cached() rows that memory has no room for: they are kept in a temporary file, and read as often as queries want.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct KeptEntry {
  std::int64_t number;
  double value;
  std::string text;
};
QUERY_RECORD(KeptEntry, number, value, text);

namespace {

constexpr std::int64_t entries = sanitized ? 300'000 : 1'000'000;
constexpr std::size_t little_memory = 24u << 20;

KeptEntry entry(std::int64_t i) {
  return {i, static_cast<double>(i * 7919 % 1'000'003) / 3, i % 3 ? "the text of entry " + std::to_string(i) : std::to_string(i)};
}
std::int64_t read_all(const Query<KeptEntry>& q) {
  std::int64_t next = 0, wrong = 0;
  q.for_each([&](const KeptEntry& e) {
    const KeptEntry wanted = entry(next++);
    wrong += e.number != wanted.number || e.value != wanted.value || e.text != wanted.text;
  });
  return wrong ? -1 : next;
}

TEST(spilled_cached, rows_are_read_as_often_as_queries_want) {
  const temp_folder at("spilled_cached_test");
  for (const bool known : {true, false}) {
    SCOPED_TRACE(known ? "range" : "generator");
    Session little({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
    std::atomic<std::int64_t> made = 0;
    const auto make = query::opaque([&](std::int64_t i) {
      ++made;
      return entry(i);
    });
    {
      const Query<KeptEntry> kept =
          known ? Query<KeptEntry>(range(std::int64_t{0}, entries).in(little).select(make).cached())
                : Query<KeptEntry>(generate([i = std::int64_t{0}]() mutable -> std::optional<std::int64_t> {
                                 if (i == entries) return std::nullopt;
                                 return i++;
                               }).in(little).select(make).cached());
      for (int time = 0; time < 2; ++time) EXPECT_EQ(read_all(kept), entries);
      EXPECT_EQ(kept.where([](auto e) { return e.number % 2 == 0; }).count(), static_cast<std::size_t>(entries / 2));
      EXPECT_EQ(kept.order_by([](auto e) { return -e.number; }).first().number, entries - 1);
      EXPECT_EQ(kept.group_by([](auto e) { return e.number % 1000; }).select([](auto g) { return g.count(); }).count(), 1000u);
      std::int64_t sum = 0;
      for (const KeptEntry& e : kept.take(100)) sum += e.number;
      EXPECT_EQ(sum, 4950);
      EXPECT_EQ(made, entries);
      EXPECT_LE(little.memory_peak(), little_memory);
    }
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
}

TEST(spilled_cached, queries_read_at_once) {
  const temp_folder at("spilled_cached_test");
  Session little({.threads = 2, .memory_limit = 2 * little_memory, .temp_folder = at.name()});
  const Query<KeptEntry> kept = range(std::int64_t{0}, entries).in(little).select(query::opaque(entry)).cached();
  EXPECT_EQ(kept.count(), static_cast<std::size_t>(entries));
  std::atomic<int> right = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { right += read_all(kept) == entries; });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(right, 3);
}

// Rows that there is room for after all are a table, as in any session.
TEST(spilled_cached, few_of_many_rows_stay_in_memory) {
  const temp_folder at("spilled_cached_test");
  Session little({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  const auto kept = range(std::int64_t{0}, 4 * entries).in(little).where([](auto i) { return i % 1000 == 0; }).cached();
  EXPECT_EQ(kept.sum(), 4 * entries / 1000 * (4 * entries - 1000) / 2);
  EXPECT_EQ(kept.count(), static_cast<std::size_t>(4 * entries / 1000));
  EXPECT_TRUE(at.empty());
}

TEST(spilled_cached, function_that_throws) {
  const temp_folder at("spilled_cached_test");
  Session little({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  std::atomic<bool> throws = true;
  const Query<KeptEntry> kept = range(std::int64_t{0}, entries).in(little).select(query::opaque([&](std::int64_t i) {
                              if (throws && i == entries - 3) throw std::domain_error("late");
                              return entry(i);
                            })).cached();
  EXPECT_THROW(kept.count(), std::domain_error);
  throws = false;
  EXPECT_EQ(read_all(kept), entries);
}

}  // namespace
}  // namespace query::tests
