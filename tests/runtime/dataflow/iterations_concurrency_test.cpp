// Loops in own dataflows: iterator ports, back edges, tables that go round, loops in loops.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "runtime/dataflow/traffic.hpp"

namespace query::dataflow {
namespace {

// Halves numbers until they are 1; signals go on.
void halve(input<int>& in, output<int>& back, output<int>& out) {
  while (auto got = in.receive()) {
    if (got.has_rows()) {
      for (const int x : got.rows) {
        if (x > 1) back.row(x / 2);
        else out.row(x);
      }
      continue;
    }
    back.tell(got.what());
    out.tell(got.what());
  }
}

TEST(dataflow_iterations, an_iterator_marks_rounds_until_nothing_comes_back) {
  graph g;
  const auto rows = g.edge_of<int>("rows"), round = g.edge_of<int>("round"), out = g.edge_of<int>("out");
  const auto back = g.back_edge_of<int>("back");
  std::vector<std::string> seen, ended;
  g.vertex("write", [](output<int>& o) { o.push(std::vector{4, 1, 2}); }, writes(rows));
  g.each("watch", [](block<int> b, output<int>& o) { o.push(std::move(b)); }, iterates(reads(rows), back, 100), writes(round));
  g.vertex("halve", [&](input<int>& in, output<int>& again, output<int>& o) {
    while (auto got = in.receive()) {
      seen.push_back(text_of(got));
      if (!got.has_rows()) {
        again.tell(got.what());
        o.tell(got.what());
        continue;
      }
      for (const int x : got.rows) x > 1 ? again.row(x / 2) : o.row(x);
    }
  }, reads(round), writes(back), writes(out));
  g.vertex("read", listed<int>(ended), reads(out));
  g.run();
  EXPECT_EQ(seen, (texts{"begin_stream 1", "begin_iteration 2", "rows 4 1 2", "end_iteration 2", "begin_iteration 2", "rows 2 1",
                         "end_iteration 2", "begin_iteration 2", "rows 1", "end_iteration 2", "end_stream 1"}));
  EXPECT_EQ(ended, (texts{"begin_stream 1", "begin_iteration 2", "rows 1", "end_iteration 2", "begin_iteration 2", "rows 1",
                          "end_iteration 2", "begin_iteration 2", "rows 1", "end_iteration 2", "end_stream 1"}));
}

TEST(dataflow_iterations, each_stream_is_iterated_anew_and_an_empty_one_not_at_all) {
  graph g;
  const auto rows = g.edge_of<int>("rows"), out = g.edge_of<int>("out");
  const auto back = g.back_edge_of<int>("back");
  std::vector<std::string> seen;
  g.vertex("write", [](output<int>& o) {
    for (const int x : {2, 0, 4}) {
      o.tell(signal::begin_stream);
      if (x) o.row(x);
      o.tell(signal::end_stream);
    }
  }, writes(rows));
  g.vertex("halve", halve, iterates(reads(rows), back, 100), writes(back), writes(out));
  g.vertex("read", listed<int>(seen), reads(out));
  g.run();
  const texts round{"begin_iteration 2", "end_iteration 2"}, last{"begin_iteration 2", "rows 1", "end_iteration 2"};
  texts expected{"begin_stream 1"};
  const auto add = [&](const texts& t) { expected.insert(expected.end(), t.begin(), t.end()); };
  add(round), add(last), add({"end_stream 1", "begin_stream 1", "end_stream 1", "begin_stream 1"});
  add(round), add(round), add(last), add({"end_stream 1"});
  EXPECT_EQ(seen, expected);
}

TEST(dataflow_iterations, a_loop_ends_after_the_most_rounds) {
  graph g;
  const auto rows = g.edge_of<int>("rows");
  const auto back = g.back_edge_of<int>("back");
  int rounds = 0, streams = 0;
  g.vertex("write", [](output<int>& o) {
    for (int s = 0; s < 2; ++s) {
      o.tell(signal::begin_stream);
      o.row(1);
      o.tell(signal::end_stream);
    }
  }, writes(rows));
  g.vertex("for ever", [&](input<int>& in, output<int>& again) {
    while (auto got = in.receive()) {
      rounds += got.is(signal::begin_iteration);
      streams += got.is(signal::end_stream);
      if (got.has_rows()) again.push(std::move(got.rows));
      else again.tell(got.what());
    }
  }, iterates(reads(rows), back, 7), writes(back));
  g.run();
  EXPECT_EQ(rounds, 14);
  EXPECT_EQ(streams, 2);
}

// The table of a stateful vertex goes over the back edge: the same memory in every round.
TEST(dataflow_iterations, a_back_edge_carries_a_table_from_round_to_round_without_a_copy) {
  constexpr int nodes = 3000;
  std::vector<std::pair<int, int>> links;
  for (int i = 0; i + 3 < nodes; ++i) links.emplace_back(i + 3, i);  // three chains
  graph g;
  const auto first = g.edge_of<int>("first"), result = g.edge_of<int>("result");
  const auto table = g.back_edge_of<int>("table");
  std::vector<const int*> places;
  std::vector<int> labels;
  int rounds = 0;
  g.vertex("labels", [](output<int>& out) {
    std::vector<int> own(nodes);
    std::iota(own.begin(), own.end(), 0);
    out.push(std::move(own));
  }, writes(first));
  g.vertex("spread", [&](input<int>& in, output<int>& again, output<int>& out) {
    block<int> kept;
    bool changed = false;
    while (auto got = in.receive()) {
      if (got.has_rows()) {
        kept = std::move(got.rows);
        places.push_back(kept.data());
        const auto label = kept.writable();
        changed = false;
        for (const auto& [a, b] : links) {
          const int least = std::min(label[static_cast<std::size_t>(a)], label[static_cast<std::size_t>(b)]);
          for (const int n : {a, b}) changed |= std::exchange(label[static_cast<std::size_t>(n)], least) != least;
        }
        continue;
      }
      rounds += got.is(signal::end_iteration);
      if (got.is(signal::end_iteration) && changed) again.push(std::move(kept));
      if (got.is(signal::end_stream)) out.push(std::move(kept));
      again.tell(got.what());
      out.tell(got.what());
    }
  }, iterates(reads(first), table, nodes), writes(table), writes(result));
  g.vertex("read", [&](input<int>& in) {
    while (const auto x = in.row()) labels.push_back(*x);
  }, reads(result));
  g.run();
  ASSERT_EQ(labels.size(), static_cast<std::size_t>(nodes));
  for (int i = 0; i < nodes; ++i) ASSERT_EQ(labels[static_cast<std::size_t>(i)], i % 3);
  EXPECT_GE(rounds, 2);
  EXPECT_EQ(places.size(), static_cast<std::size_t>(rounds));
  EXPECT_EQ(std::count(places.begin(), places.end(), places.front()), rounds);
}

TEST(dataflow_iterations, loops_nest_two_deep) {
  graph g;
  const auto rows = g.edge_of<int>("rows"), inner = g.edge_of<int>("inner"), seen_edge = g.edge_of<int>("seen");
  const auto outer_back = g.back_edge_of<int>("outer back"), inner_back = g.back_edge_of<int>("inner back");
  std::vector<std::string> seen;
  g.vertex("write", [](output<int>& o) {
    for (const int x : {3, 2}) {
      o.tell(signal::begin_stream);
      o.row(x);
      o.tell(signal::end_stream);
    }
  }, writes(rows));
  g.each("outer", [](block<int> b, output<int>& o) { o.push(std::move(b)); }, iterates(reads(rows), outer_back, 100), writes(inner));
  // Inner rounds count a number down to 1; an outer round then takes the number less one.
  g.vertex("inner", [](input<int>& in, output<int>& again, output<int>& outer, output<int>& watch) {
    int started = 0;
    while (auto got = in.receive()) {
      if (got.has_rows()) {
        const int x = got.rows[0];
        if (!started) started = x;
        if (x > 1) again.row(x - 1);
        watch.row(x);
        continue;
      }
      if (got.is(signal::end_iteration) && got.depth() == 2) {
        if (started > 1) outer.row(started - 1);
        started = 0;
      }
      for (output<int>* o : {&again, &outer, &watch}) o->tell(got.what());
    }
  }, iterates(reads(inner), inner_back, 100), writes(inner_back), writes(outer_back), writes(seen_edge));
  g.vertex("read", listed<int>(seen), reads(seen_edge));
  g.run();

  texts expected;
  for (const int stream : {3, 2}) {
    expected.push_back("begin_stream 1");
    for (int outer = stream; outer >= 1; --outer) {
      expected.push_back("begin_iteration 2");
      for (int x = outer; x >= 1; --x) {
        expected.push_back("begin_iteration 3");
        expected.push_back("rows " + std::to_string(x));
        expected.push_back("end_iteration 3");
      }
      expected.push_back("end_iteration 2");
    }
    expected.push_back("end_stream 1");
  }
  EXPECT_EQ(seen, expected);
}

TEST(dataflow_iterations, rounds_of_more_blocks_than_edges_hold_do_not_stall) {
  graph g({.rows_of_block = 8});
  const auto rows = g.edge_of<int>("rows", 1), round = g.edge_of<int>("round", 1), out = g.edge_of<int>("out", 1);
  const auto back = g.back_edge_of<int>("back");
  std::int64_t ones = 0;
  g.vertex("write", [](output<int>& o) {
    for (int i = 0; i < 5000; ++i) o.row(64);
  }, writes(rows));
  g.each("pass", [](block<int> b, output<int>& o) { o.push(std::move(b)); }, iterates(reads(rows), back, 100), writes(round));
  g.vertex("halve", halve, reads(round), writes(back), writes(out));
  g.vertex("read", [&](input<int>& in) {
    while (const auto x = in.row()) ones += *x;
  }, reads(out));
  const run_report report = g.run();
  EXPECT_EQ(ones, 5000);
  EXPECT_EQ(report.edges[3].rows, 6u * 5000u);
}

}  // namespace
}  // namespace query::dataflow
