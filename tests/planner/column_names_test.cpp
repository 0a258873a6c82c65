// What tables call the columns of pairs and tuples: print() and describe() of count_by, aggregate, joins, zip.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "planner/column_names.hpp"

namespace {

struct Trip { std::int32_t zone; double fare; std::int64_t miles; };
QUERY_RECORD(Trip, zone, fare, miles);
struct Zone { std::int32_t id; std::string name; };
QUERY_RECORD(Zone, id, name);

namespace by = query::aggregates;

const std::vector<Trip> trips = {{1, 12.5, 3}, {2, 7.25, 1}, {1, 3, 2}};
const std::vector<Zone> zones = {{1, "Airport"}, {2, "Centre"}};
const auto zone = [](auto t) { return t.zone; };
const auto fare = [](auto t) { return t.fare; };
const auto id = [](auto z) { return z.id; };

using names = std::vector<std::string>;
template <class Q> names names_of(const Q& q) { return query::planner::column_names(*q.to_pipe().node); }

TEST(column_names, a_printed_table_of_groups) {
  const auto q =
      query::from(trips).group_by(zone).aggregate(by::sum(fare), by::count(), by::mean([](auto t) { return t.fare / 3; })).as_ordered();
  EXPECT_EQ(q.table({.ascii = true}),
            "+-----+-----------+-------+------------------+\n"
            "| key | sum(fare) | count | mean(fare / 3.0) |\n"
            "| i32 |       f64 |   i64 |              f64 |\n"
            "+=====+===========+=======+==================+\n"
            "|   1 |     15.50 |     2 |          2.58333 |\n"
            "|   2 |      7.25 |     1 |          2.41667 |\n"
            "+-----+-----------+-------+------------------+\n");
  EXPECT_NE(q.describe().find("│ sum(fare) "), std::string::npos) << q.describe();
}

TEST(column_names, of_groups) {
  const auto q = query::from(trips);
  EXPECT_EQ(names_of(q.count_by(zone)), (names{"key", "count"}));
  EXPECT_EQ(names_of(q.count_by(zone).order_by([](auto r) { return std::get<1>(r); }).take(3)), (names{"key", "count"}));
  EXPECT_EQ(names_of(q.group_by(zone).select([](auto g) { return std::pair(g.key(), g.max(fare) - g.min(fare)); })),
            (names{"key", "max(fare) - min(fare)"}));
  EXPECT_EQ(names_of(q.group_by(zone).aggregate(by::quantile(fare, 0.5), by::max(fare), by::max(fare))),
            (names{"key", "quantile(fare, 0.5)", "max(fare)", "3"}));
  const auto later = [](double s, const Trip& t) { return s + t.fare; };
  EXPECT_EQ(names_of(q.aggregate_by(zone, 0.0, later, std::plus<>())), (names{"key", "aggregate"}));
  EXPECT_EQ(names_of(q.aggregate([](auto g) { return std::tuple(g.count(), g.sum(fare)); })), (names{"count", "sum(fare)"}));
  EXPECT_EQ(names_of(q.group_by(zone).aggregate([](auto g) { return g.arg_max(fare).miles; }, [](auto g) { return g.last().fare; })),
            (names{"key", "arg_max(fare).miles", "last.fare"}));
  EXPECT_EQ(names_of(q.select(fare).aggregate([](auto g) { return std::tuple(g.count(), g.sum()); })), (names{"count", "sum"}));
}

TEST(column_names, of_pairs_and_projections) {
  const auto q = query::from(trips);
  const auto z = query::from(zones);
  EXPECT_EQ(names_of(q.join(z, zone, id)), (names{"left", "right"}));
  EXPECT_EQ(names_of(q.left_join(z, zone, id).where([](auto r) { return r.first.fare > 3; })), (names{"left", "right"}));
  EXPECT_EQ(names_of(q.zip(z)), (names{"left", "right"}));
  EXPECT_EQ(names_of(q.cross_join(z)), (names{"left", "right"}));
  EXPECT_EQ(names_of(q.join(z, zone, id, [](auto t, auto w) { return std::tuple(t.fare, w.name, 1); })), (names{"fare", "name", "2"}));
  EXPECT_EQ(names_of(z.join(z, id, id, [](auto a, auto b) { return std::pair(a.name, b.name); })), (names{"name", "right.name"}));
  EXPECT_EQ(names_of(q.select([](auto t) { return std::tuple(t.zone, t.fare * 2); })), (names{"zone", "fare * 2.0"}));
  EXPECT_EQ(names_of(q.count_by(zone).select([](auto r) { return std::tuple(std::get<1>(r), std::get<0>(r)); })), (names{"count", "key"}));
}

// Rows that are tuples keep the names of their parts in pairs of joins; where both sides have one, the side is said.
TEST(column_names, of_tuples_in_joins) {
  const auto counts = query::from(trips).count_by(zone);
  const auto again = query::from(trips).aggregate_by(zone, by::sum(fare));
  const auto key = [](auto r) { return std::get<0>(r); };
  EXPECT_EQ(names_of(counts.join(query::from(zones), key, id)), (names{"key", "count", "right"}));
  EXPECT_EQ(names_of(counts.join(again, key, key)), (names{"left.key", "count", "right.key", "sum(fare)"}));
  EXPECT_EQ(names_of(query::from(trips).join(query::from(zones), zone, id).zip(counts)), (names{"left", "right", "key", "count"}));
}

// Pairs of records show a column a field, by its own name unless both have it; rows without a match have nulls in all of theirs.
TEST(column_names, a_printed_table_of_pairs) {
  const auto q = query::from(trips).left_join(query::from(zones).where([](auto z) { return z.id == 1; }), zone, id).as_ordered();
  EXPECT_EQ(q.table({.ascii = true}),
            "+------+-------+-------+------+---------+\n"
            "| zone |  fare | miles |   id | name    |\n"
            "|  i32 |   f64 |   i64 | i32? | string? |\n"
            "+======+=======+=======+======+=========+\n"
            "|    1 | 12.50 |     3 |    1 | Airport |\n"
            "|    2 |  7.25 |     1 | null | null    |\n"
            "|    1 |  3.00 |     2 |    1 | Airport |\n"
            "+------+-------+-------+------+---------+\n");
  EXPECT_NE(q.describe().find("│ id "), std::string::npos) << q.describe();
  const std::string both = query::from(zones).join(query::from(zones), id, id).table();
  EXPECT_NE(both.find("│ left.id ┆ left.name ┆ right.id ┆ right.name │"), std::string::npos) << both;
}

// A composite key is a column a part, named after what the key is made of.
TEST(column_names, of_composite_keys) {
  const auto q = query::from(trips);
  const auto both = [](auto t) { return std::tuple(t.zone, t.miles > 1, 7); };
  EXPECT_EQ(names_of(q.count_by(both)), (names{"zone", "miles > 1", "key.2", "count"}));
  EXPECT_EQ(names_of(q.aggregate_by(both, by::sum(fare))), (names{"zone", "miles > 1", "key.2", "sum(fare)"}));
  EXPECT_EQ(names_of(q.count_by(both).where([](auto r) { return std::get<1>(r) > 0; }).order_by([](auto r) { return std::get<0>(r); })),
            (names{"zone", "miles > 1", "key.2", "count"}));
  EXPECT_EQ(names_of(q.count_by(both).select([](auto r) { return std::tuple(std::get<1>(r), std::get<0>(std::get<0>(r))); })),
            (names{"count", "zone"}));
  EXPECT_EQ(names_of(q.group_by(both).select([](auto g) { return std::tuple(g.count(), std::get<1>(g.key())); })),
            (names{"count", "miles > 1"}));
  EXPECT_EQ(names_of(q.count_by([](auto t) { return std::pair(t.zone, std::pair(t.fare, t.zone)); })),
            (names{"zone", "fare", "key.second.second", "count"}));
  EXPECT_EQ(names_of(q.count_by([](const Trip& t) { return std::tuple(t.zone, t.fare); })), (names{"key.0", "key.1", "count"}));
  const auto table = q.count_by([](auto t) { return std::tuple(t.zone, t.fare); }).as_ordered();
  EXPECT_EQ(table.table({.rows = 1, .ascii = true}),
            "+------+------+-------+\n"
            "| zone | fare | count |\n"
            "|  i32 |  f64 |   i64 |\n"
            "+======+======+=======+\n"
            "|    1 | 12.5 |     1 |\n"
            "+------+------+-------+\n"
            "... 2 more rows\n");
  EXPECT_NE(table.describe().find("│ fare "), std::string::npos) << table.describe();
}

// Rows with names of their own keep them; what does not trace has only numbers.
TEST(column_names, none_where_none_are_known) {
  const auto q = query::from(trips);
  EXPECT_EQ(names_of(q), names{});
  EXPECT_EQ(names_of(q.index()), names{});
  EXPECT_EQ(names_of(q.select([](const Trip& t) { return std::tuple(t.zone, t.fare); })), names{});
  EXPECT_NE(q.select([](const Trip& t) { return std::pair(t.zone, t.fare); }).table().find("│ first ┆ second │"), std::string::npos);
}

}  // namespace
