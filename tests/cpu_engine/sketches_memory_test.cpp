// Sketches that a group_by keeps count in the session's memory, and go with it.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

namespace query::tests {
namespace {

constexpr std::size_t mib = std::size_t{1} << 20;
constexpr int groups = 400, rows_of_a_group = 1200;

struct Reading { std::int32_t sensor; float value; };
QUERY_RECORD(Reading, sensor, value);

const std::vector<Reading>& readings() {
  static const std::vector<Reading> all = [] {
    std::vector<Reading> r;
    for (int i = 0; i < groups * rows_of_a_group; ++i) r.push_back({i % groups, static_cast<float>(i)});
    return r;
  }();
  return all;
}
auto medians(const Session& session) {
  return from(readings()).in(session).group_by([](auto r) { return r.sensor; }).select([](auto g) {
    return std::tuple(g.key(), g.approx_quantile([](auto r) { return r.value; }, 0.5), g.count());
  });
}

TEST(sketches_memory, counts_in_the_sessions) {
  const Session session({.threads = 1, .memory_limit = 1024 * mib, .gpu = gpu_use::off});
  EXPECT_EQ(medians(session).to_vector().size(), std::size_t{groups});
  EXPECT_GE(session.memory_peak(), groups * (std::size_t{40} << 10));
  EXPECT_LT(session.memory_used(), mib);
}

TEST(sketches_memory, is_that_of_one_partition_where_it_is_short) {
  const Session large({.threads = 2, .memory_limit = 1024 * mib, .gpu = gpu_use::off}),
      small({.threads = 2, .memory_limit = 16 * mib, .gpu = gpu_use::off});
  auto wanted = medians(large).to_vector(), found = medians(small).to_vector();
  ASSERT_EQ(found.size(), std::size_t{groups});
  std::sort(wanted.begin(), wanted.end());
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(std::get<0>(found[i]), std::get<0>(wanted[i]));
    EXPECT_EQ(std::get<2>(found[i]), rows_of_a_group);
    EXPECT_NEAR(std::get<1>(found[i]), std::get<1>(wanted[i]), 0.01 * groups * rows_of_a_group);
  }
  EXPECT_LE(small.memory_peak(), 16 * mib);
}

}  // namespace
}  // namespace query::tests
