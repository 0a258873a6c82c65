// Plans over partitions as text: one golden file a case, with the plan of one partition before that of four. A thousand have that of four.
#include "planner/cluster_graph.hpp"

#include <optional>

#include "planner/plan_fixture.hpp"
#include "runtime/local_engine.hpp"

namespace planner_test {
namespace {

using query::planner::reading;

template <class Q> std::string split(const Q& q, int partitions, reading how, bool dot = false) {
  static const auto cpu = query::runtime::make_cpu_engine();
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "", options(true));
  query::planner::split_over_partitions(*graph, {partitions, 64, [](const query::ir::type& row) { return cpu->can_travel(row); },
                                                 [](const query::planner::vertex& v) { return cpu->why_rows_are_sent(v); },
                                                 [](const query::planner::vertex&) { return false; }, how});
  return dot ? query::planner::explain_dot(*graph) : query::planner::explain(*graph);
}
// From the machine graph on: what is above it is the same for both.
template <class Q> void check(const std::string& name, const Q& q, reading how = reading::whole) {
  const std::string one = split(q, 1, how), four = split(q, 4, how);
  std::string thousand = split(q, 1000, how);
  for (std::size_t at = 0; (at = thousand.find("1000 partitions", at)) != std::string::npos;) thousand.replace(at, 4, "4");
  EXPECT_EQ(thousand, four);
  const auto graph = [](const std::string& plan, const char* from) { return plan.substr(plan.find(from)); };
  expect_golden(name, without_lines(graph(one, "machine graph") + "\n" + graph(four, "cluster graph") + "\n" + split(q, 4, how, true),
                                    "cluster_graph_test.cpp"));
}

const std::vector<Total> totals_of_stocks{{1, 100, 1}, {2, 100, 1}, {3, 100, 1}};
const auto symbol = [](auto t) { return t.symbol; };
const auto totals = [](auto g) { return query::make<Total>(g.key(), g.sum([](auto t) { return t.qty; }), g.count()); };

TEST(cluster_graph, partitions_send_their_groups) {
  check("partitions_groups", query::from(trades).where([](auto t) { return t.venue == 1; }).group_by(symbol).select(totals));
}

TEST(cluster_graph, partitions_send_rows_where_states_are_lists) {
  check("partitions_lists", query::from(trades).group_by(symbol).select([](auto g) {
    return query::make<Total>(g.key(), query::cast<std::int64_t>(g.median([](auto t) { return t.price; })), g.count());
  }));
}

TEST(cluster_graph, partitions_send_a_state_of_all_rows) {
  check("partitions_aggregate", query::from(trades).aggregate([](auto g) { return g.mean([](auto t) { return t.price; }); }));
}

TEST(cluster_graph, each_partition_sorts_a_range) {
  check("partitions_sort", query::from(trades)
                               .where([](auto t) { return t.venue != 2; })
                               .order_by_descending([](auto t) { return t.price; })
                               .then_by(symbol)
                               .select([](auto t) { return t.qty; }));
}

TEST(cluster_graph, the_best_rows_of_each_partition) {
  check("partitions_top_k", query::from(trades).order_by([](auto t) { return t.price; }).take(5));
}

// Rows go to where their key's window is, and back to their place.
TEST(cluster_graph, windows_lie_by_the_hash_of_their_key) {
  check("partitions_windows",
        query::from(trades).over(symbol).order_by([](auto t) { return t.price; }).select([](const auto& t, auto w) {
          return query::make<Total>(t.symbol, t.qty, w.row_number());
        }));
}

TEST(cluster_graph, functions_of_partitions_run_where_these_are) {
  check("partitions_apply", query::from(trades)
                                .where([](auto t) { return t.venue != 2; })
                                .hash_partitioned_by(symbol, 9)
                                .apply([](std::span<const Trade> rows) { return static_cast<std::int64_t>(rows.size()); })
                                .take(5));
}

TEST(cluster_graph, rows_that_lie_right_are_not_sent_again) {
  const auto sectors = query::from(stocks).group_by(symbol).select([](auto g) {
    return query::make<Stock>(g.key(), g.max([](auto s) { return s.sector; }));
  });
  const auto both = [](auto t, auto s) { return query::make<Priced>(s.symbol, s.sector, query::cast<double>(t.n)); };
  const auto groups = query::from(trades).group_by(symbol).select(totals);
  check("partitions_kept", groups.join(sectors, symbol, symbol, both).distinct_by(symbol));
}

// Whether the stocks are few is known before they are sent, not now.
TEST(cluster_graph, a_join_may_be_revised) {
  const auto both = [](auto t, auto s) { return query::make<Priced>(t.symbol, s.sector, t.price); };
  check("partitions_revised_join",
        query::from(trades).join(query::from(stocks).where([](auto s) { return s.sector > 1; }), symbol, symbol, both));
}

// In each round the centers go to all, and groups of partitions come back: points stay where they are.
TEST(cluster_graph, kmeans_moves_its_centers) {
  const auto points = query::from(trades);
  check("partitions_kmeans",
        query::from(stocks)
            .do_while(
                [points](query::Query<Stock> now) {
                  const auto centers = query::broadcast(now);
                  const auto distance = [](auto t, auto c) { return (t.venue - c.sector) * (t.venue - c.sector); };
                  return points.group_by([centers, distance](auto t) { return centers.arg_min(t, distance); }).select([](auto g) {
                    return query::make<Stock>(query::cast<std::int32_t>(g.key()), g.max([](auto t) { return t.venue; }));
                  });
                },
                query::times(10)));
}

// In each round the ranks go to the links, which have been put apart once, before the loop.
TEST(cluster_graph, pagerank_moves_its_ranks) {
  const auto links = query::from(trades);
  const auto page = [](auto r) { return r.symbol; };
  check("partitions_pagerank",
        query::from(totals_of_stocks)
            .do_while(
                [links, page](query::Query<Total> ranks) {
                  return links
                      .join(ranks, symbol, page,
                            [](auto t, auto r) { return query::make<Total>(t.venue, r.qty / 4, r.n); })
                      .group_by(page)
                      .select([](auto g) {
                        return query::make<Total>(g.key(), g.sum([](auto r) { return r.qty; }), g.count());
                      });
                },
                query::times(10)));
}

}  // namespace
}  // namespace planner_test
