// Aggregates whose states own strings, lists or sets, in less memory than these take: they count, and rows or values go to files.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"
#include "spill_cases.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct Spoken {
  std::int32_t number;
  std::string text;
  std::optional<std::string> remark;
};
QUERY_RECORD(Spoken, number, text, remark);

namespace {

constexpr std::int32_t rows = sanitized ? 60'000 : 200'000;
constexpr std::size_t little_memory = 24u << 20;

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
// Some texts are empty, some fit in their objects, most are long; each second is of another row, too.
Spoken word(std::int32_t i) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i) / 2);
  Spoken w{static_cast<std::int32_t>(x % 1'000'000), std::to_string(x % 80'000), std::nullopt};
  if (x % 1000 == 0) w.text.clear();
  else if (x % 7) w.text.resize(sanitized ? 900 : 300, '.');
  if (x % 3) w.remark = std::string(x % 5 ? 200 : 0, 'r') + w.text.substr(0, 6);
  return w;
}
auto words(const Session& s) { return range(0, rows).in(s).select(opaque([](std::int32_t i) { return word(i); })); }
const std::vector<Spoken>& known_words() {
  static const std::vector<Spoken> all = [] {
    std::vector<Spoken> w;
    for (std::int32_t i = 0; i < rows; ++i) w.push_back(word(i));
    return w;
  }();
  return all;
}

const auto text = [](auto w) { return w.text; };
const auto remark = [](auto w) { return w.remark; };

// The same query in enough memory and in little.
template <class Make> void expect_alike(const char* what, Make make) {
  const temp_folder at("spilled_states_test");
  SCOPED_TRACE(what);
  const auto wanted = make(Session({.threads = 2})).to_vector();
  ASSERT_FALSE(wanted.empty());
  for (const int threads : {1, 2, 7}) {
    if (sanitized && threads != 2) continue;
    SCOPED_TRACE(std::to_string(threads) + " threads");
    const Session little({.threads = threads, .memory_limit = little_memory, .temp_folder = at.name()});
    const auto q = make(little);
    EXPECT_TRUE(q.to_vector() == wanted);
    EXPECT_LE(little.memory_peak(), little_memory);
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(threads != 1 || q.explain().find(" temporary file") != std::string::npos) << q.explain();
    EXPECT_TRUE(at.empty());
  }
}
template <class Function> void expect_groups_alike(const char* what, std::int32_t groups, Function f) {
  expect_alike(what, [&](const Session& s) { return words(s).group_by([=](auto w) { return w.number % groups; }).select(f); });
}

TEST(spilled_states, hold_strings) {
  expect_groups_alike("max", 60'000, [](auto g) { return std::pair(g.key(), g.max(text)); });
  expect_groups_alike("min and first, of perhaps no value", 60'000, [](auto g) {
    return std::tuple(g.key(), g.min(remark), g.first(remark), g.last(text), g.sum([](auto w) { return w.number * 0.1; }));
  });
}

TEST(spilled_states, hold_lists) {
  expect_groups_alike("many", 50'000, [](auto g) { return std::pair(g.key(), g.collect(text)); });
  expect_groups_alike("few", 500, [](auto g) { return std::pair(g.key(), g.collect(text)); });
}

TEST(spilled_states, hold_sets) {
  expect_groups_alike("of texts", 1000, [](auto g) { return std::pair(g.key(), g.count_distinct(text)); });
  expect_groups_alike("of perhaps no value", 1000, [](auto g) { return std::pair(g.key(), g.count_distinct(remark)); });
}

// ---------------------------------------------------------------- of all rows
const auto distinct_texts = [](auto g) { return std::tuple(g.count_distinct(text), g.count_distinct(remark), g.max(text)); };

std::tuple<std::int64_t, std::int64_t, std::string> by_hand() {
  std::set<std::string> texts, remarks;
  for (const Spoken& w : known_words()) {
    texts.insert(w.text);
    if (w.remark) remarks.insert(*w.remark);
  }
  return {static_cast<std::int64_t>(texts.size()), static_cast<std::int64_t>(remarks.size()), *texts.rbegin()};
}

TEST(spilled_states, count_distinct_of_all_rows) {
  expect_alike("of made rows", [](const Session& s) { return words(s).aggregate(distinct_texts); });
  expect_alike("of rows that lie somewhere", [](const Session& s) { return from(known_words()).in(s).aggregate(distinct_texts); });
  EXPECT_EQ(words(Session({.threads = 2, .memory_limit = little_memory})).aggregate(distinct_texts).to_vector().at(0), by_hand());
}

TEST(spilled_states, count_distinct_of_numbers_of_all_rows) {
  constexpr std::int64_t n = sanitized ? 500'000 : 2'000'000;
  const temp_folder at("spilled_states_test");
  const Session s({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  const auto q = range<std::int64_t>(0, n).in(s).aggregate([](auto g) {
    return g.count_distinct([](auto i) { return i * 7919 % (n / 2 + 1); });
  });
  EXPECT_EQ(q.to_vector().at(0), n / 2 + 1);
  EXPECT_NE(q.explain().find(" temporary file"), std::string::npos) << q.explain();
  EXPECT_EQ(s.memory_used(), 0u);
}

TEST(spilled_states, of_no_rows_and_of_one) {
  const Session s({.threads = 2, .memory_limit = little_memory});
  EXPECT_EQ(words(s).where([](auto w) { return w.number < 0; }).aggregate([](auto g) { return g.count_distinct(text); }).to_vector().size(),
            1u);
  EXPECT_EQ(words(s).take(1).aggregate([](auto g) { return g.count_distinct(text); }).to_vector().at(0), 1);
}

// ---------------------------------------------------------------- what goes wrong
const spilling_query distinct_of_all{little_memory, "aggregate", [](const Session& s) {
  static const auto wanted = by_hand();
  return words(s).aggregate(distinct_texts).to_vector().at(0) == wanted;
}};
const spilling_query lists_of_groups{little_memory, "group_by", [](const Session& s) {
  static const std::int64_t wanted = rows;
  std::int64_t texts = 0;
  for (const auto& of : words(s).group_by([](auto w) { return w.number % 50'000; }).select([](auto g) { return g.collect(text); }))
    texts += static_cast<std::int64_t>(of.size());
  return texts == wanted;
}};

TEST(spilled_states, faulty_files) {
  expect_right_or_error_of_faulty_files(distinct_of_all);
  expect_right_or_error_of_faulty_files(lists_of_groups);
}
TEST(spilled_states, disk_that_is_full) {
  expect_error_of_full_disk(distinct_of_all, {1'000'000});
  expect_error_of_full_disk(lists_of_groups, {1'000'000});
}
TEST(spilled_states, folder_that_is_missing) {
  expect_error_without_folder(distinct_of_all);
  expect_error_without_folder(lists_of_groups);
}

TEST(spilled_states, stop) {
  const temp_folder at("spilled_states_test");
  const Session s({.threads = 2, .memory_limit = little_memory, .temp_folder = at.name()});
  std::stop_source stop;
  const auto until_late = range(0, rows).in(s).select(opaque([&](std::int32_t i) {
    if (i == rows - 1) stop.request_stop();
    return word(i);
  }));
  EXPECT_THROW(until_late.aggregate(distinct_texts).stop_on(stop.get_token()).to_vector(), cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(distinct_of_all.right(s));
}

}  // namespace
}  // namespace query::tests
