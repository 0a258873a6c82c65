// What the process takes while a query runs in less memory than it would like: as the kernel counts it, not as the library does. The limit
// is large beside what the system's allocator and the program's code take by themselves.
#include <gtest/gtest.h>

#include <cstdint>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include <query/query.hpp>

#include "sanitized.hpp"

namespace query::tests {
namespace {

struct Reading {
  std::int64_t sensor;
  double value, weight;
};
QUERY_RECORD(Reading, sensor, value, weight);

std::size_t status_bytes(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.rfind(field + ":", 0) == 0) return std::stoull(line.substr(field.size() + 1)) * 1024;
  return 0;
}
// From now on the kernel's peak is of what is resident later.
bool forget_peak() {
  std::ofstream refs("/proc/self/clear_refs");
  refs << "5" << std::flush;
  return refs.good() && status_bytes("VmHWM") != 0;
}

struct reading_columns {
  std::vector<std::int64_t> sensor;
  std::vector<double> value, weight;
};
const reading_columns& readings() {
  static const reading_columns all = [] {
    reading_columns c;
    for (std::uint64_t i = 0, x = 1; i < 12'000'000; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      c.sensor.push_back(static_cast<std::int64_t>((x >> 33) % 1'000'000) * 1'000'003);
      c.value.push_back(static_cast<double>(x >> 40));
      c.weight.push_back(1.0);
    }
    return c;
  }();
  return all;
}

// How many bytes above those of before the query were resident at its peak.
template <class F> std::size_t peak_above(const F& run) {
  const std::size_t before = status_bytes("VmRSS");
  EXPECT_TRUE(forget_peak());
  run();
  const std::size_t peak = status_bytes("VmHWM");
  return peak > before ? peak - before : 0;
}

TEST(resident_memory, keeps_to_the_limit_where_rows_go_to_files) {
#ifdef QUERY_TEST_SANITIZED
  GTEST_SKIP() << "the sanitizer keeps memory of its own";
#endif
  if (!forget_peak()) GTEST_SKIP() << "the kernel does not reset the peak of resident memory here";
  constexpr std::size_t limit = 128u << 20;
  const auto& c = readings();
  const auto totals = [&](Session& session) {
    return from(columns<Reading>(c.sensor, c.value, c.weight)).in(session).group_by([](auto r) { return r.sensor; }).select([](auto g) {
      return std::pair(g.key(), g.sum([](auto r) { return r.value * r.weight; }));
    });
  };
  double total = 0;
  const auto add = [&](const std::pair<std::int64_t, double>& p) { total += p.second; };
  Session small({.threads = 2, .memory_limit = limit, .gpu = gpu_use::off});
  const auto q = totals(small);
  const std::size_t above = peak_above([&] { q.for_each(add); });
  Session large({.threads = 2, .gpu = gpu_use::off});
  const double got = std::exchange(total, 0);
  totals(large).for_each(add);
  EXPECT_EQ(got, total);
  EXPECT_NE(q.explain().find("in temporary files"), std::string::npos) << q.explain();
  EXPECT_LE(above, limit + limit * 15 / 100);
}

}  // namespace
}  // namespace query::tests
