// Verbs that read a generator keep a few pieces of it, counted in bytes, and what they gather: not its rows.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include <query/query.hpp>

namespace query::tests {
namespace {

struct Wide {
  std::int64_t number;
  std::array<double, 10> values;
};
QUERY_RECORD(Wide, number, values);

constexpr std::int64_t rows = 2'000'000;  // 168 MiB
constexpr std::size_t mib = std::size_t{1} << 20;

auto wide_rows(const Session& session) {
  return generate([i = std::int64_t{0}]() mutable -> std::optional<Wide> {
    if (i == rows) return std::nullopt;
    Wide w{i++, {}};
    w.values[0] = static_cast<double>(w.number % 3);
    return w;
  }).in(session);
}
const auto key = [](auto r) { return r.number % 100; };
const auto value = [](auto r) { return r.values[0]; };

TEST(generator_memory, of_groups_is_a_few_pieces) {
  for (const int threads : {1, 3}) {
    const Session session({.threads = threads, .gpu = gpu_use::off});
    const auto q = wide_rows(session);
    EXPECT_EQ(q.count_by(key).count(), 100);
    EXPECT_EQ(q.group_by(key).select([](auto g) { return g.sum(value); }).sum(), q.sum(value));
    EXPECT_EQ(q.reduce([](auto g) { return g.count(); }), rows);
    EXPECT_EQ(q.max_by([](auto r) { return r.number; })->number, rows - 1);
    EXPECT_LT(session.memory_peak(), 110 * mib) << threads;
  }
}

TEST(generator_memory, of_distinct_rows_is_that_of_the_keys) {
  const Session session({.threads = 3, .gpu = gpu_use::off});
  const auto first = wide_rows(session).distinct_by(key).select([](auto r) { return r.number; }).to_vector();
  ASSERT_EQ(first.size(), 100u);
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], static_cast<std::int64_t>(i));
  EXPECT_EQ(wide_rows(session).distinct_by(key).take(7).count(), 7);
  EXPECT_EQ(wide_rows(session).select(value).distinct().count(), 3);
  EXPECT_LT(session.memory_peak(), 60 * mib);
}

}  // namespace
}  // namespace query::tests
