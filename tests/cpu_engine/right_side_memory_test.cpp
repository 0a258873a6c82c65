// Joins whose right side must fit in memory: where it does not, the error names the join, its place and what to do.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include <query/query.hpp>

#include "spill_cases.hpp"

namespace query::tests {

struct Told {
  std::int64_t time;
  std::string text;
};
QUERY_RECORD(Told, time, text);

namespace {

auto ticks(const Session& s) {
  return range<std::int64_t>(0, 30'000).in(s).select(opaque([](std::int64_t i) { return Told{i, std::string(2000, 'x')}; }));
}

template <class Run> void expect_error_of_right_side(const std::string& verb, Run run) {
  const Session s({.threads = 2, .memory_limit = std::size_t{16} << 20});
  const std::string why = resource_error_of([&] { run(s); });
  EXPECT_NE(why.find("all rows of the right side have to fit, so filter them first"), std::string::npos) << why;
  EXPECT_NE(why.find("while running " + verb + " (right_side_memory_test.cpp:"), std::string::npos) << why;
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_EQ(range<std::int64_t>(0, 10).in(s).sum(), 45);
}

const auto numbers = [](auto i, auto t) { return i + t.time; };

TEST(right_side_memory, cross_join) {
  expect_error_of_right_side("cross_join", [](const Session& s) {
    return range<std::int64_t>(0, 10).in(s).cross_join(ticks(s), numbers).sum();
  });
  expect_error_of_right_side("cross_join", [](const Session& s) {
    return range<std::int64_t>(0, 10).in(s).cross_join(ticks(s), numbers).order().to_vector().size();
  });
}

TEST(right_side_memory, join_where) {
  expect_error_of_right_side("join_where", [](const Session& s) {
    return range<std::int64_t>(0, 10).in(s).join_where(ticks(s), [](auto i, auto t) { return i > t.time; }).count();
  });
}

TEST(right_side_memory, asof_join) {
  expect_error_of_right_side("asof_join", [](const Session& s) {
    return ticks(s).take(10).asof_join(ticks(s), [](auto t) { return t.time; }, [](auto t) { return t.time; },
                                       [](auto l, auto) { return l.time; }).sum();
  });
}

}  // namespace
}  // namespace query::tests
