// Which vertices may hand their rows on where memory has no room for their tables.
#include <algorithm>
#include <ostream>
#include <span>
#include <unordered_map>

#include "planner/plan_fixture.hpp"

namespace planner_test {
namespace {

using query::planner::reading;
using query::planner::vertex;

struct marked {
  int streamed = 0, may_stream = 0;
  int longest = 0;  // streams that call each other
  bool operator==(const marked& o) const { return streamed == o.streamed && may_stream == o.may_stream; }
};
std::ostream& operator<<(std::ostream& to, const marked& m) { return to << m.streamed << " streamed, " << m.may_stream << " may stream"; }

template <class Q> marked marked_in(const Q& q, reading how, const char* result_engine = "cpu") {
  const auto graph = query::planner::make_machine_graph(q.to_pipe(), "rows", options(true));
  graph->result_engine = result_engine;
  query::planner::mark_streams(*graph, how);
  marked m;
  std::unordered_map<const vertex*, int> up_to;
  for (const auto& v : graph->vertices) {
    EXPECT_FALSE(v->streamed && v->may_stream);
    m.streamed += v->streamed;
    m.may_stream += v->may_stream;
    if (!v->streamed && !v->may_stream) continue;
    int below = 0;
    for (const auto& b : v->inputs) below = std::max(below, b.table ? up_to[b.table] : 0);
    m.longest = std::max(m.longest, up_to[v.get()] = below + 1);
  }
  return m;
}
template <class Q> marked in_order(const Q& q) { return marked_in(q, reading::in_order); }

std::int64_t total(std::span<const Trade> run) { return run.front().qty + run.back().qty; }
auto windows() { return query::from(trades).window(2, total); }

TEST(streams, with_one_reader_may_be_handed_on) {
  EXPECT_EQ(in_order(windows()), (marked{0, 1}));
  EXPECT_EQ(marked_in(windows(), reading::folded), (marked{0, 1}));
  EXPECT_EQ(marked_in(windows(), reading::columns), (marked{0, 1}));
  EXPECT_EQ(marked_in(windows(), reading::whole), (marked{0, 0}));
  EXPECT_EQ(marked_in(windows(), reading::on_demand), (marked{1, 0}));
  EXPECT_EQ(in_order(windows().chunk(3).concat(windows().chunk(2))), (marked{0, 5}));
  EXPECT_EQ(in_order(windows().order()), (marked{0, 1}));
  EXPECT_EQ(in_order(windows().distinct()), (marked{0, 1}));
}

// Where another engine folds the rows, it reads a table; where there is no room for one, the CPU takes over.
TEST(streams, are_tables_for_folds_of_other_engines) {
  const auto pairs = query::from(trades).cross_join(query::from(trades), [](auto l, auto r) { return l.qty * r.qty; });
  const auto changed = pairs.select([](auto x) { return x + 1; });
  EXPECT_EQ(marked_in(changed, reading::folded), (marked{1, 0}));
  EXPECT_EQ(marked_in(changed, reading::folded, "gpu"), (marked{0, 1}));
  EXPECT_EQ(marked_in(query::from(trades).window(2), reading::folded, "gpu"), (marked{0, 1}));
}

// They hold many times the rows: no reader that sees each of them once needs a table. The lists of a chunk share no rows.
TEST(streams, lists_of_windows_are_handed_on) {
  const auto lists = query::from(trades).window(2);
  EXPECT_EQ(in_order(lists), (marked{1, 0}));
  EXPECT_EQ(marked_in(lists, reading::folded), (marked{1, 0}));
  EXPECT_EQ(in_order(lists.take(3)), (marked{1, 1}));
  EXPECT_EQ(in_order(lists.reverse()), (marked{0, 0}));
  EXPECT_EQ(in_order(query::from(trades).chunk(2)), (marked{0, 1}));
}

TEST(streams, for_readers_of_tables_are_tables) {
  const auto w = windows();
  EXPECT_EQ(in_order(w.select([](auto x) { return x + 1; }).concat(w)), (marked{0, 1}));  // two readers
  EXPECT_EQ(in_order(windows().reverse()), (marked{0, 0}));
  EXPECT_EQ(in_order(windows().where([](auto x) { return x > 400; }).reverse()), (marked{0, 1}));
  EXPECT_EQ(in_order(windows().cached()), (marked{0, 0}));
  EXPECT_EQ(in_order(query::from(trades).cross_join(windows(), [](auto t, auto w) { return t.qty + w; }).order()), (marked{0, 1}));
  const auto partitions = query::from(trades).hash_partitioned_by([](auto t) { return t.symbol; });
  const auto sizes = [](std::span<const Trade> p) { return std::vector<std::int64_t>{std::ssize(p)}; };
  EXPECT_EQ(in_order(partitions.default_if_empty(Trade{}).where([](auto t) { return t.qty > 5; }).apply(sizes)), (marked{0, 0}));
  const auto first = [](std::span<const std::int64_t> run) { return run.front(); };
  EXPECT_EQ(in_order(windows().do_while([&](auto rows) { return rows.window(2, first).window(2, first); }, query::times(3))),
            (marked{0, 0}));
}

TEST(streams, call_each_other_to_some_depth) {
  query::Query<std::int64_t> q = windows();
  for (int i = 0; i < 100; ++i) q = q.window(2, [](std::span<const std::int64_t> x) { return x[0] ^ x[1]; });
  const marked all = in_order(q);
  EXPECT_EQ(all, (marked{0, 98}));
  EXPECT_EQ(all.longest, 32);
  const marked below_streams = in_order(q.chunk(2).take(100));
  EXPECT_EQ(below_streams.streamed, 1);
  EXPECT_EQ(below_streams.longest, 32);
}

}  // namespace
}  // namespace planner_test
