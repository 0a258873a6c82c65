#include "cpu_engine/join_table.hpp"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/key_cases.hpp"
#include "cpu_engine/order_keys.hpp"
#include "runtime/thread_pool.hpp"

namespace query::cpu {
namespace {

using namespace cases;
using pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

template <class T>
struct key_less {
  bool operator()(const T& a, const T& b) const { return compare_values(*ir::describe<T>(), &a, &b) < 0; }
};

template <class T>
bool has_null(const T& key) {
  std::uint8_t null = 0;
  return find_nulls(*ir::describe<T>(), &key, 1, &null) != 0;
}

template <class T>
pairs expected_pairs(const std::vector<T>& build, const std::vector<T>& probe, bool nulls_match, bool keep) {
  std::map<T, std::vector<std::uint64_t>, key_less<T>> rows;
  for (std::size_t i = 0; i < build.size(); ++i)
    if (nulls_match || !has_null(build[i])) rows[build[i]].push_back(i);
  pairs out;
  for (std::size_t i = 0; i < probe.size(); ++i) {
    const auto at = rows.find(probe[i]);
    if (at != rows.end()) {
      for (const std::uint64_t row : at->second) out.emplace_back(i, row);
    } else if (keep) {
      out.emplace_back(i, join_table::no_row);
    }
  }
  return out;
}

pairs probed(const join_table& table, const void* keys, std::size_t n, std::size_t batch,
             join_table::unmatched rows = join_table::unmatched::drop) {
  pairs out;
  join_table::cursor at;
  match_batch matches(batch);
  while (table.probe(keys, n, at, matches, rows)) {
    EXPECT_LE(matches.size(), batch);
    for (std::size_t i = 0; i < matches.size(); ++i) out.emplace_back(matches.probe()[i], matches.build()[i]);
  }
  EXPECT_TRUE(matches.empty());
  return out;
}

template <class T>
class join_table_of : public testing::Test {};
using key_types = testing::Types<std::int8_t, std::int32_t, std::int64_t, std::uint64_t, double, colour, std::string,
                                 std::optional<std::int32_t>, std::optional<std::string>, point, person,
                                 std::tuple<std::string, std::string>, std::tuple<std::int64_t, std::int64_t, double>>;
TYPED_TEST_SUITE(join_table_of, key_types);

TYPED_TEST(join_table_of, enumerates_matches_in_probe_then_build_order) {
  using T = TypeParam;
  const std::uint64_t seed = 77;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  runtime::buffer_pool pool;
  generator g(seed);
  std::vector<std::vector<T>> builds = key_columns<T>(seed);
  std::vector<T> probe;
  for (const auto& column : builds)
    for (std::size_t i = 0; i < std::min<std::size_t>(column.size(), 20); ++i) probe.push_back(column[g() % column.size()]);
  for (const auto& column : key_columns<T>(seed + 1))
    probe.insert(probe.end(), column.begin(), column.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(column.size(), 20)));
  for (const std::size_t with_ties : {6, 8, 9}) builds[with_ties].resize(4000);  // their matches are many
  for (const auto& build : builds) {
    for (const bool nulls_match : {false, true}) {
      const pairs expected = expected_pairs(build, probe, nulls_match, false), kept = expected_pairs(build, probe, nulls_match, true);
      for (const int threads : {1, 2, 8}) {
        runtime::thread_pool scheduler(threads);
        const join_table table(ir::describe<T>(), build.data(), build.size(), {.nulls_match = nulls_match}, scheduler, pool, {});
        ASSERT_EQ(probed(table, probe.data(), probe.size(), 2048), expected) << build.size();
        if (threads != 2) continue;
        ASSERT_EQ(probed(table, probe.data(), probe.size(), 2048, join_table::unmatched::keep), kept);
        if (kept.size() < 5000) {
          ASSERT_EQ(probed(table, probe.data(), probe.size(), 3, join_table::unmatched::keep), kept);
        }
        std::vector<std::uint64_t> counts(probe.size());
        std::vector<std::uint8_t> contained(probe.size());
        table.count(probe.data(), probe.size(), counts.data());
        table.contains(probe.data(), probe.size(), contained.data());
        std::vector<std::uint64_t> expected_counts(probe.size());
        for (const auto& [p, b] : kept) expected_counts[p] += b != join_table::no_row;
        ASSERT_EQ(counts, expected_counts);
        for (std::size_t i = 0; i < probe.size(); ++i) ASSERT_EQ(contained[i] != 0, counts[i] != 0);
      }
    }
  }
  EXPECT_EQ(pool.used(), 0u);
}

// Many rows of few numbers are put together by a counting sort: among them rows that match nothing, and numbers carried along.
TEST(join_table, many_rows_of_few_numbers) {
  struct row { std::int64_t before; std::int32_t key; };
  std::vector<row> rows;
  std::vector<std::uint8_t> left_out;
  std::vector<std::uint64_t> carried;
  std::map<std::int32_t, std::vector<std::uint64_t>> expected;
  for (std::uint64_t i = 0; i < 300'000; ++i) {
    const auto key = static_cast<std::int32_t>(i * 7919 % 1000) - 500;
    rows.push_back({0, key});
    left_out.push_back(i % 11 == 0);
    carried.push_back(i * 3);
    if (i % 11 != 0) expected[key].push_back(i);
  }
  runtime::buffer_pool pool;
  for (const int threads : {1, 4}) {
    runtime::thread_pool scheduler(threads);
    const join_options options{.stride = sizeof(row), .left_out = left_out.data(), .carried = carried.data()};
    join_table table(ir::describe<std::int32_t>(), &rows[0].key, rows.size(), options, scheduler, pool, {});
    EXPECT_EQ(table.distinct_keys(), expected.size());
    const runtime::buffer by_place = table.take_carried();
    ASSERT_TRUE(by_place);
    const std::vector<std::int32_t> probe = {-500, 499, 0, 7, 500};
    join_table::run runs[5];
    table.runs(probe.data(), probe.size(), sizeof probe[0], runs);
    for (std::size_t i = 0; i < probe.size(); ++i) {
      std::vector<std::uint64_t> found;
      for (std::uint64_t p = runs[i].begin; p < runs[i].end; ++p) {
        found.push_back(table.row_at(p));
        EXPECT_EQ(by_place.as<std::uint64_t>()[p], 3 * found.back());
      }
      EXPECT_EQ(found, expected.contains(probe[i]) ? expected[probe[i]] : std::vector<std::uint64_t>()) << i;
    }
  }
  EXPECT_EQ(pool.used(), 0u);
}

// Large enough for several parts, in each of the table's shapes.
template <class Make>
void check_large(Make make, bool unique) {
  using T = decltype(make(std::size_t{0}));
  const std::size_t n = 400000;
  std::vector<T> build, probe;
  for (std::size_t i = 0; i < n; ++i) build.push_back(make(unique ? i * 7 % n : i * 7 % (n / 3)));
  for (std::size_t i = 0; i < 50000; ++i) probe.push_back(make(i * 17));
  const pairs expected = expected_pairs(build, probe, false, false);
  runtime::buffer_pool pool;
  for (const int threads : {1, 2, 8}) {
    runtime::thread_pool scheduler(threads);
    const join_table table(ir::describe<T>(), build.data(), n, {}, scheduler, pool, {});
    EXPECT_EQ(table.unique_keys(), unique);
    EXPECT_EQ(table.distinct_keys(), unique ? n : n / 3);
    ASSERT_EQ(probed(table, probe.data(), probe.size(), 1000), expected);
  }
}

TEST(join_table, partitions_large_build_sides_of_integers_in_a_small_range) {
  const auto make = [](std::size_t i) { return static_cast<std::int32_t>(i) - 1000; };
  check_large(make, true);
  check_large(make, false);
}
TEST(join_table, partitions_large_build_sides_of_scattered_integers) {
  const auto make = [](std::size_t i) { return static_cast<std::int64_t>(hash_word(i)); };
  check_large(make, true);
  check_large(make, false);
  const auto narrow = [](std::size_t i) { return static_cast<std::uint32_t>(i * 2654435761u); };
  check_large(narrow, true);
}
TEST(join_table, partitions_large_build_sides_of_strings) {
  const auto make = [](std::size_t i) { return (i % 2 == 0 ? "a rather long beginning " : "") + std::to_string(i); };
  check_large(make, true);
  check_large(make, false);
  check_large([](std::size_t i) { return std::to_string(i); }, false);
}

TEST(join_table, resumes_in_the_middle_of_a_skewed_key) {
  const std::size_t n = 1000000;
  const std::vector<std::int32_t> build(n, 5);
  runtime::buffer_pool pool;
  runtime::thread_pool scheduler(2);
  const join_table table(ir::describe<std::int32_t>(), build.data(), n, {}, scheduler, pool, {});
  const std::int32_t probe[] = {4, 5, 6, 5};
  join_table::cursor at;
  match_batch matches(1000);
  std::size_t seen = 0;
  while (table.probe(probe, 4, at, matches)) {
    for (std::size_t i = 0; i < matches.size(); ++i, ++seen) {
      ASSERT_EQ(matches.probe()[i], seen < n ? 1u : 3u);
      ASSERT_EQ(matches.build()[i], seen % n);
    }
  }
  EXPECT_EQ(seen, 2 * n);
}

TEST(join_table, remembers_which_build_rows_matched) {
  const std::vector<std::string> build = {"a", "b", "a", "c"};
  const std::vector<std::string> probe = {"a", "z", "c"};
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  join_table table(ir::describe<std::string>(), build.data(), build.size(), {}, scheduler, pool, {});
  join_table::cursor at;
  match_batch matches;
  while (table.probe(probe.data(), probe.size(), at, matches, join_table::unmatched::keep)) table.mark(matches);
  EXPECT_TRUE(table.matched(0) && table.matched(2) && table.matched(3));
  std::vector<std::uint64_t> rows;
  std::size_t row = 0;
  while (table.marked_rows(false, row, 10, rows)) {}
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{1}));
  rows.clear();
  row = 0;
  while (table.marked_rows(true, row, 1, rows)) {}
  EXPECT_EQ(rows, (std::vector<std::uint64_t>{0, 2, 3}));
}

TEST(join_table, reuses_a_cursor_after_reset) {
  const std::vector<int> keys = {1, 2, 3};
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  const join_table table(ir::describe<int>(), keys.data(), 3, {}, scheduler, pool, {});
  join_table::cursor at;
  match_batch matches;
  for (int round = 0; round < 2; ++round, at.reset()) {
    EXPECT_TRUE(table.probe(keys.data(), 3, at, matches));
    EXPECT_EQ(matches.size(), 3u);
    EXPECT_FALSE(table.probe(keys.data(), 3, at, matches));
  }
}

TEST(join_table, needs_an_equality_for_opaque_keys) {
  struct unknown { int x; };
  const unknown keys[2] = {{1}, {2}};
  runtime::buffer_pool pool;
  runtime::serial_scheduler scheduler;
  EXPECT_THROW(join_table(ir::describe<unknown>(), keys, 2, {}, scheduler, pool, {}), user_error);
  const key_equality same = {
      [](const void*, const void* a, const void* b) { return static_cast<const unknown*>(a)->x == static_cast<const unknown*>(b)->x; },
      [](const void*, const void* a) { return static_cast<std::uint64_t>(static_cast<const unknown*>(a)->x); }};
  const join_table table(ir::describe<unknown>(), keys, 2, {.custom = same}, scheduler, pool, {});
  EXPECT_EQ(probed(table, keys, 2, 10), (pairs{{0, 0}, {1, 1}}));
}

TEST(join_table, stops_when_cancelled_and_gives_its_memory_back) {
  const std::vector<int> keys(300000, 1);
  runtime::buffer_pool pool;
  runtime::thread_pool scheduler(2);
  runtime::cancel_flag cancel;
  cancel.cancel();
  EXPECT_THROW(join_table(ir::describe<int>(), keys.data(), keys.size(), {}, scheduler, pool, cancel), cancelled);
  EXPECT_EQ(pool.used(), 0u);
}

}  // namespace
}  // namespace query::cpu
