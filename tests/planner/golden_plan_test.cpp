// Plans as text: one golden file a rule, in golden/.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/utf8.hpp"
#include "planner/plan_fixture.hpp"

namespace planner_test {
namespace {

// The text of a plan, compared with golden/NAME.txt; and the same rows with and without the rules, in any order.
template <class Q> void check(const std::string& name, const Q& q, const std::string& terminal = "") {
  expect_golden(name, without_lines(plan_of(q, terminal), "golden_plan_test.cpp"));
  auto with = rows_of(q, true), without = rows_of(q, false);
  std::sort(with.begin(), with.end());
  std::sort(without.begin(), without.end());
  EXPECT_FALSE(with.empty());
  EXPECT_EQ(with, without);
}

TEST(golden_plan, row_wise_verbs_and_opaque_functions) {
  check("row_wise", query::from(trades)
                        .as_accelerated()
                        .where([](auto t) { return t.qty > 100; })
                        .named("large")
                        .select([](const Trade& t) { return t.price * static_cast<double>(t.qty); })
                        .where([](auto v) { return v > 10.0; }));
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = query::ir::code_point_bytes(text);
    if (n == 0) return false;
    text.remove_prefix(n);
  }
  return true;
}

struct Report {
  std::int32_t symbol = 0, venue = 0;
  double price = 0, value = 0, fee = 0, net = 0;
  std::int64_t qty = 0, lots = 0;
  std::string size, place;
  auto operator<=>(const Report&) const = default;
};
QUERY_RECORD(Report, symbol, venue, price, value, fee, net, qty, lots, size, place);

// Long expressions go on in lines below, indented, and are nowhere cut: after a comma, else at a blank, else anywhere between characters.
TEST(golden_plan, long_expressions_take_several_lines) {
  const auto value = [](auto t) { return t.price * query::cast<double>(t.qty); };
  check("long_projection",
        query::from(trades)
            .where([](auto t) {
              return (t.qty > 100 || t.price > 20.0) && (t.venue == 1 || t.venue == 2 || t.symbol == 7) && t.qty % 10 != 3 && t.symbol < 45;
            })
            .select([=](auto t) {
              return query::make<Report>(t.symbol, t.venue, t.price, value(t), value(t) * 0.001 + 1.5, value(t) - (value(t) * 0.001 + 1.5),
                                         t.qty, t.qty / 100, query::iff(t.qty > 150, std::string("large"), std::string("small")),
                                         query::iff(t.venue == 1, std::string("London, in the morning"), std::string("elsewhere")));
            })
            .order_by([](auto r) { return r.net * 0.5 + r.fee * 0.25 + query::cast<double>(r.qty + r.lots) * 0.125 + r.price + r.value; })
            .group_by([](auto r) { return std::pair(r.symbol, r.venue); })
            .select([](auto g) {
              return std::tuple(g.key(), g.sum([](auto r) { return r.value; }), g.min([](auto r) { return r.price; }),
                                g.max([](auto r) { return r.price; }), g.mean([](auto r) { return r.net - r.fee; }), g.count());
            }));
}

// A word without blanks may be cut where a line ends, and a text where too much of it would be shown: each line stays valid UTF-8.
TEST(golden_plan, long_words_are_cut_between_characters) {
  std::string word;
  while (word.size() < 60) word += "\u00e4\u20ac";
  std::vector<Report> reports(20);
  for (std::size_t i = 0; i < reports.size(); ++i) reports[i].place = i % 2 ? word : "x" + word;
  for (const std::string before : {"", "x", "xx", "xxx", "xxxx"}) {
    const auto q = query::from(reports).where([=](auto r) {
      return r.qty != 1'000'000'000 && r.place != before + word + word && r.size != before + word;
    });
    EXPECT_TRUE(is_utf8(plan_of(q, ""))) << plan_of(q, "");
  }
  check("long_words", query::from(reports)
                          .where([=](auto r) { return r.qty != 1'000'000'000 && r.place != "x" + word + word && r.size != "small"; })
                          .where([=](auto r) { return r.place != word; }));
}

TEST(golden_plan, top_k) {
  check("top_k", query::from(trades)
                     .order_by_descending([](auto t) { return t.price; })
                     .then_by([](auto t) { return t.qty; })
                     .select([](auto t) { return t.qty; })
                     .skip(5)
                     .take(10));
}

TEST(golden_plan, top_k_above_a_test_that_went_down) {
  check("top_k_filtered", query::from(trades).order_by([](auto t) { return t.qty; }).where([](auto t) { return t.venue == 2; }).take(10));
}

TEST(golden_plan, limit_pushdown) {
  check("limit_pushdown", query::from(trades)
                              .concat(query::from(more_trades).skip(3))
                              .select([](auto t) { return t.price + 1.0; })
                              .skip(2)
                              .take(100));
}

TEST(golden_plan, predicate_below_sort_and_concatenation) {
  check("predicate_order_by", query::from(trades)
                                  .where([](auto t) { return t.qty > 3; })
                                  .concat(query::from(more_trades))
                                  .order_by([](auto t) { return t.price; })
                                  .where([](auto t) { return t.price > 100.0; }));
}

TEST(golden_plan, predicate_below_distinct_by_its_key_only) {
  const auto by_venue = query::from(trades).distinct_by([](auto t) { return std::pair(t.symbol, t.venue); });
  check("predicate_distinct", by_venue.where([](auto t) { return t.venue == 1; }));
  check("predicate_distinct_not", by_venue.where([](auto t) { return t.price > 100.0; }));
}

// The user's equality may call rows equal that a predicate tells apart, even by their key.
TEST(golden_plan, predicate_stays_above_the_users_equality) {
  const auto near = [](std::int32_t a, std::int32_t b) { return a / 2 == b / 2; };
  const auto half = [](std::int32_t a) { return static_cast<std::size_t>(a / 2); };
  check("own_equality", query::from(trades)
                            .distinct_by([](auto t) { return t.venue; }, near, half)
                            .join(query::from(stocks), [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                                  [](auto t, auto s) { return query::make<Priced>(t.venue, s.sector, t.price); }, near, half)
                            .where([](auto p) { return p.symbol < 3; }));
}

TEST(golden_plan, top_k_in_the_users_order) {
  check("own_order", query::from(trades)
                         .order_by([](auto t) { return t.venue; })
                         .then_by_descending([](auto t) { return t.qty; }, [](std::int64_t a, std::int64_t b) { return a % 100 < b % 100; })
                         .take(10));
}

TEST(golden_plan, predicate_goes_to_both_sides_of_a_join) {
  check("predicate_join",
        query::from(trades)
            .join(query::from(stocks), [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                  [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price * query::cast<double>(t.qty)); })
            .where([](auto p) { return p.value > 5000.0 && p.sector < 4; }));
}

TEST(golden_plan, predicate_goes_to_the_left_of_a_left_join_only) {
  check("predicate_left_join",
        query::from(trades)
            .left_join(query::from(stocks), [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                       [](auto t, auto s) {
                         if (!s) return query::make<Priced>(t.symbol, -1, t.price);
                         return query::make<Priced>(t.symbol, s->sector, t.price);
                       })
            .where([](auto p) { return p.value > 200.0 && p.sector < 3; }));
}

TEST(golden_plan, predicate_stays_above_what_it_would_change) {
  check("predicate_take", query::from(trades).order_by([](auto t) { return t.qty; }).take(50).where([](auto t) { return t.venue == 1; }));
}

TEST(golden_plan, columns_that_nobody_reads) {
  std::vector<std::int32_t> symbol, venue;
  std::vector<double> price;
  std::vector<std::int64_t> qty;
  for (const Trade& t : trades) symbol.push_back(t.symbol), price.push_back(t.price), qty.push_back(t.qty), venue.push_back(t.venue);
  const auto columns = query::from(query::columns<Trade>(symbol, price, qty, venue));
  check("projection_pruning", columns.group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return query::make<Priced>(g.key(), 0, g.max([](auto t) { return t.price; }));
  }));
}

TEST(golden_plan, order_that_nobody_sees) {
  check("remove_order", query::from(trades)
                            .order_by([](auto t) { return t.price; })
                            .where([](auto t) { return t.venue != 3; })
                            .group_by([](auto t) { return t.symbol; })
                            .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.qty; }), g.count()); }));
  check("remove_order_not",
        query::from(trades).order_by([](auto t) { return t.price; }).group_by([](auto t) { return t.symbol; }).select([](auto g) {
          return query::make<Total>(g.key(), g.first([](auto t) { return t.qty; }), 1);
        }));
  check("remove_order_partition",
        query::from(trades)
            .hash_partitioned_by([](auto t) { return t.symbol; }, 8)
            .where([](auto t) { return t.venue != 3; })
            .group_by([](auto t) { return t.symbol; })
            .select([](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.qty; }), g.count()); }));
  check("remove_order_count",
        query::from(trades).order_by([](auto t) { return t.price; }).reverse().where([](auto t) { return t.venue != 3; }), "count");
}

TEST(golden_plan, distinct_of_distinct_rows) {
  check("merge_distinct",
        query::from(trades)
            .group_by([](auto t) { return t.symbol; })
            .select([](auto g) { return query::make<Total>(g.key(), 0, g.count()); })
            .distinct()
            .where([](auto g) { return g.n > 90; })
            .distinct());
}

TEST(golden_plan, partitions_that_are_there_already) {
  const auto sizes = [](std::span<const Total> rows) {
    return std::vector<std::int64_t>{std::ssize(rows), rows.empty() ? 0 : rows[0].qty};
  };
  check("remove_partition", query::from(trades)
                                .partitioned(3)
                                .hash_partitioned_by([](auto t) { return t.symbol; }, 8)
                                .where([](auto t) { return t.qty > 100; })
                                .select([](auto t) { return query::make<Total>(t.symbol, t.qty, 1); })
                                .hash_partitioned_by([](auto t) { return t.symbol; }, 8)
                                .apply(sizes));
}

TEST(golden_plan, groups_that_are_materialised) {
  check("fuse_aggregate",
        query::from(trades).group_by([](auto t) { return t.venue; }).select([](const query::Group<std::int32_t, Trade>& g) {
          return std::pair<std::int32_t, std::int64_t>(g.key(), g[0].qty);
        }));
}

TEST(golden_plan, what_several_queries_share_runs_once) {
  const auto totals = query::from(trades).as_accelerated().group_by([](auto t) { return t.symbol; }).select([](auto g) {
    return query::make<Total>(g.key(), 0, g.count());
  });
  check("common_subplans", totals.where([](auto g) { return g.n > 90; }).concat(totals.take(3)));
}

TEST(golden_plan, loops_keep_what_does_not_change) {
  const auto small = query::from(stocks).distinct();
  check("hoist_invariants", query::from(stocks).do_while(
                                [&](query::Query<Stock> rows) {
                                  return rows
                                      .semi_join(small.where([](auto s) { return s.sector < 5; }), [](auto s) { return s.symbol; },
                                                 [](auto s) { return s.symbol; })
                                      .select([](auto s) { return query::make<Stock>(s.symbol, s.sector + 1); });
                                },
                                [](query::Query<Stock>, query::Query<Stock> next) {
                                  return query::value_of(next.select([](auto s) { return s.sector; })).max() < 9;
                                },
                                20));
}

TEST(golden_plan, loops_keep_row_wise_work_before_their_rows_are_seen) {
  check("keep_invariants", query::from(stocks).do_while(
                               [&](query::Query<Stock> rows) {
                                 const auto sectors = query::broadcast(rows);
                                 return query::from(trades)
                                     .where([](auto t) { return t.qty > 100; })
                                     .select([](auto t) { return query::make<Stock>(t.symbol, t.venue); })
                                     .where(
                                         [sectors](auto s) { return sectors.any(s, [](auto a, auto b) { return a.symbol == b.symbol; }); })
                                     .distinct();
                               },
                               query::times(3)));
}

TEST(golden_plan, names_the_line_of_a_verb) {
  const int line = __LINE__ + 1;
  const std::string plan = plan_of(query::from(trades).distinct(), "");
  EXPECT_NE(plan.find("@golden_plan_test.cpp:" + std::to_string(line) + "\n"), std::string::npos) << plan;
}

TEST(golden_plan, dot) {
  const auto q = query::from(trades)
                     .join(query::from(stocks), [](auto t) { return t.symbol; }, [](auto s) { return s.symbol; },
                           [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price); })
                     .order_by([](auto p) { return p.value; })
                     .take(5);
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", options(true));
  expect_golden("dot", query::planner::explain_dot(*graph));
}

TEST(golden_plan, explain_of_a_query_is_that_text) {
  const auto q = query::from(trades).where([](auto t) { return t.qty > 100; }).order_by([](auto t) { return t.qty; });
  EXPECT_EQ(q.explain(), plan_of(q, ""));
  EXPECT_EQ(q.explain("count"), plan_of(q, "count"));
  EXPECT_TRUE(q.explain("count").starts_with("query, for count\n"));
  EXPECT_NE(q.explain_dot("count").find("result [label=\"count\""), std::string::npos);
}

}  // namespace
}  // namespace planner_test
