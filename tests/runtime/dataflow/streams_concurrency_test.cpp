// Edges, blocks and signals of own dataflows: what is sent arrives, in order, no faster than it is read.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <thread>

#include <query/query.hpp>

#include "runtime/dataflow/traffic.hpp"

namespace query::dataflow {
namespace {

TEST(dataflow_streams, rows_arrive_in_order_and_the_stream_begins_and_ends_by_itself) {
  graph g;
  const auto numbers = g.edge_of<int>("numbers");
  std::vector<std::string> seen;
  g.vertex("write", [](output<int>& out) {
    out.row(1);
    out.row(2);
    out.flush();
    out.push(std::vector{3, 4});
    out.row(5);
  }, writes(numbers));
  g.vertex("read", listed<int>(seen), reads(numbers));
  const run_report report = g.run();
  EXPECT_EQ(seen, (texts{"begin_stream 1", "rows 1 2", "rows 3 4", "rows 5", "end_stream 1"}));
  ASSERT_EQ(report.edges.size(), 1u);
  EXPECT_EQ(report.edges[0].name, "numbers");
  EXPECT_EQ(report.edges[0].rows, 5u);
  EXPECT_EQ(report.edges[0].blocks, 3u);
  EXPECT_EQ(report.edges[0].signals, 2u);
}

TEST(dataflow_streams, an_empty_stream_is_a_stream_and_no_stream_is_an_end) {
  graph g;
  const auto empty = g.edge_of<int>("empty"), none = g.edge_of<int>("none");
  std::vector<std::string> of_empty, of_none;
  g.vertex("write", [](output<int>& out, output<int>&) {
    out.tell(signal::begin_stream);
    out.tell(signal::end_stream);
    out.push(std::vector<int>{});
  }, writes(empty), writes(none));
  g.vertex("read", [&](input<int>& a, input<int>& b) {
    listed<int>(of_empty)(a);
    listed<int>(of_none)(b);
  }, reads(empty), reads(none));
  g.run();
  EXPECT_EQ(of_empty, (texts{"begin_stream 1", "end_stream 1"}));
  EXPECT_EQ(of_none, texts{});
}

TEST(dataflow_streams, scopes_nest_two_deep_and_deeper) {
  graph g;
  const auto rows = g.edge_of<int>("rows"), passed = g.edge_of<int>("passed");
  std::vector<std::string> seen;
  g.vertex("write", [](output<int>& out) {
    for (int stream = 0; stream < 2; ++stream) {
      out.tell(signal::begin_stream);
      out.tell(signal::begin_iteration);
      out.row(stream);
      out.tell(signal::begin_stream);
      out.row(10 + stream);
      out.tell(signal::end_stream);
      out.tell(signal::end_iteration);
      out.tell(signal::end_stream);
    }
  }, writes(rows));
  g.each("double", [](block<int> b, output<int>& out) {
    for (const int x : b) out.row(2 * x);
  }, reads(rows), writes(passed));
  g.vertex("read", listed<int>(seen), reads(passed));
  g.run();
  EXPECT_EQ(seen, (texts{"begin_stream 1", "begin_iteration 2", "rows 0", "begin_stream 3", "rows 20", "end_stream 3", "end_iteration 2",
                         "end_stream 1", "begin_stream 1", "begin_iteration 2", "rows 2", "begin_stream 3", "rows 22", "end_stream 3",
                         "end_iteration 2", "end_stream 1"}));
}

TEST(dataflow_streams, a_reader_goes_from_stream_to_stream_and_over_what_it_does_not_want) {
  graph g;
  const auto rows = g.edge_of<int>("rows");
  std::vector<std::vector<int>> streams;
  g.vertex("write", [](output<int>& out) {
    for (int s = 0; s < 4; ++s) {
      out.tell(signal::begin_stream);
      for (int i = 0; i < s * 1000; ++i) out.row(s);
      out.tell(signal::end_stream);
    }
  }, writes(rows));
  g.vertex("read", [&](input<int>& in) {
    while (in.next_stream()) {
      std::vector<int>& s = streams.emplace_back();
      while (s.size() < 2) {
        const auto r = in.row();
        if (!r) break;
        s.push_back(*r);
      }
    }
    EXPECT_FALSE(in.row());
    EXPECT_FALSE(in.next_stream());
  }, reads(rows));
  g.run();
  EXPECT_EQ(streams, (std::vector<std::vector<int>>{{}, {1, 1}, {2, 2}, {3, 3}}));
}

TEST(dataflow_streams, a_slow_reader_holds_its_writer_back_to_the_capacity) {
  constexpr int blocks = 60;
  for (const std::size_t capacity : {1u, 3u}) {
    graph g;
    const auto rows = g.edge_of<int>("rows", capacity);
    std::atomic<int> sent = 0, got = 0;
    int most_ahead = 0;
    g.vertex("write", [&](output<int>& out) {
      for (int i = 0; i < blocks; ++i) {
        auto b = out.fresh(1);
        b.append(i);
        out.push(std::move(b));
        most_ahead = std::max(most_ahead, ++sent - got);
      }
    }, writes(rows));
    g.vertex("read", [&](input<int>& in) {
      for (block<int> b; in.next(b); ++got) std::this_thread::sleep_for(std::chrono::microseconds(300));
    }, reads(rows));
    const run_report report = g.run();
    EXPECT_EQ(got, blocks);
    EXPECT_LE(report.edges[0].most_waiting, capacity);
    EXPECT_LE(most_ahead, static_cast<int>(capacity) + 2);   // one in the reader's hand, one that it counts too late
    EXPECT_LE(report.blocks_made, capacity + 2);
    EXPECT_EQ(report.blocks_made + report.blocks_reused, static_cast<std::uint64_t>(blocks));
  }
}

TEST(dataflow_streams, the_pool_asks_for_no_memory_in_steady_state) {
  graph g({.rows_of_block = 64});
  const auto raw = g.edge_of<std::string>("raw"), small = g.edge_of<std::string>("small"), large = g.edge_of<std::string>("large");
  int rows = 0;
  std::atomic<std::size_t> read = 0;
  g.vertex("write", [&](output<std::string>& out) {
    for (int i = 0; i < rows; ++i) out.row("a row that is too long to lie in the string itself " + std::to_string(i));
  }, writes(raw));
  g.each("route", [](block<std::string> b, output<std::string>& out) { out.push(std::move(b)); }, reads(raw),
         writes(when([](const std::string& s) { return s.back() < '5'; }, small), otherwise(large)));
  const auto count = [&](input<std::string>& in) {
    for (block<std::string> b; in.next(b);) read += b.size();
  };
  g.vertex("small", count, reads(small)).vertex("large", count, reads(large));

  constexpr std::uint64_t most = 3 * 4 + 1 + 3 + 2 * 2;  // what three edges hold, and the vertices have in hand
  rows = 64 * 100;
  run_report report = g.run();
  EXPECT_EQ(read, 6400u);
  std::uint64_t made = report.blocks_made;
  EXPECT_LE(made, most);
  EXPECT_EQ(report.blocks_made + report.blocks_reused, 300u);
  rows = 64 * 1000;
  report = g.run();
  EXPECT_EQ(read, 6400u + 64000u);
  made += report.blocks_made;  // a later run may have more in hand at once, never more than the bound
  EXPECT_LE(made, most);
  EXPECT_EQ(report.blocks_made + report.blocks_reused, 3000u);
}

TEST(dataflow_streams, blocks_of_vectors_travel_without_a_copy) {
  graph g;
  const auto rows = g.edge_of<int>("rows"), on = g.edge_of<int>("on");
  const int* sent = nullptr;
  const int* got = nullptr;
  g.vertex("write", [&](output<int>& out) {
    std::vector<int> v(100'000, 7);
    sent = v.data();
    out.push(std::move(v));
  }, writes(rows));
  g.each("change", [](block<int> b, output<int>& out) {
    for (int& x : b.writable()) ++x;
    out.push(std::move(b));
  }, reads(rows), writes(on));
  g.vertex("read", [&](input<int>& in) {
    block<int> b;
    while (in.next(b)) {
      got = b.data();
      EXPECT_EQ(b[99'999], 8);
    }
  }, reads(on));
  g.run();
  EXPECT_EQ(sent, got);
}

TEST(dataflow_streams, a_shared_block_is_copied_before_it_is_changed) {
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("b");
  std::vector<int> of_a, of_b;
  g.vertex("write", [](output<int>& out) { out.push(std::vector{1, 2, 3}); }, writes(a, b));
  const auto triple = [](std::vector<int>& to) {
    return [&to](input<int>& in) {
      for (block<int> rows; in.next(rows);) {
        for (int& x : rows.writable()) x *= 3;
        to.assign(rows.begin(), rows.end());
      }
    };
  };
  g.vertex("a", triple(of_a), reads(a)).vertex("b", triple(of_b), reads(b));
  g.run();
  EXPECT_EQ(of_a, (std::vector{3, 6, 9}));
  EXPECT_EQ(of_b, (std::vector{3, 6, 9}));
}

TEST(dataflow_streams, a_block_may_outlive_its_graph) {
  std::vector<block<std::string>> kept;
  {
    graph g({.rows_of_block = 2});
    const auto rows = g.edge_of<std::string>("rows");
    g.vertex("write", [](output<std::string>& out) {
      for (int i = 0; i < 5; ++i) out.row("a row that is too long to lie in the string itself " + std::to_string(i));
    }, writes(rows));
    g.vertex("keep", [&](input<std::string>& in) {
      for (block<std::string> b; in.next(b);) kept.push_back(b);
    }, reads(rows));
    g.run();
  }
  ASSERT_EQ(kept.size(), 3u);
  EXPECT_EQ(kept[2][0].back(), '4');
}

TEST(dataflow_streams, rows_that_cannot_be_copied_are_moved_on) {
  graph g;
  const auto rows = g.edge_of<std::unique_ptr<int>>("rows"), again = g.edge_of<std::unique_ptr<int>>("again");
  int sum = 0, sum_of_rows = 0;
  g.vertex("write", [](output<std::unique_ptr<int>>& out) {
    for (int i = 0; i < 10; ++i) out.row(std::make_unique<int>(i));
  }, writes(rows));
  g.vertex("write again", [](output<std::unique_ptr<int>>& out) {
    for (int i = 0; i < 10; ++i) out.row(std::make_unique<int>(i));
  }, writes(again));
  g.vertex("read rows", [&](input<std::unique_ptr<int>>& in) {
    while (const auto p = in.row()) sum_of_rows += **p;
  }, reads(again));
  g.vertex("read", [&](input<std::unique_ptr<int>>& in) {
    for (block<std::unique_ptr<int>> b; in.next(b);) {
      for (const auto& p : b) sum += *p;
    }
  }, reads(rows));
  g.run();
  EXPECT_EQ(sum, 45);
  EXPECT_EQ(sum_of_rows, 45);
}

TEST(dataflow_streams, rows_of_a_block_that_several_read_are_copied_one_by_one) {
  graph g;
  const auto a = g.edge_of<std::string>("a"), b = g.edge_of<std::string>("b");
  std::size_t of_a = 0, of_b = 0;
  g.vertex("write", [](output<std::string>& out) {
    for (int i = 0; i < 1000; ++i) out.row(std::string(100, 'x'));
  }, writes(a, b));
  const auto read = [](std::size_t& length) {
    return [&length](input<std::string>& in) {
      while (const auto s = in.row()) length += s->size();
    };
  };
  g.vertex("a", read(of_a), reads(a)).vertex("b", read(of_b), reads(b));
  g.run();
  EXPECT_EQ(of_a, 100'000u);
  EXPECT_EQ(of_b, 100'000u);
}

TEST(dataflow_streams, unique_rows_of_two_readers_are_an_error) {
  graph g;
  const auto a = g.edge_of<std::unique_ptr<int>>("a"), b = g.edge_of<std::unique_ptr<int>>("b"), go = g.edge_of<std::unique_ptr<int>>("go");
  g.vertex("write", [](output<std::unique_ptr<int>>& out) { out.row(std::make_unique<int>(1)); }, writes(a, b));
  g.vertex("a", [](input<std::unique_ptr<int>>& in, output<std::unique_ptr<int>>&) { (void)in.row(); }, reads(a), writes(go));
  g.vertex("b", [](input<std::unique_ptr<int>>& in, input<std::unique_ptr<int>>& after) {  // its block waits until a has asked
    (void)after.receive();
    (void)in.receive();
  }, reads(b), reads(go));
  EXPECT_THROW(g.run(), user_error);
}

TEST(dataflow_streams, a_query_reads_a_port_and_feeds_another) {
  graph g;
  const auto numbers = g.edge_of<std::int64_t>("numbers"), squares = g.edge_of<std::int64_t>("squares");
  std::int64_t sum = 0;
  g.vertex("write", [](output<std::int64_t>& out) {
    for (std::int64_t i = 0; i < 10'000; ++i) out.row(i);
  }, writes(numbers));
  g.vertex("square", [](input<std::int64_t>& in, output<std::int64_t>& out) {
    const auto rows = query::generate([&in] { return in.row(); }).where([](auto x) { return x % 2 == 0; });
    for (const std::int64_t x : rows.select([](auto x) { return x * x; })) out.row(x);
  }, reads(numbers), writes(squares));
  g.vertex("sum", [&](input<std::int64_t>& in) {
    while (const auto x = in.row()) sum += *x;
  }, reads(squares));
  g.run();
  std::int64_t expected = 0;
  for (std::int64_t i = 0; i < 10'000; i += 2) expected += i * i;
  EXPECT_EQ(sum, expected);
}

// Rows that an engine keeps, on a GPU perhaps, go from vertex to vertex as the cached query that names them.
TEST(dataflow_streams, cached_queries_go_through_an_edge_and_are_computed_once) {
  graph g;
  const auto parts = g.edge_of<query::Query<std::int64_t>>("parts", 2);
  std::atomic<int> calls = 0;
  std::vector<std::int64_t> sums;
  g.vertex("prepare", [&](output<query::Query<std::int64_t>>& out) {
    for (std::int64_t part = 0; part < 5; ++part) {
      const auto square = query::opaque([&calls](const std::int64_t& x) { return ++calls, x * x; });
      query::Query<std::int64_t> rows = query::range(part * 100, 100).select(square).cached();
      EXPECT_EQ(rows.count(), 100u);
      out.row(std::move(rows));
      out.flush();
    }
  }, writes(parts));
  g.vertex("sum", [&](input<query::Query<std::int64_t>>& in) {
    while (const auto rows = in.row()) sums.push_back(rows->sum() + rows->max().value());
  }, reads(parts));
  g.run();
  EXPECT_EQ(calls, 500);
  std::vector<std::int64_t> expected;
  for (std::int64_t part = 0; part < 5; ++part) {
    std::int64_t sum = (part * 100 + 99) * (part * 100 + 99);
    for (std::int64_t x = part * 100; x < part * 100 + 100; ++x) sum += x * x;
    expected.push_back(sum);
  }
  EXPECT_EQ(sums, expected);
}

}  // namespace
}  // namespace query::dataflow
