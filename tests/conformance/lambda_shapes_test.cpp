// Functions as people write them: with default arguments, with results made of rows, over runs and arrays; and what divides by the
// count of nothing.
#include <list>
#include <set>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

CONFORMS(lambda_shapes, default_arguments_are_no_row_numbers, "where", "select") {
  const std::vector<std::int64_t> rows{5, 4, 3};
  const auto q = source(e, rows);
  const std::vector<std::int64_t> tenfold{50, 40, 30};
  EXPECT_ROWS(q.select([](auto x, std::int64_t scale = 10) { return x * scale; }).to_vector(), tenfold);
  EXPECT_ROWS(q.select([](std::int64_t x, std::int64_t scale = 10) { return x * scale; }).to_vector(), tenfold);
  EXPECT_ROWS(q.select([](auto... x) { return (x * ... * 10); }).to_vector(), tenfold);
  EXPECT_ROWS(q.where([](auto x, bool negated = false) { return (x > 3) != negated; }).to_vector(), (std::vector<std::int64_t>{5, 4}));
  EXPECT_ROWS(q.select([](auto x, auto i) { return x * i; }).to_vector(), (std::vector<std::int64_t>{0, 4, 6}));
}

CONFORMS(lambda_shapes, results_hold_rows_with_strings, "select", "select_many") {
  const auto& rows = few_trades();
  const auto q = source(e, rows);
  std::vector<std::optional<trade>> optionals;
  std::vector<std::array<trade, 2>> arrays;
  std::vector<std::vector<trade>> lists;
  std::vector<trade> twice;
  for (const trade& t : rows) {
    optionals.emplace_back(t);
    arrays.push_back({t, t});
    lists.push_back({t, t});
    twice.insert(twice.end(), 2, t);
  }
  EXPECT_ROWS(q.select([](auto t) { return std::optional(t); }).to_vector(), optionals);
  EXPECT_ROWS(q.select([](auto t) { return std::array{t, t}; }).to_vector(), arrays);
  EXPECT_ROWS(q.select([](auto t) { return std::vector{t, t}; }).to_vector(), lists);
  EXPECT_ROWS(q.select_many([](auto t) { return std::vector{t, t}; }).to_vector(), twice);
}

CONFORMS(lambda_shapes, lists_of_numbers_are_summed_themselves, "window", "chunk", "group_join") {
  const std::vector<std::int32_t> rows{5, 4, 3, 2};
  const auto q = source(e, rows);
  const auto sum = [](auto run) { return query::sum(run); };
  EXPECT_ROWS(q.window(2, sum).to_vector(), (std::vector<std::int64_t>{9, 7, 5}));
  EXPECT_ROWS(q.chunk(3, sum).to_vector(), (std::vector<std::int64_t>{12, 2}));
  const auto odd = [](auto x) { return x % 2; };
  EXPECT_ROWS(q.group_join(q, odd, odd, [](auto, const auto& same) { return query::sum(same); }).as_ordered().to_vector(),
              (std::vector<std::int64_t>{8, 6, 8, 6}));
}

CONFORMS(lambda_shapes, arrays_of_numbers_are_summed_and_averaged, "sum", "average", "mean") {
  const std::vector<std::array<std::int32_t, 2>> rows{{1, 2}, {3, 5}};
  const auto q = source(e, rows);
  EXPECT_EQ(q.sum(), (std::array<std::int64_t, 2>{4, 7}));
  EXPECT_EQ(q.sum([](auto a) { return a; }), (std::array<std::int64_t, 2>{4, 7}));
  EXPECT_EQ(q.average(), (std::array{2.0, 3.5}));
  EXPECT_EQ(q.take(0).mean([](auto a) { return a; }), std::nullopt);
  EXPECT_NE(q.explain("sum").find("aggregate: sum(row)"), std::string::npos) << q.explain("sum");
}

CONFORMS(lambda_shapes, any_range_is_broadcast, "where") {
  const std::vector<std::int32_t> rows{5, 4, 3, 2};
  const std::vector<std::int32_t> wanted{5, 3};
  const auto inside = [&](const auto& range) { return source(e, rows).where([range](auto x) { return range.contains(x); }).to_vector(); };
  EXPECT_ROWS(inside(query::broadcast(std::set<std::int32_t>{3, 5})), wanted);
  EXPECT_ROWS(inside(query::broadcast(std::list<std::int32_t>{3, 5})), wanted);
  EXPECT_ROWS(inside(query::broadcast(std::array<std::int32_t, 2>{3, 5})), wanted);
}

template <class Run> void expect_division_by_zero(const char* form, Run run) {
  SCOPED_TRACE(form);
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const query::user_error& error) {
    EXPECT_NE(std::string(error.what()).find("division by zero"), std::string::npos) << error.what();
  }
}

CONFORMS(lambda_shapes, aggregates_divided_by_nothing_are_an_error, "reduce", "value_of", "group_by") {
  const std::vector<std::int64_t> rows{5, 4, 3};
  const auto q = source(e, rows);
  expect_division_by_zero("value / value", [&] { (query::value_of(q).sum() / query::value_of(q.take(0)).count()).get(); });
  expect_division_by_zero("value / number", [&] { (query::value_of(q).sum() / 0).get(); });
  expect_division_by_zero("number / value", [&] { (1 / query::value_of(q.take(0)).sum()).get(); });
  expect_division_by_zero("aggregate / aggregate", [&] { q.take(0).reduce([](auto g) { return g.sum() / g.count(); }); });
  expect_division_by_zero("aggregate % aggregate", [&] { q.take(0).reduce([](auto g) { return g.sum() % g.count(); }); });
  expect_division_by_zero("of groups",
                          [&] { q.group_by([](auto x) { return x % 2; }).select([](auto g) { return g.sum() / g.key(); }).to_vector(); });
  EXPECT_EQ((query::value_of(q).sum() / query::value_of(q).count()).get(), 4);
  EXPECT_EQ(q.reduce([](auto g) { return g.sum() % (g.count() + 2); }), 2);
  const auto least = std::numeric_limits<std::int64_t>::min();  // its opposite fits no std::int64_t
  EXPECT_THROW(q.reduce([least](auto g) { return (g.sum() * 0 + least) / (g.count() - 4); }), query::user_error);
  EXPECT_EQ(q.reduce([least](auto g) { return (g.sum() * 0 + least) % (g.count() - 4); }), 0);
  EXPECT_EQ(q.reduce([](auto g) { return g.sum() / 2.5; }), 4.8);
}

}  // namespace
}  // namespace conformance
