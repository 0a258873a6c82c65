// Ports that put edges together: routing by predicates, merging by priority, initial values.
#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>
#include <utility>
#include <vector>

#include "runtime/dataflow/traffic.hpp"

namespace query::dataflow {
namespace {

TEST(dataflow_ports, rows_go_where_their_predicates_hold) {
  graph g({.rows_of_block = 16});
  const auto even = g.edge_of<int>("even"), third = g.edge_of<int>("third"), rest = g.edge_of<int>("rest"), all = g.edge_of<int>("all");
  std::vector<int> got[4];
  g.vertex("write", [](output<int>& out) {
    for (int i = 0; i < 100; ++i) out.row(i);
  }, writes(when([](int x) { return x % 2 == 0; }, even), when([](const int& x) { return x % 3 == 0; }, third), otherwise(rest), all));
  const auto collect = [&](std::size_t k) {
    return [&got, k](input<int>& in) {
      while (const auto x = in.row()) got[k].push_back(*x);
    };
  };
  g.vertex("even", collect(0), reads(even)).vertex("third", collect(1), reads(third));
  g.vertex("rest", collect(2), reads(rest)).vertex("all", collect(3), reads(all));
  g.run();
  std::vector<int> expected[4];
  for (int i = 0; i < 100; ++i) {
    if (i % 2 == 0) expected[0].push_back(i);
    if (i % 3 == 0) expected[1].push_back(i);
    if (i % 2 && i % 3) expected[2].push_back(i);
    expected[3].push_back(i);
  }
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(got[k], expected[k]) << k;
}

TEST(dataflow_ports, nothing_is_sent_of_a_push_whose_predicate_throws) {
  graph g;
  const auto all = g.edge_of<int>("all"), even = g.edge_of<int>("even");
  std::vector<int> got[2];
  bool throws = true;
  g.vertex("write", [](output<int>& out) {
    for (int i = 0; i < 4; ++i) {
      try {
        out.push(std::vector{i});
      } catch (const std::runtime_error&) {
        out.push(std::vector{i});
      }
    }
  }, writes(all, when([&](int x) {
    if (x == 2 && std::exchange(throws, false)) throw std::runtime_error("a predicate");
    return x % 2 == 0;
  }, even)));
  g.vertex("all", [&](input<int>& in) {
    while (const auto x = in.row()) got[0].push_back(*x);
  }, reads(all));
  g.vertex("even", [&](input<int>& in) {
    while (const auto x = in.row()) got[1].push_back(*x);
  }, reads(even));
  g.run();
  EXPECT_EQ(got[0], (std::vector{0, 1, 2, 3}));
  EXPECT_EQ(got[1], (std::vector{0, 2}));
}

TEST(dataflow_ports, blocks_go_whole_where_their_predicate_holds_and_signals_go_everywhere) {
  graph g;
  const auto long_ones = g.edge_of<int>("long"), short_ones = g.edge_of<int>("short");
  std::vector<std::string> of_long, of_short;
  const int* sent = nullptr;
  const int* got = nullptr;
  g.vertex("write", [&](output<int>& out) {
    std::vector<int> three{1, 2, 3};
    sent = three.data();
    out.push(std::move(three));
    out.push(std::vector{4});
  }, writes(when_block([](const block<int>& b) { return b.size() > 1; }, long_ones), otherwise(short_ones)));
  g.vertex("long", [&](input<int>& in) {
    while (const auto b = in.receive()) {
      of_long.push_back(text_of(b));
      if (b.has_rows()) got = b.rows.data();
    }
  }, reads(long_ones));
  g.vertex("short", listed<int>(of_short), reads(short_ones));
  g.run();
  EXPECT_EQ(of_long, (texts{"begin_stream 1", "rows 1 2 3", "end_stream 1"}));
  EXPECT_EQ(of_short, (texts{"begin_stream 1", "rows 4", "end_stream 1"}));
  EXPECT_EQ(sent, got);
}

TEST(dataflow_ports, a_graph_is_drawn) {
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("say \"b\"", 9);
  const auto back = g.back_edge_of<int>("back");
  g.vertex("write", [](output<int>&) {}, writes(when([](int x) { return x > 1; }, a), otherwise(b)));
  g.vertex("loop", [](input<int>&, output<int>&) {}, iterates(initially({1, 2}, merges(reads(a), reads(b))), back, 10), writes(back));
  EXPECT_EQ(g.explain_dot(), R"(digraph dataflow {
  rankdir=LR; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];
  v0 [label="write"];
  v1 [label="loop\niterates initially 2 rows, merges"];
  v0 -> v1 [label="a (4)\nwhen"];
  v0 -> v1 [label="say \"b\" (9)\notherwise"];
  v1 -> v1 [label="back", style=dashed, constraint=false];
}
)");
}

TEST(dataflow_ports, a_merge_takes_the_urgent_edge_first) {
  graph g;
  const auto urgent = g.edge_of<int>("urgent", 10), usual = g.edge_of<int>("usual", 10), start = g.edge_of<int>("start");
  std::vector<int> order;
  // Both edges are full before the merge is read: one vertex fills them and says when.
  g.vertex("write", [](output<int>& low, output<int>& high, output<int>& go) {
    for (int i = 0; i < 4; ++i) low.push(std::vector{i});
    for (int i = 0; i < 4; ++i) high.push(std::vector{100 + i});
    go.row(0);
  }, writes(usual), writes(urgent), writes(start));
  g.vertex("read", [&](input<int>& go, input<int>& in) {
    EXPECT_TRUE(go.row());
    while (const auto x = in.row()) order.push_back(*x);
  }, reads(start), merges(reads(urgent), reads(usual)));
  g.run();
  EXPECT_EQ(order, (std::vector{100, 101, 102, 103, 0, 1, 2, 3}));
}

TEST(dataflow_ports, a_merge_keeps_streams_apart) {
  graph g;
  const auto a = g.edge_of<int>("a", 1), b = g.edge_of<int>("b", 1);
  std::vector<std::vector<int>> streams;
  const auto write = [](int from, int rows) {
    return [=](output<int>& out) {
      for (int s = 0; s < 3; ++s) {
        out.tell(signal::begin_stream);
        for (int i = 0; i < rows; ++i) out.push(std::vector{from + s});
        out.tell(signal::end_stream);
      }
    };
  };
  g.vertex("a", write(0, 1), writes(a)).vertex("b", write(10, 40), writes(b));
  g.vertex("read", [&](input<int>& in) {
    while (in.next_stream()) {
      auto& s = streams.emplace_back();
      while (const auto x = in.row()) s.push_back(*x);
      std::sort(s.begin(), s.end());
    }
  }, merges(reads(a), reads(b)));
  g.run();
  ASSERT_EQ(streams.size(), 3u);
  for (int s = 0; s < 3; ++s) {
    std::vector<int> expected{s};
    expected.insert(expected.end(), 40, 10 + s);
    EXPECT_EQ(streams[static_cast<std::size_t>(s)], expected);
  }
}

TEST(dataflow_ports, a_merge_of_different_streams_says_so) {
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("b");
  g.vertex("a", [](output<int>& out) {
    out.tell(signal::begin_stream);
    out.tell(signal::begin_iteration);
    out.row(1);
  }, writes(a));
  g.vertex("b", [](output<int>& out) { out.row(1); }, writes(b));
  g.vertex("read", [](input<int>& in) { while (in.receive()) {} }, merges(reads(a), reads(b)));
  try {
    g.run();
    FAIL() << "no error";
  } catch (const user_error& e) {
    EXPECT_EQ(std::string(e.what()), "dataflow: merges: edges have different streams: begin_iteration of 'a', end_stream of 'b'");
  }
}

TEST(dataflow_ports, initial_rows_come_first_in_each_stream) {
  graph g;
  const auto rows = g.edge_of<int>("rows");
  std::vector<std::string> seen;
  g.vertex("write", [](output<int>& out) {
    for (int s = 0; s < 2; ++s) {
      out.tell(signal::begin_stream);
      out.row(s);
      out.tell(signal::end_stream);
    }
    out.tell(signal::begin_stream);
    out.tell(signal::end_stream);
  }, writes(rows));
  g.vertex("read", listed<int>(seen), initially({70, 71}, reads(rows)));
  for (int run = 0; run < 2; ++run) {
    seen.clear();
    g.run();
    EXPECT_EQ(seen, (texts{"begin_stream 1", "rows 70 71", "rows 0", "end_stream 1", "begin_stream 1", "rows 70 71", "rows 1",
                           "end_stream 1", "begin_stream 1", "rows 70 71", "end_stream 1"}));
  }
}

TEST(dataflow_ports, initial_rows_are_armed_anew_although_a_reader_changes_them) {
  graph g;
  const auto rows = g.edge_of<int>("rows");
  std::vector<int> sums;
  g.vertex("write", [](output<int>& out) {
    for (int s = 0; s < 2; ++s) {
      out.tell(signal::begin_stream);
      out.row(5);
      out.tell(signal::end_stream);
    }
  }, writes(rows));
  g.vertex("sum", [&](input<int>& in) {
    block<int> sum, more;
    while (in.next_stream()) {
      ASSERT_TRUE(in.next(sum));  // the initial value
      while (in.next(more)) sum.writable()[0] += more[0];
      sums.push_back(sum[0]);
    }
  }, initially({100}, reads(rows)));
  g.run();
  EXPECT_EQ(sums, (std::vector{105, 105}));
}

}  // namespace
}  // namespace query::dataflow
