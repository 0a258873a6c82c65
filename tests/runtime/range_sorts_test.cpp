// Sorts over partitions, each of which sorts a range of the order: rows come as one partition sorts them, ties in the order of the source.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "runtime/local_engine.hpp"
#include "runtime/partition_bounds.hpp"
#include "runtime/session_state.hpp"

namespace range_sorts_test {

struct row {
  std::int64_t id;
  std::int32_t few;
  double x;
  std::optional<std::int32_t> maybe;
  std::string text;
};
QUERY_RECORD(row, id, few, x, maybe, text);

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<row> drawn(std::size_t n, unsigned seed) {
  std::mt19937 g(seed);
  std::vector<row> rows;
  for (std::size_t i = 0; i < n; ++i) {
    row r{static_cast<std::int64_t>(i), static_cast<std::int32_t>(g() % 5), static_cast<double>(g() % 2'000) - 1'000, std::nullopt, ""};
    if (g() % 10 == 0) r.x = g() % 3 ? nan : -nan;
    if (g() % 10 == 0) r.x = g() % 2 ? 0.0 : -0.0;
    if (g() % 4) r.maybe = static_cast<std::int32_t>(g() % 100) - 50;
    r.text = (g() % 2 ? "the same seven letters and more " : "") + std::to_string(g() % 300);
    rows.push_back(std::move(r));
  }
  return rows;
}
struct session {
  explicit session(int partitions, bool interpret = false)
      : of({.threads = 2, .interpret = interpret, .gpu = query::gpu_use::off}) {
    of.state()->partitions = partitions;
  }
  query::Session of;
};
template <class Q> std::vector<std::int64_t> ids(const Q& q) {
  std::vector<std::int64_t> all;
  for (const row& r : q.to_vector()) all.push_back(r.id);
  return all;
}

template <class Order> void expect_as_in_one(const Order& order) {
  for (const bool interpret : {false, true})
    for (const std::size_t n : {0, 1, 2, 7, 300, 5'000}) {
      const auto rows = drawn(n, static_cast<unsigned>(n) + 1);
      const auto wanted = ids(order(query::from(rows).in(session(1, interpret).of)));
      ASSERT_EQ(wanted.size(), n);
      for (const int parts : {2, 4, 7, 64}) {
        const session some(parts, interpret);
        EXPECT_EQ(ids(order(query::from(rows).in(some.of))), wanted) << n << " rows in " << parts;
        EXPECT_EQ(some.of.memory_used(), 0u);
      }
    }
}

TEST(range_sorts, nans_and_zeros_ascending_and_descending) {
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.x; }); });
  expect_as_in_one([](auto q) { return q.order_by_descending([](auto r) { return r.x; }); });
}
TEST(range_sorts, nulls_first_and_last) {
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.maybe; }); });
  expect_as_in_one([](auto q) { return q.order_by_descending([](auto r) { return r.maybe; }, query::nulls::first); });
}
TEST(range_sorts, several_keys) {
  expect_as_in_one([](auto q) {
    return q.order_by([](auto r) { return r.few; }).then_by_descending([](auto r) { return r.maybe; }).then_by([](auto r) {
      return r.text;
    });
  });
}
TEST(range_sorts, texts_that_begin_alike) {
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.text; }); });
  expect_as_in_one([](auto q) { return q.order_by_descending([](auto r) { return std::tuple(r.text, r.few); }); });
}
TEST(range_sorts, computed_and_opaque_keys) {
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.x * 2 + r.few; }); });
  expect_as_in_one([](auto q) { return q.order_by([](const row& r) { return r.id % 17; }); });
}
TEST(range_sorts, the_users_own_order) {
  expect_as_in_one([](auto q) {
    return q.order_by([](auto r) { return r.few; }, [](std::int32_t a, std::int32_t b) { return a % 3 < b % 3; }).then_by([](auto r) {
      return r.x;
    });
  });
}
TEST(range_sorts, keys_that_are_all_equal) {
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.few * 0; }); });
  expect_as_in_one([](auto q) { return q.order_by([](auto r) { return r.few / 4; }); });  // four rows in five
}

TEST(range_sorts, what_comes_after_sees_the_order) {
  const auto rows = drawn(4'000, 3);
  const session one(1), four(4);
  const auto in = [&](const session& s) {
    return query::from(rows).in(s.of).where([](auto r) { return r.few != 1; }).order_by([](auto r) { return r.x; });
  };
  const auto key = [](auto r) { return r.few; };
  const auto firsts = [&](const session& s) {
    auto all = in(s).group_by(key).select([](auto g) { return std::pair(g.key(), g.first([](auto r) { return r.id; })); }).to_vector();
    std::ranges::sort(all);
    return all;
  };
  EXPECT_EQ(firsts(four), firsts(one));
  EXPECT_EQ(ids(in(four).skip(100).take(50)), ids(in(one).skip(100).take(50)));
  EXPECT_EQ(ids(in(four).reverse()), ids(in(one).reverse()));
  EXPECT_EQ(ids(in(four).where([](auto r) { return r.id % 2 == 0; })), ids(in(one).where([](auto r) { return r.id % 2 == 0; })));
  EXPECT_EQ(in(four).last().id, in(one).last().id);
  EXPECT_EQ(ids(in(four).order_by(key)), ids(in(one).order_by(key)));
  std::vector<std::int64_t> streamed;
  for (const row& r : in(four)) streamed.push_back(r.id);
  EXPECT_EQ(streamed, ids(in(one)));
}

// Ranges have about as many rows each; one begins with a key that many rows have, and the next one right after it.
TEST(range_sorts, ranges_are_of_about_as_many_rows) {
  const session four(4);
  query::runtime::session_state& s = *four.of.state();
  query::runtime::cancel_flag cancel;
  query::runtime::run_context context{*s.scheduler, s.pool, cancel};
  const auto ends = [&](const std::vector<std::int64_t>& values) {
    const auto q = query::from(values).order_by([](auto x) { return x; });
    query::planner::vertex v;
    const query::detail::pipe plan = q.to_pipe();
    v.node = plan.node.get();
    const query::detail::table rows{nullptr, values.data(), values.size(), query::ir::describe<std::int64_t>()};
    const auto begins = s.cpu->begins_of_ranges(v, s.cpu->sample_of(v, query::runtime::vertex_rows(rows), 1'024, context), 4, context);
    const auto apart = s.cpu->in_ranges(v, rows, begins, 4, context);
    return query::runtime::bounds_of(apart)->ends;
  };
  std::mt19937 g(1);
  std::vector<std::int64_t> values(100'000);
  for (auto& x : values) x = static_cast<std::int64_t>(g());
  const auto even = ends(values);
  for (std::size_t p = 0; p < 4; ++p) EXPECT_NEAR(static_cast<double>(even[p]), 25'000.0 * static_cast<double>(p + 1), 4'000);
  for (auto& x : values) x = g() % 10 < 7 ? 500 : static_cast<std::int64_t>(g() % 1'000);  // seven in ten are equal
  const auto skewed = ends(values);
  EXPECT_EQ(skewed.back(), values.size());
  EXPECT_GT(skewed[1] - skewed[0], 70'000u);
  EXPECT_LT(skewed[1] - skewed[0], 72'000u);
  EXPECT_EQ(ends(std::vector<std::int64_t>(1'000, 7)), (std::vector<std::size_t>{0, 1'000, 1'000, 1'000}));
}

TEST(range_sorts, explain_says_so) {
  const auto rows = drawn(1'000, 5);
  const session one(1), four(4);
  const auto plan = [&](const session& s) { return query::from(rows).in(s.of).order_by([](auto r) { return r.x; }).explain(); };
  EXPECT_NE(plan(four).find("exchange by range for order_by"), std::string::npos) << plan(four);
  EXPECT_NE(plan(four).find("rows with equal keys stay together"), std::string::npos);
  EXPECT_EQ(plan(one).find("exchange"), std::string::npos);
}

}  // namespace range_sorts_test
