// Joins with several readers are vertices of their own, and those of chains are as many as the joins.
#include <algorithm>

#include "planner/plan_fixture.hpp"

namespace planner_test {
namespace {

const auto symbol = [](auto r) { return r.symbol; };
const auto left = [](auto l, auto) { return l; };

std::vector<Stock> sorted(std::vector<Stock> rows) {
  std::sort(rows.begin(), rows.end());
  return rows;
}

query::Query<Stock> joined_with_itself(int times) {
  query::Query<Stock> q = query::from(stocks).take(3);
  for (int i = 0; i < times; ++i) q = q.join(q, symbol, symbol, left);
  return q;
}

TEST(shared_joins, a_join_with_readers_of_several_kinds_is_a_vertex) {
  const auto priced = query::from(trades).join(query::from(stocks), symbol, symbol,
                                               [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price); });
  const auto dear = priced.where([](auto p) { return p.value > 255.0; });
  const auto q = dear.semi_join(priced.where([](auto p) { return p.sector == 2; }), symbol, symbol).concat(priced);
  const std::string plan = plan_of(q, "");
  EXPECT_NE(plan.find("common_subplans: computed once for 3 readers"), std::string::npos) << plan;
  EXPECT_EQ(plan.find(" join: probes"), plan.rfind(" join: probes")) << plan;
  EXPECT_NE(plan.find(" join: probes"), std::string::npos) << plan;
}

TEST(shared_joins, a_join_with_one_reader_stays_in_the_readers_pipeline) {
  const auto q = query::from(stocks).semi_join(query::from(trades), symbol, symbol).distinct().concat(query::from(stocks));
  EXPECT_EQ(plan_of(q, "").find("collect"), std::string::npos) << plan_of(q, "");
}

TEST(shared_joins, one_reader_that_wants_an_order_gives_it_to_all) {
  const auto rows = query::from(stocks).join(query::from(stocks), symbol, symbol, left);
  std::vector<Stock> wanted = stocks, ordered = rows.concat(rows.take(7)).as_ordered().to_vector();
  wanted.insert(wanted.end(), stocks.begin(), stocks.begin() + 7);
  EXPECT_EQ(ordered, wanted);
}

// Each join would probe the tables of all joins below: plans would grow with the square of their number.
TEST(shared_joins, plans_of_queries_joined_with_themselves_grow_linearly) {
  const std::size_t of_500 = plan_of(joined_with_itself(500), "").size(), of_2000 = plan_of(joined_with_itself(2000), "").size();
  EXPECT_LT(of_2000, of_500 * 5);
  EXPECT_EQ(sorted(joined_with_itself(2000).to_vector()), std::vector<Stock>(stocks.begin(), stocks.begin() + 3));
}

// What only one join reads stays in its pipeline, however many readers that join has.
TEST(shared_joins, joins_below_a_shared_one_are_no_tables) {
  const auto few = query::from(stocks).take(9);
  const auto stars = query::from(trades).semi_join(query::from(stocks), symbol, symbol).semi_join(few, symbol, symbol);
  const std::string plan = plan_of(stars.concat(stars), "");
  std::size_t kept = 0;
  for (std::size_t at = 0; (at = plan.find("collect", at)) != std::string::npos; ++at) ++kept;
  EXPECT_EQ(kept, 1u) << plan;
}

TEST(shared_joins, an_endless_stream_ends_for_each_reader) {
  const auto numbers = query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); });
  const std::vector<std::int64_t> few{1, 2, 3, 5, 8};
  const auto itself = [](auto i) { return i; };
  const auto q = numbers.join(query::from(few), itself, itself, [](auto i, auto) { return i; });
  EXPECT_EQ(q.take(2).concat(q.skip(2).take(2)).to_vector(), (std::vector<std::int64_t>{1, 2, 3, 5}));
}

// Row-wise verbs between the joins run for each reader, but the joins do not.
TEST(shared_joins, chains_of_joins_of_other_kinds_grow_linearly) {
  const auto grown = [](int times) {
    query::Query<Stock> q = query::from(stocks).take(3);
    for (int i = 0; i < times; ++i) {
      const auto some = q.where([](auto s) { return s.symbol >= 0; });
      if (i % 3 == 0) q = some.semi_join(some, symbol, symbol);
      else if (i % 3 == 1) q = some.left_join(q, symbol, symbol, left);
      else q = q.anti_join(some.where([](auto s) { return s.sector < 0; }), symbol, symbol);
    }
    return q;
  };
  EXPECT_LT(plan_of(grown(600), "").size(), plan_of(grown(150), "").size() * 5);
  EXPECT_EQ(sorted(grown(600).to_vector()), std::vector<Stock>(stocks.begin(), stocks.begin() + 3));
}

// What depends on a loop's rows belongs to its rounds.
TEST(shared_joins, in_a_loop_they_are_made_in_each_round) {
  const auto rounds = query::from(stocks).do_while(
      [](query::Query<Stock> rows) {
        const auto pairs = rows.join(rows, symbol, symbol, [](auto a, auto b) { return query::make<Stock>(a.symbol, b.sector + 1); });
        const auto fixed = query::from(trades).join(query::from(stocks), symbol, symbol, [](auto, auto s) { return s; });
        return pairs.semi_join(fixed, symbol, symbol).concat(pairs.anti_join(fixed, symbol, symbol)).semi_join(pairs, symbol, symbol);
      },
      query::times(4));
  std::vector<Stock> wanted = stocks;
  for (Stock& s : wanted) s.sector += 4;
  EXPECT_EQ(sorted(rounds.to_vector()), wanted);
}

}  // namespace
}  // namespace planner_test
