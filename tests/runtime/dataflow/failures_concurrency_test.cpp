// How own dataflows end early: exceptions, cancellation, deadlines, readers that leave, vertices that wait for each other.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stop_token>
#include <string>
#include <thread>

#include "runtime/dataflow/traffic.hpp"

namespace query::dataflow {
namespace {

using clock = std::chrono::steady_clock;

template <class E, class F> std::string message_of(F f) {
  try {
    f();
  } catch (const E& e) {
    return e.what();
  }
  return "no error";
}

void for_ever(output<int>& out) {
  for (int i = 0;; ++i) out.row(i);
}
void read_all(input<int>& in) {
  while (in.receive()) {}
}

TEST(dataflow_failures, the_first_exception_ends_all_vertices_and_reaches_the_caller) {
  struct own_error {
    int code;
  };
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("b");
  std::atomic<int> stopped = 0;
  g.vertex("write", [&](output<int>& out) {
    try {
      for_ever(out);
    } catch (const query::cancelled&) {
      ++stopped;
      throw;
    }
  }, writes(a));
  g.each("fail", [n = 0](block<int> rows, output<int>& out) mutable {
    if (++n == 20) throw own_error{42};
    out.push(std::move(rows));
  }, reads(a), writes(b));
  g.vertex("read", [&](input<int>& in) {
    try {
      read_all(in);
    } catch (const query::cancelled&) {
      ++stopped;
      throw std::runtime_error("what comes later is not told");
    }
  }, reads(b));
  for (int run = 1; run <= 2; ++run) {  // a graph that failed runs again
    try {
      g.run();
      FAIL() << "no error";
    } catch (const own_error& e) {
      EXPECT_EQ(e.code, 42);
    }
    EXPECT_EQ(stopped, 2 * run);
  }
}

TEST(dataflow_failures, a_stop_token_ends_vertices_that_wait) {
  graph g;
  const auto a = g.edge_of<int>("a");
  std::stop_source stop;
  g.vertex("write", for_ever, writes(a));
  g.vertex("read", [&](input<int>& in) {
    block<int> b;
    for (int i = 0; i < 3; ++i) in.next(b);
    stop.request_stop();
    read_all(in);
  }, reads(a));
  g.stop_on(stop.get_token());
  EXPECT_EQ(message_of<query::cancelled>([&] { g.run(); }), "query: cancelled: stop requested by stop_on");
  EXPECT_EQ(message_of<query::cancelled>([&] { g.run(); }), "query: cancelled: stop requested by stop_on") << "before it begins";
}

TEST(dataflow_failures, a_token_of_ones_own_is_asked) {
  struct token {
    std::atomic<bool>* stopped;
    bool stop_requested() const { return *stopped; }
  };
  graph g;
  const auto a = g.edge_of<int>("a");
  std::atomic<bool> stopped = false;
  g.vertex("write", for_ever, writes(a));
  g.vertex("read", [&](input<int>& in) {
    block<int> b;
    in.next(b);
    stopped = true;
    read_all(in);
  }, reads(a));
  g.stop_on(token{&stopped});
  EXPECT_EQ(message_of<query::cancelled>([&] { g.run(); }), "query: cancelled: stop requested by stop_on");
}

TEST(dataflow_failures, a_deadline_ends_the_run) {
  graph g;
  const auto a = g.edge_of<int>("a");
  g.vertex("write", for_ever, writes(a)).vertex("read", read_all, reads(a));
  g.timeout(0.03);
  const auto begin = clock::now();
  EXPECT_EQ(message_of<query::cancelled>([&] { g.run(); }), "query: cancelled: deadline of timeout(0.03)");
  EXPECT_GE(clock::now() - begin, std::chrono::milliseconds(30));
  EXPECT_LT(clock::now() - begin, std::chrono::seconds(120));
}

TEST(dataflow_failures, a_writer_ends_when_its_readers_have_returned) {
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("b"), c = g.edge_of<int>("c");
  std::vector<int> first;
  std::size_t rest = 0;
  g.vertex("write", for_ever, writes(a));
  g.each("pass", [](block<int> rows, output<int>& out) { out.push(std::move(rows)); }, reads(a), writes(b, c));
  g.vertex("few", [&](input<int>& in) {
    for (int i = 0; i < 3; ++i) first.push_back(*in.row());
  }, reads(b));
  g.vertex("more", [&](input<int>& in) {
    block<int> rows;
    for (int i = 0; i < 50 && in.next(rows); ++i) rest += rows.size();
  }, reads(c));
  g.run();
  EXPECT_EQ(first, (std::vector{0, 1, 2}));
  EXPECT_EQ(rest, 50u * 4096u);
}

TEST(dataflow_failures, vertices_that_wait_for_each_other_are_told) {
  graph g;
  const auto a = g.edge_of<int>("a", 1), b = g.edge_of<int>("b", 1);
  g.vertex("write", [](output<int>& to_a, output<int>& to_b) {
    for (int i = 0; i < 100; ++i) to_a.push(std::vector{i});
    to_b.row(1);
  }, writes(a), writes(b));
  g.vertex("read", [](input<int>& of_a, input<int>& of_b) {
    while (of_b.row()) {}
    read_all(of_a);
  }, reads(a), reads(b));
  EXPECT_EQ(message_of<user_error>([&] { g.run(); }),
            "dataflow: no vertex can go on: 'write' waits for room in 'a', 'read' waits for rows of 'b'");
}

TEST(dataflow_failures, a_loop_that_starves_is_told) {
  graph g;
  const auto a = g.edge_of<int>("a");
  const auto back = g.back_edge_of<int>("back");
  g.vertex("write", [](output<int>& out) { out.row(1); }, writes(a));
  g.vertex("never ends a round", [](input<int>& in, output<int>& again) {
    while (const auto got = in.receive()) {
      if (got.is(signal::begin_stream)) again.tell(got.what());
    }
  }, iterates(reads(a), back, 10), writes(back));
  EXPECT_EQ(message_of<user_error>([&] { g.run(); }), "dataflow: no vertex can go on: 'never ends a round' waits for rows of 'back'");
}

TEST(dataflow_failures, two_threads_at_one_vertex_are_told) {
  graph g;
  const auto a = g.edge_of<int>("a"), b = g.edge_of<int>("b");
  std::atomic<int> told = 0;
  g.vertex("write", [&](output<int>&, output<int>&) {
    // Not before both threads below have asked, however late they begin.
    for (const auto begin = clock::now(); !told && clock::now() - begin < std::chrono::seconds(120);)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }, writes(a), writes(b));
  g.vertex("read", [&](input<int>& of_a, input<int>& of_b) {
    const auto receive = [&](input<int>& in) {
      told += message_of<user_error>([&] { in.receive(); }) == "dataflow: two threads use the ports of one vertex: read";
    };
    std::thread other([&] { receive(of_a); });
    receive(of_b);
    other.join();
  }, reads(a), reads(b));
  g.run();
  EXPECT_EQ(told, 1);
}

TEST(dataflow_failures, scopes_that_do_not_nest_are_told) {
  const auto told = [](auto f) {
    graph g;
    const auto a = g.edge_of<int>("a");
    g.vertex("write", f, writes(a)).vertex("read", read_all, reads(a));
    return message_of<user_error>([&] { g.run(); });
  };
  EXPECT_EQ(told([](output<int>& out) { out.tell(signal::end_stream); }),
            "dataflow: end_stream where nothing was the last to begin: in vertex 'write'");
  EXPECT_EQ(told([](output<int>& out) { out.tell(signal::begin_iteration); }),
            "dataflow: an iteration lies in a stream: begin_stream first: in vertex 'write'");
  EXPECT_EQ(told([](output<int>& out) {
              out.tell(signal::begin_stream);
              out.tell(signal::begin_iteration);
              out.tell(signal::end_stream);
            }),
            "dataflow: end_stream where begin_iteration was the last to begin: in vertex 'write'");
  EXPECT_EQ(told([](output<int>& out) {
              auto b = out.fresh(2);
              for (int i = 0; i < 3; ++i) b.append(i);
            }),
            "dataflow: append: the block is full, or was sent already");
}

TEST(dataflow_failures, graphs_that_are_not_whole_are_told) {
  graph g, other;
  const auto a = g.edge_of<int>("a"), foreign = other.edge_of<int>("foreign");
  EXPECT_EQ(message_of<user_error>([&] { g.run(); }), "dataflow: an edge that no vertex writes to: a");
  g.vertex("write", for_ever, writes(a));
  EXPECT_EQ(message_of<user_error>([&] { g.run(); }), "dataflow: an edge that no vertex reads: a");
  EXPECT_EQ(message_of<user_error>([&] { g.vertex("read", read_all, reads(foreign)); }),
            "dataflow: vertex: an edge of another graph: read");
  EXPECT_EQ(message_of<user_error>([&] { g.vertex("read", read_all, merges(reads(a), reads(foreign))); }),
            "dataflow: vertex: an edge of another graph: read");
  EXPECT_EQ(message_of<user_error>([&] { g.edge_of<int>("b", 0); }), "dataflow: edge: nothing fits into: b");
  EXPECT_EQ(message_of<user_error>([&] { iterates(reads(a), a, 0); }), "dataflow: iterates: at least one iteration");
  g.vertex("one", read_all, reads(a)).vertex("two", read_all, reads(a));
  EXPECT_EQ(message_of<user_error>([&] { g.run(); }), "dataflow: an edge that more than one port reads: a");
  EXPECT_EQ(graph().run().edges.size(), 0u);

  graph loop;
  const auto first = loop.edge_of<int>("first"), back = loop.edge_of<int>("back");
  loop.vertex("write", for_ever, writes(first));
  loop.vertex("loop", [](input<int>&, output<int>&) {}, iterates(reads(first), back, 2), writes(back));
  EXPECT_EQ(message_of<user_error>([&] { loop.run(); }),
            "dataflow: iterates: an edge with a capacity cannot hold an iteration, make it by back_edge_of: back");
}

TEST(dataflow_failures, blocks_over_the_sessions_memory_are_told) {
  const Session small({.threads = 1, .memory_limit = 1 << 20});
  graph g;
  const auto a = g.edge_of<int>("a");
  const auto back = g.back_edge_of<int>("back");
  g.vertex("write", [](output<int>& out) { out.row(1); }, writes(a));
  g.vertex("hoard", [](input<int>& in, output<int>& again) {
    while (const auto got = in.receive()) {
      for (int i = 0; got.has_rows() && i < 1'000'000; ++i) again.row(i);
    }
  }, iterates(reads(a), back, 10), writes(back));
  g.in(small);
  EXPECT_NE(message_of<resource_error>([&] { g.run(); }), "no error");
}

}  // namespace
}  // namespace query::dataflow
