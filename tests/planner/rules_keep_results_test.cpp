// Every rule gives the rows that the plan without rules gives; and none fires where that could be noticed.
#include <algorithm>
#include <span>

#include "planner/plan_fixture.hpp"

namespace planner_test {
namespace {

enum class order { as_is, any };

template <class Q> void expect_same_rows(const Q& q, const std::string& rule, order o = order::any) {
  auto with = rows_of(q, true), without = rows_of(q, false);
  if (o == order::any) {
    std::sort(with.begin(), with.end());
    std::sort(without.begin(), without.end());
  }
  EXPECT_FALSE(without.empty()) << plan_of(q, "");
  EXPECT_TRUE(with == without) << with.size() << " rows, without rules " << without.size() << "\n" << plan_of(q, "");
  EXPECT_EQ(count_of(q, true), static_cast<std::int64_t>(without.size()));
  EXPECT_NE(plan_of(q, "").find(rule), std::string::npos) << rule << " did not fire\n" << plan_of(q, "");
}
template <class Q> void expect_no(const Q& q, const std::string& rule, const std::string& terminal = "") {
  EXPECT_EQ(plan_of(q, terminal).find(rule), std::string::npos) << plan_of(q, terminal);
}

const auto symbol_of = [](auto t) { return t.symbol; };
const auto expensive = [](auto t) { return t.price > 120.0; };

TEST(rules_keep_results, predicates_below_sets) {
  const auto a = query::from(trades), b = query::from(more_trades);
  expect_same_rows(a.distinct().where(expensive), "predicate_pushdown");
  expect_same_rows(a.union_with(b).where(expensive), "predicate_pushdown");
  expect_same_rows(a.concat(b).intersect(a.skip(100)).where(expensive), "predicate_pushdown");
  expect_same_rows(a.except(a.skip(100)).where(expensive), "predicate_pushdown");
  expect_same_rows(a.distinct_by(symbol_of).where([](auto t) { return t.symbol > 20; }), "predicate_pushdown");
  expect_same_rows(a.reverse().where(expensive), "predicate_pushdown", order::as_is);
}

TEST(rules_keep_results, predicates_stay_above_row_numbers) {
  const auto a = query::from(trades);
  const auto third = [](auto, std::int64_t i) { return i % 3 == 1; };
  for (const auto& q : {query::Query<Trade>(a.order_by(symbol_of).where(third).where(expensive)),
                        query::Query<Trade>(query::Query<Trade>(a.reverse().where(third)).where(expensive)),
                        query::Query<Trade>(a.concat(a).where(third).where(expensive)),
                        query::Query<Trade>(a.distinct().as_ordered().where(third).where(expensive))}) {
    expect_no(q, "predicate_pushdown");
    EXPECT_TRUE(rows_of(q, true) == rows_of(q, false));
    EXPECT_EQ(q.count(), std::ssize(rows_of(q, false)));
  }
  // What stands before the numbers may go down.
  expect_same_rows(a.order_by(symbol_of).where(expensive).where(third), "predicate_pushdown", order::as_is);
}

TEST(rules_keep_results, verbs_left_out_do_not_renumber_rows) {
  const auto a = query::from(trades);
  const auto numbered = [](auto t, auto i) { return query::make<Trade>(t.symbol, t.price, query::cast<std::int64_t>(i), t.venue); };
  expect_same_rows(a.distinct().as_ordered().where(expensive).distinct().as_ordered().select(numbered), "merge_distinct", order::as_is);
  expect_same_rows(a.distinct().as_ordered().distinct().as_ordered().select(numbered), "merge_distinct", order::as_is);
}

TEST(rules_keep_results, a_query_that_joins_itself_again_and_again_stays_small) {
  query::Query<Trade> q = query::from(trades).where([](auto t) { return t.qty % 500 == 1; }).distinct_by(symbol_of);
  const auto first = [](auto l, auto) { return l; };
  const std::int64_t rows = q.count();
  std::size_t length = 0;
  for (int i = 0; i < 20; ++i) {
    q = q.join(q, symbol_of, symbol_of, first);
    if (i == 9) length = q.explain().size();
  }
  EXPECT_LT(q.explain().size(), 5 * length);
  EXPECT_EQ(q.count(), rows);
}

// Which rows each partition has, and in which order.
const auto fingerprint = [](std::span<const Trade> rows) {
  std::int64_t order = 17;
  for (const Trade& t : rows) order = (order * 31 + t.symbol * 7 + t.qty) % 1000003;
  return std::vector<std::int64_t>{std::ssize(rows), order};
};

TEST(rules_keep_results, partitions_that_are_there_already) {
  const auto a = query::from(trades);
  const auto venue_of = [](auto t) { return t.venue; };
  const auto dearer = [](auto t) { return query::make<Trade>(t.symbol, t.price + 1.0, t.qty, t.venue); };
  const std::string inferred = "partitioning inferred from hash_partitioned_by", anew = "partitions its rows anew";
  expect_same_rows(a.hash_partitioned_by(symbol_of, 8).hash_partitioned_by(symbol_of, 8).apply(fingerprint), inferred, order::as_is);
  expect_same_rows(a.hash_partitioned_by(symbol_of, 8).where(expensive).select(dearer).hash_partitioned_by(symbol_of, 8).apply(fingerprint),
                   inferred, order::as_is);
  expect_same_rows(a.hash_partitioned_by(symbol_of).select(dearer).hash_partitioned_by(symbol_of).apply(fingerprint), inferred,
                   order::as_is);
  expect_same_rows(a.range_partitioned_by(symbol_of, 5).select(dearer).range_partitioned_by(symbol_of, 5).apply(fingerprint),
                   "inferred from range_partitioned_by", order::as_is);
  expect_same_rows(a.partitioned(6).select(dearer).partitioned(6).apply(fingerprint), "inferred from partitioned", order::as_is);
  expect_same_rows(a.partitioned(6).where(expensive).partitioned(3).apply(fingerprint), anew, order::as_is);
  expect_same_rows(a.partitioned(6).range_partitioned_by(venue_of, 3).apply(fingerprint), anew, order::as_is);
  expect_same_rows(a.hash_partitioned_by(symbol_of, 4).where(expensive).hash_partitioned_by(symbol_of, 8).apply(fingerprint), anew,
                   order::as_is);
  // Shared by two readers, and read behind a join.
  const auto parts = a.hash_partitioned_by(symbol_of, 8);
  expect_same_rows(parts.hash_partitioned_by(symbol_of, 8).apply(fingerprint).concat(parts.apply(fingerprint)), inferred, order::as_is);
}

TEST(rules_keep_results, partitions_that_only_look_alike_stay) {
  const auto a = query::from(trades);
  const auto venue_of = [](auto t) { return t.venue; };
  const auto other_symbol = [](auto t) { return query::make<Trade>(t.venue, t.price, t.qty, t.symbol); };
  const auto left_out = "is left out";
  expect_no(a.hash_partitioned_by(symbol_of, 8).hash_partitioned_by(venue_of, 8).apply(fingerprint), left_out);
  expect_no(a.hash_partitioned_by(symbol_of, 8).range_partitioned_by(symbol_of, 8).apply(fingerprint), left_out);
  expect_no(a.hash_partitioned_by(symbol_of, 8).hash_partitioned_by(symbol_of, 4).apply(fingerprint), left_out);
  // The select gives the name to another value.
  expect_no(a.hash_partitioned_by(symbol_of, 8).select(other_symbol).hash_partitioned_by(symbol_of, 8).apply(fingerprint), left_out);
  // A filter changes where ranges end, and which partitions are empty.
  expect_no(a.range_partitioned_by(symbol_of, 5).where(expensive).range_partitioned_by(symbol_of, 5).apply(fingerprint), left_out);
  expect_no(a.hash_partitioned_by(symbol_of).where(expensive).hash_partitioned_by(symbol_of).apply(fingerprint), left_out);
  expect_no(a.hash_partitioned_by([](const Trade& t) { return t.symbol; }, 8)
                .hash_partitioned_by([](const Trade& t) { return t.symbol; }, 8)
                .apply(fingerprint),
            left_out);
  EXPECT_NE(plan_of(a.apply(fingerprint), "").find("partitions: runs of rows that the engine chooses"), std::string::npos);
}

TEST(rules_keep_results, predicates_below_joins_of_every_kind) {
  const auto a = query::from(trades);
  const auto s = query::from(stocks).where([](auto x) { return x.sector != 6; });
  const auto pair = [](auto t, auto x) { return query::make<Priced>(t.symbol, x.sector, t.price); };
  const auto maybe = [](auto t, auto x) {
    if (!x) return query::make<Priced>(t.symbol, 6, t.price);
    return query::make<Priced>(t.symbol, x->sector, t.price);
  };
  const auto maybe_left = [](auto t, auto x) {
    if (!t) return query::make<Priced>(x.symbol, x.sector, 0.0);
    return query::make<Priced>(x.symbol, x.sector, t->price);
  };
  const auto wanted = [](auto p) { return p.sector > 2 && p.value < 200.0; };
  expect_same_rows(a.join(s, symbol_of, symbol_of, pair).where(wanted), "predicate_pushdown");
  expect_same_rows(
      s.join(a, symbol_of, symbol_of, [](auto x, auto t) { return query::make<Priced>(t.symbol, x.sector, t.price); }).where(wanted),
      "predicate_pushdown");
  expect_same_rows(a.left_join(s, symbol_of, symbol_of, maybe).where(wanted), "predicate_pushdown");
  expect_same_rows(a.right_join(s, symbol_of, symbol_of, maybe_left).where(wanted), "predicate_pushdown");
  expect_same_rows(a.take(40).cross_join(s, pair).where(wanted), "predicate_pushdown");
  expect_same_rows(a.semi_join(s, symbol_of, symbol_of).where(expensive), "predicate_pushdown");
  expect_same_rows(a.anti_join(s, symbol_of, symbol_of).where(expensive), "predicate_pushdown");
  expect_no(a.full_join(s, symbol_of, symbol_of,
                        [](auto t, auto x) { return query::make<Priced>(t ? t->symbol : -1, x ? x->sector : -1, t ? t->price : 0.0); })
                .where(wanted),
            "predicate_pushdown");
}

TEST(rules_keep_results, predicates_below_named_queries_with_selects) {
  const query::Query<Priced> priced =
      query::from(trades).distinct().select([](auto t) { return query::make<Priced>(t.symbol, t.venue, t.price * 2.0); });
  expect_same_rows(priced.where([](auto p) { return p.value > 300.0; }), "predicate_pushdown");
  const query::Query<Priced> joined = query::from(trades).join(query::from(stocks), symbol_of, symbol_of, [](auto t, auto s) {
    return query::make<Priced>(t.symbol, s.sector, t.price);
  });
  expect_same_rows(joined.order_by([](auto p) { return p.value; }).where([](auto p) { return p.sector == 2; }), "predicate_pushdown",
                   order::as_is);
}

TEST(rules_keep_results, predicates_stay_where_going_down_could_be_noticed) {
  const auto a = query::from(trades);
  expect_no(a.distinct().where([](auto t) { return t.qty / (t.venue + 1) > 10; }), "predicate_pushdown");     // traps
  expect_no(a.distinct().where([](auto t) { return 1.0 / t.price > 0.0; }), "predicate_pushdown");            // -0.0 is 0.0 as a key
  expect_no(a.distinct().where([](const Trade& t) { return t.qty > 10; }), "predicate_pushdown");             // opaque
  expect_no(a.distinct_by(symbol_of).where(expensive), "predicate_pushdown");                                 // not of the key
  expect_no(a.skip(3).where(expensive), "predicate_pushdown");
  expect_no(a.sample(50).where(expensive), "predicate_pushdown");
  const auto sorted = a.order_by(symbol_of);
  expect_no(sorted.where(expensive).concat(sorted.take(3)), "predicate_pushdown");                            // the sort has two readers
}

TEST(rules_keep_results, overflow_is_no_reason_against_sorting_less) {
  expect_same_rows(query::from(trades).order_by(symbol_of).where([](auto t) { return t.qty * t.qty > 400; }), "predicate_pushdown",
                   order::as_is);
}

TEST(rules_keep_results, limits) {
  const auto a = query::from(trades);
  expect_same_rows(a.order_by([](auto t) { return t.price; }).take(20), "top_k", order::as_is);
  expect_same_rows(a.order_by(symbol_of).where(expensive).skip(4).take(20), "top_k", order::as_is);
  expect_same_rows(a.order_by([](auto t) { return t.price; }).take(20).order_by([](auto t) { return t.qty; }).take(7), "top_k",
                   order::as_is);
  expect_same_rows(a.concat(query::from(more_trades)).skip(4990).take(100), "limit_pushdown", order::as_is);
  expect_same_rows(a.skip(3).zip(query::from(more_trades).skip(5)).take(11), "limit_pushdown", order::as_is);
  expect_no(a.order_by(symbol_of).select_many([](const Trade& t) { return std::vector<std::int64_t>(2, t.qty); }).take(3), "top_k");
  const auto sorted = a.order_by(symbol_of);
  expect_no(sorted.take(5).concat(sorted), "top_k");
}

TEST(rules_keep_results, order_and_distinct) {
  const auto a = query::from(trades);
  const auto by_price = [](auto t) { return t.price; };
  expect_same_rows(a.order_by(by_price).group_by(symbol_of).select(
                       [](auto g) { return query::make<Total>(g.key(), g.max([](auto t) { return t.qty; }), g.count()); }),
                   "remove_order");
  const auto whole_numbers = [](auto t) { return std::pair(t.symbol, t.venue); };
  expect_same_rows(a.order_by(by_price).select(whole_numbers).distinct(), "remove_order");
  expect_same_rows(a.hash_partitioned_by(symbol_of, 8).group_by(symbol_of).select([](auto g) {
    return query::make<Total>(g.key(), g.max([](auto t) { return t.qty; }), g.count());
  }),
                   "remove_order");
  expect_same_rows(a.range_partitioned_by(by_price, 8).where(expensive).select(whole_numbers).distinct(), "remove_order");
  // Of equal rows or keys the first stays, and floats may be equal and differ: 0.0 and -0.0.
  expect_no(a.order_by(by_price).distinct(), "remove_order");
  expect_no(a.reverse().union_with(query::from(more_trades)), "remove_order");
  expect_no(a.reverse().group_by(by_price).keys(), "remove_order");
  expect_same_rows(a.except(query::from(more_trades).order_by(by_price)), "remove_order");
  expect_same_rows(a.semi_join(query::from(stocks).order_by(symbol_of), symbol_of, symbol_of), "remove_order");
  expect_same_rows(a.distinct().where(expensive).distinct(), "merge_distinct");
  expect_same_rows(a.distinct().union_with(query::from(more_trades)), "merge_distinct");
  expect_same_rows(a.group_by(symbol_of).select([](auto g) { return query::make<Total>(g.key(), 0, g.count()); }).distinct(),
                   "merge_distinct");
  expect_no(a.order_by(by_price).group_by(symbol_of).select(
                [](auto g) { return query::make<Priced>(g.key(), 0, g.sum([](auto t) { return t.price; })); }),
            "remove_order");
  // The sum behind a mean of 64-bit integers is a double.
  const auto mean_of = [](auto f) { return [f](auto g) { return query::make<Priced>(g.key(), 0, g.mean(f)); }; };
  expect_same_rows(a.order_by(by_price).group_by(symbol_of).select(mean_of([](auto t) { return t.venue; })), "remove_order");
  expect_no(a.order_by(by_price).group_by(symbol_of).select(mean_of([](auto t) { return t.qty; })), "remove_order");
  expect_no(a.order_by(by_price).distinct_by(symbol_of), "remove_order");
  expect_no(a.hash_partitioned_by(symbol_of, 8).distinct_by(symbol_of), "remove_order");
  expect_no(a.order_by(by_price).distinct().as_ordered(), "remove_order");
  expect_no(a.order_by(by_price).order_by(symbol_of), "remove_order");
  expect_no(a.distinct_by(symbol_of).distinct_by([](auto t) { return t.venue; }), "merge_distinct");
}

struct trade_columns {
  std::vector<std::int32_t> symbol, venue;
  std::vector<double> price;
  std::vector<std::int64_t> qty;

  trade_columns() {
    for (const Trade& t : trades) symbol.push_back(t.symbol), price.push_back(t.price), qty.push_back(t.qty), venue.push_back(t.venue);
  }
  auto query() const { return query::from(query::columns<Trade>(symbol, price, qty, venue)); }
};

TEST(rules_keep_results, columns_that_a_filter_or_a_join_reads) {
  const trade_columns all;
  const auto columns = all.query();
  expect_same_rows(columns.where(expensive).group_by(symbol_of).select([](auto g) { return query::make<Total>(g.key(), 0, g.count()); }),
                   "projection_pruning");
  expect_same_rows(columns.join(query::from(stocks), symbol_of, symbol_of,
                                [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price); }),
                   "projection_pruning: reads symbol, price of 4");
  expect_same_rows(query::from(stocks).join(columns, symbol_of, symbol_of,
                                            [](auto s, auto t) { return query::make<Priced>(t.symbol, s.sector, t.price); }),
                   "projection_pruning: reads symbol, price of 4");
  expect_no(columns.where(expensive), "projection_pruning");
  expect_no(columns.order_by(symbol_of).take(3), "projection_pruning");
  expect_no(columns.group_by([](const Trade& t) { return t.symbol; }).select([](auto g) { return g.count(); }), "projection_pruning");
}

TEST(rules_keep_results, columns_behind_verbs_that_hand_rows_on) {
  const trade_columns all;
  const auto columns = all.query();
  const std::string one = "projection_pruning: reads price of 4", both = "projection_pruning: reads symbol, price of 4",
                    key = "projection_pruning: reads symbol of 4";
  const auto price_of = [](auto t) { return t.price; };
  const auto cheap = [](auto t) { return t.price < 200.0; };
  expect_same_rows(columns.skip(2).take_while(cheap).select(price_of), one);
  expect_same_rows(columns.skip_while([](auto t) { return t.price < 110.0; }).skip_last(1).select(price_of), one);
  expect_same_rows(columns.take(7).take_last(5).default_if_empty().select(price_of), one);
  expect_same_rows(columns.distinct_by(symbol_of).select(price_of), both);
  expect_same_rows(columns.union_with_by(query::from(trades).take(3), symbol_of).select(price_of), both);
  expect_same_rows(query::from(trades).intersect_by(columns.take(3), symbol_of), key);
  expect_same_rows(query::from(trades).except_by(columns.take(1), symbol_of), key);
  expect_same_rows(columns.concat(columns.reverse()).select(price_of), one, order::as_is);
  expect_same_rows(columns.sample(5).select(price_of), one);
  expect_same_rows(columns.zip(query::from(trades), [](auto a, auto b) { return a.price + b.price; }), one);
  expect_same_rows(columns.range_partitioned_by(symbol_of, 3).select(price_of), both);
  expect_no(columns.distinct().select(price_of), "projection_pruning");
  expect_no(columns.take_while([](const Trade& t) { return t.price < 150.0; }).select(price_of), "projection_pruning");
  expect_no(columns.chunk(3), "projection_pruning");
  expect_no(columns.skip(2).apply([](std::span<const Trade> t) { return std::vector<std::size_t>{t.size()}; }), "projection_pruning");
  // Each vertex once, however many ways lead there.
  query::Query<Trade> again = columns.distinct_by(symbol_of);
  for (int i = 0; i < 40; ++i) again = again.union_with_by(again, symbol_of);
  EXPECT_NE(again.select(price_of).explain().find(both), std::string::npos);
}

}  // namespace
}  // namespace planner_test
