// Plans over partitions as text: one golden file a case, with the plan of one partition before that of four.
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
  const auto graph = [](const std::string& plan, const char* from) { return plan.substr(plan.find(from)); };
  expect_golden(name, without_lines(graph(one, "machine graph") + "\n" + graph(four, "cluster graph") + "\n" + split(q, 4, how, true),
                                    "cluster_graph_test.cpp"));
}

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

TEST(cluster_graph, rows_that_lie_right_are_not_sent_again) {
  const auto sectors = query::from(stocks).group_by(symbol).select([](auto g) {
    return query::make<Stock>(g.key(), g.max([](auto s) { return s.sector; }));
  });
  const auto both = [](auto t, auto s) { return query::make<Priced>(s.symbol, s.sector, query::cast<double>(t.n)); };
  const auto groups = query::from(trades).group_by(symbol).select(totals);
  check("partitions_kept", groups.join(sectors, symbol, symbol, both).distinct_by(symbol));
}

}  // namespace
}  // namespace planner_test
