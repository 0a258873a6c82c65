// One vertex over two engines: answers of any shares equal those of one engine, and failures, stops and limits hold as they do there.
#include <gtest/gtest.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <stop_token>
#include <thread>

#include <query/query.hpp>

#include "engine_double/second_engine.hpp"
#include "planner/machine_graph.hpp"
#include "runtime/divided_vertex.hpp"
#include "runtime/fold_states.hpp"
#include "runtime/run_history.hpp"
#include "runtime/session_state.hpp"

namespace {

using namespace query;
using engine_double::costs_for;
using engine_double::second_engine;
using detail::fold_kind;
using std::chrono::milliseconds;

struct Trade {
  std::int32_t symbol;
  std::int32_t qty;
  double price;
  auto operator<=>(const Trade&) const = default;
};
QUERY_RECORD(Trade, symbol, qty, price);

std::vector<Trade> trades(std::size_t n) {
  std::vector<Trade> rows(n);
  std::uint64_t state = 88172645463325252ull;
  for (Trade& t : rows) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    t = {static_cast<std::int32_t>(state % 101), static_cast<std::int32_t>(state >> 40 & 1023), static_cast<double>(state >> 44) / 8};
  }
  return rows;
}

const auto large = [](auto t) { return t.qty > 500; };
const auto value = [](auto t) { return t.price * 2.0; };

struct divided_rows : testing::Test {
  std::shared_ptr<second_engine> second = std::make_shared<second_engine>(costs_for(0.4));
  Session session{{.threads = 16, .gpu = gpu_use::off}}, alone{{.threads = 4, .gpu = gpu_use::off}};
  divided_rows() { session.add_engine(second); }

  auto of(const std::vector<Trade>& rows) { return from(rows).in(session).as_accelerated(); }
  auto expected(const std::vector<Trade>& rows) { return from(rows).in(alone); }
  std::uint64_t fallbacks() { return session.state()->history.fallbacks().first; }
};

TEST_F(divided_rows, folds_equal_those_of_one_engine) {
  const auto rows = trades(1'000'003);
  EXPECT_EQ(of(rows).where(large).count(), expected(rows).where(large).count());
  EXPECT_EQ(of(rows).where(large).select(value).sum(), expected(rows).where(large).select(value).sum());  // eighths: exact
  EXPECT_EQ(of(rows).select(value).min(), expected(rows).select(value).min());
  EXPECT_EQ(of(rows).select(value).max(), expected(rows).select(value).max());
  EXPECT_EQ(of(rows).select([](auto t) { return t.qty; }).average(), expected(rows).select([](auto t) { return t.qty; }).average());
  EXPECT_GE(second->runs, 5) << "it takes the last rows before the CPU can have";
  EXPECT_GE(second->rows, 5 * std::uint64_t{1} << 16);
  EXPECT_EQ(fallbacks(), 0u);
}

TEST_F(divided_rows, are_collected_in_the_order_of_their_source) {
  const auto rows = trades(700'001);
  EXPECT_EQ(of(rows).where(large).to_vector(), expected(rows).where(large).to_vector());
  EXPECT_EQ(of(rows).select(value).to_vector(), expected(rows).select(value).to_vector());
  EXPECT_EQ(of(rows).where([](auto t) { return t.qty < 0; }).to_vector().size(), 0u);
  std::vector<double> read;
  for (const double x : of(rows).where(large).select(value)) read.push_back(x);
  EXPECT_EQ(read, expected(rows).where(large).select(value).to_vector());
  EXPECT_GE(second->runs, 4);
  EXPECT_EQ(fallbacks(), 0u);
}

TEST_F(divided_rows, feed_the_verbs_behind_them) {
  const auto rows = trades(400'000);
  const auto half = [](const auto& q) { return q.where(large).select([](auto t) { return t.symbol; }).as_query(); };
  const auto ours = half(of(rows)), theirs = half(expected(rows));
  EXPECT_EQ(ours.order_by([](auto s) { return s; }).to_vector(), theirs.order_by([](auto s) { return s; }).to_vector());
}

TEST_F(divided_rows, may_be_columns) {
  const auto rows = trades(300'000);
  std::vector<std::int32_t> symbol, qty;
  std::vector<double> price;
  for (const Trade& t : rows) {
    symbol.push_back(t.symbol);
    qty.push_back(t.qty);
    price.push_back(t.price);
  }
  const auto columns = from(query::columns<Trade>(symbol, qty, price)).in(session).as_accelerated();
  EXPECT_EQ(columns.where(large).select(value).sum(), expected(rows).where(large).select(value).sum());
  EXPECT_EQ(columns.where(large).to_vector(), expected(rows).where(large).to_vector());
  EXPECT_GE(second->runs, 2);
}

TEST_F(divided_rows, say_so_in_the_plan) {
  const auto rows = trades(1'000'000);
  const std::string fold = of(rows).where(large).explain("count"), collect = of(rows).where(large).explain();
  EXPECT_NE(fold.find("count: split: about 35% second: double, 65% cpu: 8.7 s here; 25 s and 12 s alone"), std::string::npos) << fold;
  EXPECT_NE(collect.find("split: about 35% second: double, 65% cpu: 8.7 s here; 25 s and 12 s alone"), std::string::npos) << collect;
}

TEST_F(divided_rows, are_those_of_large_containers_and_looked_at_one_by_one) {
  const auto rows = trades(500'000);
  const auto few = trades(1000);
  const auto whole = [](const std::string& plan) { return plan.find("split") == std::string::npos; };
  EXPECT_TRUE(whole(of(few).where(large).explain()));
  EXPECT_TRUE(whole(of(rows).explain())) << "nothing is computed";
  EXPECT_TRUE(whole(of(rows).where([](auto t, auto i) { return t.qty > 500 && i > 10u; }).explain())) << "by the row's number";
  EXPECT_TRUE(whole(of(rows).where(large).on(query::engine::cpu).explain()));
  EXPECT_TRUE(whole(of(rows).where(large).on(query::engine::cpu).explain("count")));
  EXPECT_TRUE(whole(of(rows).select([](const Trade& t) { return std::to_string(t.qty); }).explain())) << "rows own memory";
  EXPECT_TRUE(whole(range(0, 1'000'000).in(session).as_accelerated().where([](auto x) { return x > 5; }).explain())) << "no container";
  EXPECT_TRUE(whole(of(rows).where(large).verify().explain()));
  EXPECT_FALSE(whole(of(rows).where(large).explain()));
}

TEST_F(divided_rows, sum_to_the_same_but_for_the_order_of_additions) {
  const auto rows = trades(2'000'000);
  const auto odd = [](auto t) { return query::sqrt(t.price) / 3.0; };
  const double sum = expected(rows).select(odd).sum();
  for (int i = 0; i < 5; ++i) EXPECT_NEAR(of(rows).select(odd).sum(), sum, std::abs(sum) * 1e-12);
  EXPECT_EQ(of(rows).on(query::engine::cpu).select(odd).sum(), sum) << "to the last bit, where it is ordered";
}

// Shares of all shapes, as no model would make them, of an engine that is slow, or is not: wherever the two meet.
TEST_F(divided_rows, of_any_shares_give_the_same) {
  int slow = 0;
  second->before = [&](runtime::run_context&) {
    if (slow++ % 3 == 0) std::this_thread::sleep_for(milliseconds(2));
  };
  for (const std::size_t n : {0, 1, 2, 63, 1025, 65536, 65537, 150'001, 2'000'000}) {
    const auto rows = trades(n);
    const auto q = expected(rows).where(large).select([](auto t) { return t.qty; });
    const auto placed = expected(rows).select([](auto t) { return t.qty + t.symbol; });
    const auto sum = q.sum();
    const auto all = q.to_vector(), all_placed = placed.to_vector();
    const auto g = planner::make_machine_graph(q.to_pipe(), "sum", {.separate_result = false});
    const auto collected = planner::make_machine_graph(q.to_pipe(), "rows", {.separate_result = true});
    const auto in_place = planner::make_machine_graph(placed.to_pipe(), "rows", {.separate_result = true});
    for (const double share : {0.0, 0.001, 0.37, 0.5, 1.0}) {
      const std::vector<planner::engine_share> shares = {{"second", share, 1}, {"cpu", 1 - share, 2}};
      runtime::cancel_flag cancel;
      runtime::run_context context{*session.state()->scheduler, session.state()->pool, cancel};
      context.local = session.state()->cpu.get();
      std::string why;
      planner::vertex fold = planner::fold_vertex(*g, fold_kind::sum);
      fold.shares = shares;
      const auto states = runtime::run_divided(fold, *session.state(), context, why);
      std::int64_t total = 0;
      std::uint64_t count = 0;
      for (const detail::fold_state& state : runtime::states_in(states.rows)) {
        std::int64_t part;
        std::memcpy(&part, state.value, sizeof part);
        total += part;
        count += state.count;
      }
      EXPECT_EQ(total, sum) << n << " rows, " << share;
      EXPECT_EQ(count, all.size());
      const auto rows_of = [&](const planner::machine_graph& of, const std::vector<std::int32_t>& wanted) {
        planner::vertex v = *of.result.table;
        v.shares = shares;
        const auto made = runtime::run_divided(v, *session.state(), context, why);
        ASSERT_EQ(made.rows.n, wanted.size()) << n << " rows, " << share;
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), static_cast<const std::int32_t*>(made.rows.rows))) << n << " rows, " << share;
      };
      rows_of(*collected, all);
      rows_of(*in_place, all_placed);
      EXPECT_EQ(why, "");
    }
  }
}

// What was expected of dividing is believed until it was seen twice what it takes.
TEST_F(divided_rows, stay_whole_where_dividing_took_longer) {
  runtime::part_costs promised;
  promised.on = "double";
  promised.here.all_rows = promised.cpu.all_rows = 0.02;
  const auto late = std::make_shared<second_engine>(promised, "late");
  late->before = [](runtime::run_context&) { std::this_thread::sleep_for(milliseconds(60)); };
  Session hopeful{{.threads = 16, .gpu = gpu_use::off}};
  hopeful.add_engine(late);
  const auto rows = trades(500'000);
  const auto q = [&] { return from(rows).in(hopeful).as_accelerated().where(large); };
  const auto divided = [](const std::string& plan, const char* what) { return plan.find(what) != std::string::npos; };
  const auto wanted = expected(rows).where(large).to_vector();
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(divided(q().explain("count"), "count: split: "));
    EXPECT_EQ(q().count(), wanted.size());
  }
  EXPECT_FALSE(divided(q().explain("count"), "count: split: ")) << "60 ms were seen, 20 are expected of one alone";
  EXPECT_TRUE(divided(q().explain("count"), "count: not divided: ")) << q().explain("count");
  EXPECT_TRUE(divided(q().select(value).explain("count"), "count: split: ")) << "other functions are known by themselves";
  for (int run = 0; run < 2; ++run) {
    EXPECT_TRUE(divided(q().explain(), "split: ")) << "so are rows";
    EXPECT_EQ(q().to_vector(), wanted);
  }
  const int runs = late->runs;
  EXPECT_FALSE(divided(q().explain(), "split: "));
  EXPECT_TRUE(divided(q().explain(), "not divided: ")) << q().explain();
  for (int run = 0; run < 3; ++run) EXPECT_EQ(q().to_vector(), wanted);
  EXPECT_EQ(late->runs, runs);
}

// What was slow once, on a busy host, is not slow for ever.
TEST_F(divided_rows, are_tried_again_after_many_passes_by_one_engine) {
  const auto rows = trades(1000);
  const auto g = planner::make_machine_graph(from(rows).in(session).where(large).to_pipe(), "count", {.separate_result = false});
  const auto pass = [&](const char* way) { runtime::pass_clock clock(&g->result, way, 16, fold_kind::count); };
  const auto seen = [&](const char* way) { return runtime::pass_seconds(g->result, way, 16, fold_kind::count).has_value(); };
  pass("split");
  EXPECT_FALSE(seen("split")) << "once is not enough";
  pass("split");
  for (int n = 1; n < runtime::passes_until_tried_again; ++n) pass("cpu");
  EXPECT_TRUE(seen("split"));
  pass("second");
  EXPECT_FALSE(seen("split"));
  EXPECT_TRUE(seen("cpu"));
}

// The other engine does not come back before the CPU has done all else; then that it never does.
TEST_F(divided_rows, are_the_cpus_where_the_other_is_slow) {
  const auto rows = trades(3'000'000);
  std::atomic<int> calls = 0;
  const auto counted = [&](const Trade& t) {
    ++calls;
    return t.qty > 500;
  };
  std::uint64_t taken = 0;
  second->before = [&](runtime::run_context& c) {
    if (second->runs > 1) return;
    // Until nothing moves any more: the CPU is through with what the first chunk leaves it.
    for (int before = -1; before != calls || before < 1'000'000; std::this_thread::sleep_for(milliseconds(20))) {
      c.cancel.check();
      before = calls;
    }
    taken = rows.size() - static_cast<std::uint64_t>(calls);
  };
  EXPECT_EQ(of(rows).where(counted).count(), expected(rows).where(large).count());
  EXPECT_EQ(calls, 3'000'000) << "each row once";
  EXPECT_GT(taken, 0u);
}

TEST_F(divided_rows, of_an_engine_that_fails_are_the_cpus) {
  const auto rows = trades(400'000);
  second->before = [](runtime::run_context&) { throw resource_error("second: no memory"); };
  EXPECT_EQ(of(rows).where(large).count(), expected(rows).where(large).count());
  EXPECT_EQ(second->runs, 2) << "it was tried again";
  EXPECT_EQ(fallbacks(), 1u);
  EXPECT_EQ(session.state()->history.fallbacks().second, "second: second: no memory");
  const auto q = of(rows).where(large);
  EXPECT_EQ(q.to_vector(), expected(rows).where(large).to_vector());
  EXPECT_NE(q.explain().find("the last run went to the cpu: second: second: no memory"), std::string::npos) << q.explain();
  second->before = [](runtime::run_context&) { throw internal_error("second: a defect"); };
  EXPECT_EQ(of(rows).where(large).count(), expected(rows).where(large).count());
  EXPECT_EQ(fallbacks(), 3u);
}

TEST_F(divided_rows, are_tried_again_before_that) {
  const auto rows = trades(400'000);
  std::atomic<int> times = 0;
  second->before = [&](runtime::run_context&) {
    if (times++ % 2 == 0) throw resource_error("once");
  };
  EXPECT_EQ(of(rows).where(large).select(value).sum(), expected(rows).where(large).select(value).sum());
  EXPECT_EQ(of(rows).where(large).to_vector(), expected(rows).where(large).to_vector());
  EXPECT_GE(second->runs, 4) << "twice a chunk";
  EXPECT_EQ(fallbacks(), 0u);
}

struct broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls of a function that takes five milliseconds, of 400,000: the CPU alone makes 240,000 where it does not stop, and a few hundred a
// thread where it does. Counted, not timed, and no tight bound: the thread that throws, or asks for the stop, may be put aside before it
// does, and the others rightly go on. All sixteen of them take most of a minute to so many.
constexpr int calls_that_stop = 150'000;

// The other engine's: it takes the last rows before the CPU begins.
TEST_F(divided_rows, stop_at_the_first_exception_of_a_users_function) {
  auto rows = trades(400'000);
  std::for_each(rows.end() - 70'000, rows.end(), [](Trade& t) { t.symbol = -1; });
  for (const bool counted : {true, false}) {
    std::atomic<int> calls = 0;
    const auto slow = [&](const Trade& t) {
      if (t.symbol < 0) throw broken("a row");
      ++calls;
      std::this_thread::sleep_for(milliseconds(5));
      return t.qty > 100;
    };
    try {
      if (counted) (void)of(rows).where(slow).count();
      else (void)of(rows).where(slow).to_vector();
      FAIL() << "nothing was thrown";
    } catch (const broken& e) {
      EXPECT_STREQ(e.what(), "a row");
    }
    EXPECT_LT(calls, calls_that_stop);
  }
}

TEST_F(divided_rows, stop_when_the_query_is_stopped) {
  const auto rows = trades(400'000);
  std::atomic<int> calls = 0;
  const auto slow = [&](const Trade& t) {
    ++calls;
    std::this_thread::sleep_for(milliseconds(5));
    return t.qty > 100;
  };
  std::stop_source stop;
  second->before = [&](runtime::run_context&) { stop.request_stop(); };
  try {
    (void)of(rows).where(slow).stop_on(stop.get_token()).count();
    FAIL() << "it went on";
  } catch (const cancelled& e) {
    EXPECT_EQ(std::string(e.what()).rfind("query: cancelled: stop requested by stop_on, while running count (", 0), 0u) << e.what();
  }
  EXPECT_LT(calls, calls_that_stop);
  second->before = [](runtime::run_context& c) {  // an engine that waits looks whether it should go on
    while (true) {
      c.cancel.check();
      std::this_thread::sleep_for(milliseconds(1));
    }
  };
  try {
    (void)of(rows).where(large).timeout(0.05).to_vector();
    FAIL() << "it went on";
  } catch (const cancelled& e) {
    EXPECT_EQ(std::string(e.what()).rfind("query: cancelled: deadline of timeout(0.05), while running ", 0), 0u) << e.what();
  }
  EXPECT_EQ(fallbacks(), 0u);
}

TEST_F(divided_rows, keep_to_the_sessions_memory) {
  const auto rows = trades(500'000);
  const std::size_t result = rows.size() * sizeof(double);
  // The other's rows, at most all, come where the CPU has left room for them; where they do not fit beside that, the CPU alone writes
  // its own. How many they are, the race decides: there is room for all, or for a sixteenth.
  for (const std::size_t more : {2 * result, result / 16}) {
    Session tight({.threads = 16, .memory_limit = result + more, .gpu = gpu_use::off});
    tight.add_engine(second);
    const int before = second->runs;
    const auto q = from(rows).in(tight).as_accelerated().select(value);
    EXPECT_EQ(q.to_vector(), expected(rows).select(value).to_vector());
    EXPECT_GT(second->runs, before);
    EXPECT_EQ(tight.state()->history.fallbacks().first > 0, more == result / 16);
    EXPECT_LE(tight.memory_peak(), tight.memory_limit());
    EXPECT_EQ(tight.memory_used(), 0u);
  }
}

TEST_F(divided_rows, may_be_asked_for_inside_of_tasks) {
  const auto rows = trades(300'000);
  const auto sum = expected(rows).where(large).select(value).sum();
  std::atomic<int> right = 0;
  tbb::parallel_for(0, 8, [&](int) { right += of(rows).where(large).select(value).sum() == sum; });
  EXPECT_EQ(right, 8);
}

TEST_F(divided_rows, may_have_more_than_two_engines) {
  const auto third = std::make_shared<second_engine>(costs_for(0.4), "third");
  session.add_engine(third);
  const auto rows = trades(1'000'000);
  const auto q = of(rows).where(large);
  EXPECT_EQ(q.to_vector(), expected(rows).where(large).to_vector());
  EXPECT_EQ(q.count(), expected(rows).where(large).count());
  EXPECT_GE(second->runs, 2);
  EXPECT_GE(third->runs, 2);
  EXPECT_GT(third->rows, 0u);
  EXPECT_LE(second->rows + third->rows, 2 * rows.size());
}

TEST_F(divided_rows, read_captured_collections) {
  const auto rows = trades(400'000);
  const std::vector<std::int32_t> wanted = {3, 50, 77};
  const auto known = [](auto c) { return [c](auto t) { return c.any([t](auto x) { return x == t.symbol; }); }; };
  const auto ours = broadcast(from(wanted).in(session).where([](auto x) { return x > 10; }));
  const auto theirs = broadcast(from(wanted).in(alone).where([](auto x) { return x > 10; }));
  EXPECT_EQ(of(rows).where(known(ours)).count(), expected(rows).where(known(theirs)).count());
  EXPECT_GE(second->runs, 1);
}

}  // namespace
