// Verify mode finds functions whose trace computes something else than their native code, whatever verb they stand in, and
// names the verb, the line and the row.
#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace verify_test {

struct Fill {
  std::int32_t id = 0, symbol = 0;
  double price = 0;
};
QUERY_RECORD(Fill, id, symbol, price);
struct Stock {
  std::int32_t symbol = 0, sector = 0;
};
QUERY_RECORD(Stock, symbol, sector);

const std::vector<Fill> fills = [] {
  std::vector<Fill> f;
  for (std::int32_t i = 0; i < 200; ++i) f.push_back({i, i % 7, 1.0 + i});
  return f;
}();
const std::vector<Stock> stocks{{0, 1}, {1, 1}, {2, 2}, {3, 2}, {99, 3}};

// The value itself; its trace is another: what `if constexpr` over the type of a field does.
template <class V> auto lie(const V& v) {
  if constexpr (std::is_arithmetic_v<V>) return v;
  else return v + 1;
}
const auto symbol = [](auto t) { return t.symbol; };
const auto wrong_symbol = [](auto t) { return lie(t.symbol); };
const auto wrong_price = [](auto t) { return lie(t.price); };
const auto wrong_test = [](auto t) { return lie(t.id) < 100; };  // differs at row 99
const auto price = [](auto t) { return t.price; };

auto rows() { return query::from(fills).verify(); }
auto others() { return query::from(stocks); }

template <class F> std::string message_of(F run) {
  try {
    run();
  } catch (const query::user_error& e) {
    return e.what();
  }
  return "nothing was found";
}

// On one line: the call site is that of the verb.
#define EXPECT_FOUND(verb, row, ...)                                                                              \
  do {                                                                                                            \
    const std::string m = message_of([&] { (void)(__VA_ARGS__); });                                               \
    EXPECT_EQ(m.rfind(std::string("verify: ") + verb + ", ", 0), 0u) << m;                                        \
    EXPECT_NE(m.find("verify_test.cpp:" + std::to_string(__LINE__)), std::string::npos) << m;                      \
    EXPECT_NE(m.find(row), std::string::npos) << m;                                                               \
  } while (false)

TEST(verify, rows_and_keys) {
  EXPECT_FOUND("where", "row 99 = ", rows().where(wrong_test).count());
  EXPECT_FOUND("select", "row 0 = ", rows().select(wrong_price).to_vector());
  EXPECT_FOUND("order_by", "row 0 = ", rows().order_by(wrong_price).to_vector());
  EXPECT_FOUND("group_by", "row 0 = ", rows().group_by(wrong_symbol).count().to_vector());
  EXPECT_FOUND("distinct_by", "row 0 = ", rows().distinct_by(wrong_symbol).to_vector());
  EXPECT_FOUND("union_with_by", "row 0 = ", rows().union_with_by(query::from(fills), wrong_symbol).to_vector());
  EXPECT_FOUND("intersect_by", "row 0 = ", rows().intersect_by(query::from(fills), wrong_symbol).to_vector());
  EXPECT_FOUND("except_by", "row 0 = ", rows().except_by(query::from(fills), wrong_symbol).to_vector());
  EXPECT_FOUND("hash_partitioned_by", "row 0 = ", rows().hash_partitioned_by(wrong_symbol, 4).to_vector());
  EXPECT_FOUND("range_partitioned_by", "row 0 = ", rows().range_partitioned_by(wrong_price, 4).to_vector());
}

TEST(verify, while_predicates_up_to_the_row_where_they_stop) {
  EXPECT_FOUND("take_while", "row 99 = ", rows().take_while(wrong_test).to_vector());
  EXPECT_FOUND("skip_while", "row 99 = ", rows().skip_while(wrong_test).to_vector());
  // Row 5 ends it; the function tells no truth about later rows, and is not asked.
  const auto late = [](auto t) { return t.id < 5 || (t.id > 150 && lie(t.id) < 100); };
  EXPECT_EQ(rows().take_while(late).to_vector().size(), 5u);
}

TEST(verify, join_keys_of_both_sides) {
  const auto pair = [](auto l, auto r) { return l.price * query::cast<double>(r.sector); };
  EXPECT_FOUND("join", "left row 0 = ", rows().join(others(), wrong_symbol, symbol, pair).to_vector());
  EXPECT_FOUND("join", "right row 0 = ", rows().join(others(), symbol, wrong_symbol, pair).to_vector());
  EXPECT_FOUND("semi_join", "left row 0 = ", rows().semi_join(others(), wrong_symbol, symbol).to_vector());
  EXPECT_FOUND("anti_join", "right row 0 = ", rows().anti_join(others(), symbol, wrong_symbol).to_vector());
  EXPECT_FOUND(
      "group_join", "left row 0 = ",
      rows()
          .group_join(others(), wrong_symbol, symbol, [](const Fill& l, const std::vector<Stock>& r) { return l.id + std::ssize(r); })
          .to_vector());
  EXPECT_FOUND(
      "full_join", "right row 0 = ",
      rows()
          .full_join(others(), symbol, wrong_symbol, [](auto l, auto r) { return query::iff(l.has_value() && r.has_value(), 1, 2); })
          .to_vector());
}

TEST(verify, join_results_and_missing_sides) {
  EXPECT_FOUND(
      "join", "right row 0 = ",
      rows().join(others(), symbol, symbol, [](auto l, auto r) { return lie(l.price) * query::cast<double>(r.sector); }).to_vector());
  EXPECT_FOUND("left_join", "right row 4 = none",
               rows()
                   .left_join(others(), symbol, symbol, [](auto l, auto r) { return query::iff(r.has_value(), l.price, lie(l.price)); })
                   .to_vector());
  EXPECT_FOUND("right_join", "= none",
               rows()
                   .right_join(others(), symbol, symbol, [](auto l, auto r) { return query::iff(l.has_value(), r.sector, lie(r.sector)); })
                   .to_vector());
  EXPECT_FOUND("cross_join", "left row 0 = ",
               rows().cross_join(others(), [](auto l, auto r) { return lie(l.price) * query::cast<double>(r.sector); }).to_vector());
  EXPECT_FOUND("join_where", "left row 2 = ",
               rows().join_where(others(), [](auto l, auto r) { return lie(l.price) < query::cast<double>(r.sector); }).to_vector());
  EXPECT_FOUND("zip", "left row 0 = ",
               rows().zip(others(), [](auto l, auto r) { return lie(l.price) * query::cast<double>(r.sector); }).to_vector());
}

TEST(verify, functions_after_a_join) {
  const auto joined = rows().join(others(), symbol, symbol, [](auto l, auto r) { return query::make<Fill>(l.id, r.sector, l.price); });
  EXPECT_FOUND("where", "row ", joined.where([](auto t) { return lie(t.symbol) == 1; }).count());
  EXPECT_FOUND("group_by", "row ", joined.group_by(wrong_symbol).count().to_vector());
}

TEST(verify, functions_inside_functions_of_groups) {
  EXPECT_FOUND("group_by", "group 0, row 0 = ",
               rows().group_by(symbol).select([](auto g) { return std::pair(g.key(), g.sum(wrong_price)); }).to_vector());
  EXPECT_FOUND("group_by", "group 0, row 0 = ", rows().group_by(symbol).select([](auto g) { return g.min(wrong_price); }).to_vector());
  EXPECT_FOUND("group_by", "row 99 = ", rows().group_by(symbol).select([](auto g) { return g.count(wrong_test); }).to_vector());
  EXPECT_FOUND("group_by", "row 0 = ", rows().group_by(symbol).select([](auto g) { return g.first(wrong_price); }).to_vector());
  EXPECT_FOUND("group_by", "row 0 = ", rows().group_by(symbol).select([](auto g) { return g.collect(wrong_price); }).to_vector());
  EXPECT_FOUND("group_by", "row 0 = ", rows().group_by(symbol).aggregate([](auto g) { return g.median(wrong_price); }).to_vector());
  // A variance needs two rows: no row alone shows the difference.
  EXPECT_FOUND(
      "group_by", "29 rows, first row 0 = ",
      rows().group_by(symbol).select([](auto g) { return g.variance([](auto t) { return t.price * lie(t.price); }); }).to_vector());
}

TEST(verify, the_finishing_expression_of_groups) {
  // The recorder of native code and the traced group are different types.
  const auto lies = [](auto g) {
    if constexpr (requires { typename decltype(g.count())::value_type; }) return g.count() + std::int64_t{1};
    else return g.count() + std::int64_t{0};
  };
  EXPECT_FOUND("group_by", "group 0, row 0 = ", rows().group_by(symbol).select(lies).to_vector());
}

TEST(verify, terminal_verbs) {
  EXPECT_FOUND("sum", "row 0 = ", rows().sum(wrong_price));
  EXPECT_FOUND("average", "row 0 = ", rows().average(wrong_price));
  EXPECT_FOUND("min", "row 0 = ", rows().min(wrong_price));
  EXPECT_FOUND("count", "row 99 = ", rows().count(wrong_test));
  EXPECT_FOUND("any", "row 99 = ", rows().any(wrong_test));
  EXPECT_FOUND("all", "row 99 = ", rows().all(wrong_test));
  EXPECT_FOUND("min_by", "200 rows, first row 0 = ", rows().min_by([](auto t) { return query::iff(lie(t.id) == 99, -1.0, t.price); }));
  EXPECT_FOUND("reduce", "row 0 = ", rows().reduce([](auto g) { return g.mean(wrong_price); }));
  EXPECT_FOUND("aggregate", "row 0 = ", rows().aggregate([](auto g) { return g.sum(wrong_price); }).to_vector());
}

TEST(verify, behind_select_many) {
  const auto twice = [](const Fill& t) { return std::vector<double>{t.price, -t.price}; };
  EXPECT_FOUND("where", "row 0 = ", rows().select_many(twice).where([](auto v) { return lie(v) < 1.5; }).count());
  EXPECT_FOUND("group_by", "row 0 = ", rows().select_many(twice).group_by([](auto v) { return lie(v); }).count().to_vector());
}

TEST(verify, bodies_and_conditions_of_loops) {
  const auto step = [](query::Query<Fill> q) { return q.select([](auto t) { return query::make<Fill>(t.id, t.symbol, t.price + 1.0); }); };
  EXPECT_FOUND(
      "select", "row 0 = ",
      rows()
          .do_while([](query::Query<Fill> q) { return q.select([](auto t) { return query::make<Fill>(t.id, t.symbol, lie(t.price)); }); },
                    query::times(2))
          .to_vector());
  EXPECT_FOUND("aggregate", "row 0 = ",
               rows()
                   .do_while(step,
                             [](query::Query<Fill>, query::Query<Fill> next) {
                               return query::value_of(next).aggregate([](auto g) { return g.max(wrong_price); }) < 210.0;
                             })
                   .to_vector());
}

TEST(verify, what_is_right_stays_unharmed) {
  const auto q = rows().join(others(), symbol, symbol, [](auto l, auto r) { return query::make<Fill>(l.id, r.sector, l.price); });
  EXPECT_EQ(q.group_by(symbol)
                .select([](auto g) { return std::tuple(g.key(), g.sum(price) / query::cast<double>(g.count()), g.variance(price)); })
                .count(),
            2);
  EXPECT_EQ(rows().left_join(others(), symbol, symbol, [](auto l, auto r) { return query::iff(r.has_value(), l.price, 0.0); }).count(),
            200);
}

}  // namespace verify_test
