// Verbs that read a generator keep a few pieces of it, counted in bytes, and what they gather: not its rows.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
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

// 64 bytes that count how many of them there are.
struct Counted {
  static inline std::atomic<std::int64_t> now = 0, most = 0;
  static void more() {
    const std::int64_t n = ++now;
    for (std::int64_t seen = most; n > seen && !most.compare_exchange_weak(seen, n);) {
    }
  }
  explicit Counted(std::int64_t i) : number(i) { more(); }
  Counted(const Counted& o) : number(o.number) { more(); }
  Counted& operator=(const Counted&) = default;
  ~Counted() { --now; }
  std::int64_t number;
  std::array<std::int64_t, 7> others{};
};

TEST(generator_memory, of_lists_of_windows_is_a_few_lists) {
  constexpr std::int64_t n = 20'000;
  const Session session({.threads = 3, .gpu = gpu_use::off});
  std::vector<Counted> there;
  for (std::int64_t i = 0; i < n; ++i) there.emplace_back(i);
  const auto made = generate([i = std::int64_t{0}]() mutable { return i < n ? std::optional(Counted(i++)) : std::nullopt; });
  const auto check = [&](const auto& q) {
    Counted::most = 0;
    EXPECT_EQ(q.in(session).window(100).count(), n - 99);
    EXPECT_EQ(q.in(session).window(100).select([](const std::vector<Counted>& w) { return w.back().number; }).max(), n - 1);
    EXPECT_LT(Counted::most, 800'000);  // of 2,000,000
    EXPECT_EQ(q.in(session).window(std::int64_t{1} << 60).count(), 0);
    EXPECT_EQ(q.in(session).chunk(std::int64_t{1} << 60).count(), 1);
  };
  check(from(there));
  check(made);
}

}  // namespace
}  // namespace query::tests
