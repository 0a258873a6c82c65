// Rows that are long doubles, which no engine looks into: they are computed by the user's compiler, in their own precision.
#include <cmath>
#include <limits>
#include <vector>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"

namespace conformance {
namespace {

struct sample {
  std::int64_t id;
  double value;
};
QUERY_RECORD(sample, id, value);

CONFORMS(long_doubles, are_summed_and_compared, "sum", "min", "max", "average", "mean", "count") {
  std::vector<long double> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back(static_cast<long double>(i % 100) + 1e-15L);
  const auto q = source(e, rows);
  EXPECT_EQ(*q.min(), 1e-15L);
  EXPECT_EQ(*q.max(), 99 + 1e-15L);
  EXPECT_NEAR(static_cast<double>(q.sum()), 148500, 1e-6);
  EXPECT_NEAR(*q.average(), 49.5, 1e-9);
  EXPECT_NEAR(*q.mean(), 49.5, 1e-9);
  EXPECT_EQ(q.count(), 3000);
  EXPECT_EQ(q.count([](auto x) { return x < 1; }), 30);
  EXPECT_EQ(q.where([](auto x) { return x < 1; }).select([](auto x) { return x * 2; }).to_vector().size(), 30u);
  EXPECT_EQ(*q.select([](auto x) { return x + 1; }).where([](auto x) { return x > 100; }).min(), 100 + 1e-15L);
  EXPECT_EQ(*q.skip(2000).max([](auto x) { return -x; }), -1e-15L);
  const auto none = q.where([](auto x) { return x > 1000; });
  EXPECT_FALSE(none.min());
  EXPECT_FALSE(none.max());
  EXPECT_FALSE(none.average());
  EXPECT_EQ(none.sum(), 0);
  rows[1] = std::numeric_limits<long double>::quiet_NaN();
  EXPECT_EQ(*source(e, rows).max(), 99 + 1e-15L);
}

CONFORMS(long_doubles, are_given_by_functions_of_rows, "sum", "min", "max", "average", "min_by", "group_by") {
  std::vector<sample> rows;
  for (int i = 0; i < 3000; ++i) rows.push_back({i % 3, static_cast<double>(i)});
  const auto q = source(e, rows);
  const auto wide = [](auto s) { return s.value * 2.0L; };
  EXPECT_EQ(*q.min(wide), 0);
  EXPECT_EQ(*q.max(wide), 5998);
  EXPECT_EQ(q.sum(wide), 8997000);
  EXPECT_EQ(*q.average(wide), 2999);
  EXPECT_EQ(q.max_by(wide)->value, 2999);
  EXPECT_EQ(q.select([](auto s) { return query::cast<long double>(s.id) + 1; }).to_vector().back(), 3);
  EXPECT_EQ(q.group_by([](auto s) { return s.id; })
                .select([=](auto g) { return std::pair(g.key(), query::cast<double>(g.max(wide))); })
                .where([](auto p) { return p.first == 1; })
                .single()
                .second,
            5996);
}

// Times of asof_join may not be long doubles: tests/compile_fail/verb_asof_join_time_is_long_double.cpp.
CONFORMS(long_doubles, are_rows_of_windows_and_zip, "over", "zip", "join_where", "slice", "shuffle") {
  const std::vector<long double> rows{3.5L, 1.25L, 2.0L};
  const auto itself = [](auto x) { return x; };
  const auto q = source(e, rows);
  EXPECT_EQ(q.shuffle(3).count(), 3);
  EXPECT_EQ(q.slice(1, -1).first(), 1.25L);
  EXPECT_EQ(q.join_where(rows, [](auto a, auto b) { return a < b; }).count(), 3);
  EXPECT_EQ(q.zip(rows, rows, [](auto a, auto b, auto c) { return a + b + c; }).first(), 10.5L);
  EXPECT_EQ(q.over().select([=](auto, auto w) { return w.max(itself); }).first(), 3.5L);
  EXPECT_EQ(q.over().select([=](auto, auto w) { return w.cum_sum(itself); }).last(), 6.75L);
  EXPECT_EQ(q.over().select([=](auto, auto w) { return w.rolling(2).min(itself); }).last(), 1.25L);
}

}  // namespace
}  // namespace conformance
