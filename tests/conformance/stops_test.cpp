// A query that should stop calls functions of its user's only a few times more, whatever the verb and however many rows
// there are: each call may take a millisecond. Counted, not timed: the function itself asks for the stop at its tenth
// call, and the calls that count are those that begin after request_stop() has returned. (Those since the tenth may be any
// number: its thread can be put aside between counting and asking, and the others run on meanwhile, rightly.)
#include <atomic>
#include <chrono>
#include <limits>
#include <stop_token>
#include <thread>

#include "conformance/engines.hpp"

namespace conformance {
namespace {

constexpr int rows = 200'000;
// Each thread makes at most 64 calls between two looks; a part of the rows has 65,536 and a slice of them 8,192.
constexpr int few = 3000;

const std::vector<std::int64_t>& numbers() {
  static const std::vector<std::int64_t> v = [] {
    std::vector<std::int64_t> n;
    for (std::int64_t i = 0; i < rows; ++i) n.push_back(i);
    return n;
  }();
  return v;
}

struct stopper {
  std::stop_source stop;
  std::atomic<int> calls = 0;
  std::atomic<bool> asked = false;
  std::atomic<int> calls_behind_the_stop = 0;
  template <class R> R count(R r) {
    if (asked) ++calls_behind_the_stop;
    if (++calls == 10) {
      stop.request_stop();
      asked = true;
    }
    return r;
  }
};

// run(query over 200,000 numbers, the stopper whose count() the verb's function calls)
template <class Run> void check_stops(const engine_config& e, const char* verb, Run run) {
  SCOPED_TRACE(verb);
  stopper s;
  EXPECT_THROW(run(source(e, numbers()).stop_on(s.stop.get_token()), s), query::cancelled);
  EXPECT_GE(s.calls, 10);
  EXPECT_LT(s.calls_behind_the_stop, few);
}

CONFORMS(stops, row_wise_functions, "where", "select", "select_many", "count", "sum", "max", "to_vector", "stop_on") {
  check_stops(e, "where",
              [](auto q, stopper& s) { q.where([&](const std::int64_t& x) { return s.count(x < 0); }).to_vector(); });
  check_stops(e, "count", [](auto q, stopper& s) { q.count([&](const std::int64_t& x) { return s.count(x >= 0); }); });
  check_stops(e, "sum", [](auto q, stopper& s) { q.sum([&](const std::int64_t& x) { return s.count(x); }); });
  check_stops(e, "sum behind a filter", [](auto q, stopper& s) {
    q.where([](const std::int64_t& x) { return x % 2 == 0; }).sum([&](const std::int64_t& x) { return s.count(x); });
  });
  check_stops(e, "max", [](auto q, stopper& s) { q.max([&](const std::int64_t& x) { return s.count(x); }); });
  check_stops(e, "select",
              [](auto q, stopper& s) { q.select([&](const std::int64_t& x) { return s.count(x); }).to_vector(); });
  check_stops(e, "select strings", [](auto q, stopper& s) {
    q.select([&](const std::int64_t&) { return s.count(std::string("a")); }).to_vector();
  });
  check_stops(e, "select_many", [](auto q, stopper& s) {
    q.select_many([&](const std::int64_t& x) { return s.count(std::vector<std::int64_t>{x, x}); }).count();
  });
  check_stops(e, "select_many, to_vector", [](auto q, stopper& s) {
    q.select_many([&](const std::int64_t& x) { return s.count(std::vector<std::int64_t>{x, x}); }).to_vector();
  });
}

// A range whose elements count as they are read: one row gives all of them.
struct counted_range {
  stopper* s;
  struct iterator {
    stopper* s;
    std::int64_t i;
    std::int64_t operator*() const { return s->count(i); }
    iterator& operator++() { return ++i, *this; }
    bool operator!=(const iterator& o) const { return i != o.i; }
    bool operator==(const iterator& o) const { return i == o.i; }
  };
  iterator begin() const { return {s, 0}; }
  iterator end() const { return {s, rows}; }
};

CONFORMS(stops, the_many_of_one_row, "select_many") {
  check_stops(e, "count", [](auto q, stopper& s) {
    q.take(1).select_many([&](const std::int64_t&) { return counted_range{&s}; }).count();
  });
  check_stops(e, "to_vector", [](auto q, stopper& s) {
    q.take(1).select_many([&](const std::int64_t&) { return counted_range{&s}; }).to_vector();
  });
}

CONFORMS(stops, searches_through_a_broadcast, "broadcast") {
  const auto all = query::broadcast(numbers());
  const auto one = [](auto q) { return q.take(1); };
  check_stops(e, "count", [&](auto q, stopper& s) {
    one(q)
        .select(
            [&, all](const std::int64_t& x) { return all.count(x, [&](auto a, auto b) { return s.count(a < b); }); })
        .to_vector();
  });
  check_stops(e, "sum", [&](auto q, stopper& s) {
    one(q)
        .select([&, all](const std::int64_t& x) { return all.sum(x, [&](auto, auto b) { return s.count(b); }); })
        .to_vector();
  });
  check_stops(e, "any", [&](auto q, stopper& s) {
    one(q)
        .where([&, all](const std::int64_t& x) { return all.any(x, [&](auto, auto b) { return s.count(b < 0); }); })
        .to_vector();
  });
  check_stops(e, "arg_min", [&](auto q, stopper& s) {
    one(q)
        .select([&, all](const std::int64_t& x) { return all.arg_min(x, [&](auto, auto b) { return s.count(b); }); })
        .to_vector();
  });
  check_stops(e, "max", [&](auto q, stopper& s) {
    one(q)
        .select([&, all](const std::int64_t& x) { return all.max(x, [&](auto, auto b) { return s.count(b); }); })
        .to_vector();
  });
  check_stops(e, "fold", [&](auto q, stopper& s) {
    one(q)
        .select([&, all](const std::int64_t& x) {
          return all.fold(x, std::int64_t{0}, [&](auto, auto a, auto b) { return s.count(a + b); });
        })
        .to_vector();
  });
  check_stops(e, "fold of elements", [&](auto q, stopper& s) {
    one(q)
        .select([&, all](const std::int64_t&) {
          return all.fold(std::int64_t{0}, [&](auto a, auto b) { return s.count(a + b); });
        })
        .to_vector();
  });
}

CONFORMS(stops, groups, "group_by", "group_by.select", "aggregate_by", "aggregate", "distinct_by", "count_by") {
  const auto ten = [](const std::int64_t& x) { return x % 10; };
  check_stops(e, "key", [](auto q, stopper& s) {
    q.count_by([&](const std::int64_t& x) { return s.count(x % 10); }).to_vector();
  });
  check_stops(e, "text key", [](auto q, stopper& s) {
    q.count_by([&](const std::int64_t& x) { return s.count(std::to_string(x % 10)); }).to_vector();
  });
  check_stops(e, "values", [&](auto q, stopper& s) {
    q.group_by(ten)
        .select([&](auto g) { return g.sum([&](const std::int64_t& x) { return s.count(x); }); })
        .to_vector();
  });
  check_stops(e, "groups", [&](auto q, stopper& s) {
    q.group_by([](const std::int64_t& x) { return x; })
        .select([&](const query::Group<std::int64_t, std::int64_t>& g) { return s.count(g.key()); })
        .to_vector();
  });
  check_stops(e, "one large group", [&](auto q, stopper& s) {
    q.group_by([](const std::int64_t&) { return 1; })
        .select([&](const query::Group<int, std::int64_t>& g) {
          return g.sum([&](const std::int64_t& x) { return s.count(x); });
        })
        .to_vector();
  });
  check_stops(e, "aggregate_by", [&](auto q, stopper& s) {
    q.aggregate_by(
         ten, std::int64_t{0}, [&](std::int64_t a, const std::int64_t& x) { return s.count(a + x); },
         [](std::int64_t a, std::int64_t b) { return a + b; })
        .to_vector();
  });
  check_stops(e, "reduce", [&](auto q, stopper& s) {
    q.reduce([&](auto g) { return g.sum([&](const std::int64_t& x) { return s.count(x); }); });
  });
  check_stops(e, "own hash", [&](auto q, stopper& s) {
    q.count_by(
         ten, [](std::int64_t a, std::int64_t b) { return a == b; },
         [&](std::int64_t a) { return s.count(static_cast<std::size_t>(a)); })
        .to_vector();
  });
  // All in one bucket: a key is compared with all groups before it.
  check_stops(e, "own equality", [&](auto q, stopper& s) {
    q.distinct_by([](const std::int64_t& x) { return x; },
                  [&](std::int64_t a, std::int64_t b) { return s.count(a == b); },
                  [](std::int64_t) { return std::size_t{1}; })
        .to_vector();
  });
  check_stops(e, "distinct_by",
              [](auto q, stopper& s) { q.distinct_by([&](const std::int64_t& x) { return s.count(x); }).to_vector(); });
}

CONFORMS(stops, joins, "join", "group_join", "cross_join", "full_join", "semi_join", "zip") {
  const auto same = [](const std::int64_t& x) { return x; };
  const auto other = source(e, numbers());
  check_stops(e, "result", [&](auto q, stopper& s) {
    q.join(other, same, same, [&](const std::int64_t& a, const std::int64_t&) { return s.count(a); }).to_vector();
  });
  check_stops(e, "left key", [&](auto q, stopper& s) {
    q.semi_join(
         other, [&](const std::int64_t& x) { return s.count(x); }, same)
        .count();
  });
  check_stops(e, "right key", [&](auto q, stopper& s) {
    q.semi_join(other, same, [&](const std::int64_t& x) { return s.count(x); }).count();
  });
  check_stops(e, "full_join", [&](auto q, stopper& s) {
    q.full_join(other, same, same, [&](const std::optional<std::int64_t>&, const std::optional<std::int64_t>&) {
       return s.count(1);
     }).to_vector();
  });
  check_stops(e, "group_join", [&](auto q, stopper& s) {
    q.group_join(other, same, same, [&](const std::int64_t& a, const std::vector<std::int64_t>&) {
       return s.count(a);
     }).to_vector();
  });
  check_stops(e, "cross_join", [&](auto q, stopper& s) {
    q.cross_join(other.take(3), [&](const std::int64_t& a, const std::int64_t&) { return s.count(a); }).to_vector();
  });
  check_stops(e, "zip", [&](auto q, stopper& s) {
    q.zip(other, [&](const std::int64_t& a, const std::int64_t&) { return s.count(a); }).to_vector();
  });
}

CONFORMS(stops, orders_and_runs, "order_by", "min_by", "chunk", "window", "take_while", "skip_while", "apply",
         "for_each", "generate") {
  check_stops(e, "order_by",
              [](auto q, stopper& s) { q.order_by([&](const std::int64_t& x) { return s.count(-x); }).to_vector(); });
  check_stops(e, "own order", [](auto q, stopper& s) {
    q.order_by([](const std::int64_t& x) { return -x; }, [&](std::int64_t a, std::int64_t b) { return s.count(a < b); })
        .to_vector();
  });
  const auto one = [](stopper& s) { return [&s](std::span<const std::int64_t> r) { return s.count(r[0]); }; };
  check_stops(e, "chunk", [&](auto q, stopper& s) { q.chunk(2, one(s)).to_vector(); });
  check_stops(e, "window", [&](auto q, stopper& s) { q.window(2, one(s)).to_vector(); });
  check_stops(e, "take_while", [](auto q, stopper& s) {
    q.take_while([&](const std::int64_t& x) { return s.count(x >= 0); }).to_vector();
  });
  check_stops(e, "skip_while", [](auto q, stopper& s) {
    q.skip_while([&](const std::int64_t& x) { return s.count(x >= 0); }).to_vector();
  });
  check_stops(e, "for_each", [](auto q, stopper& s) {
    q.where([](const std::int64_t& x) { return x >= 0; }).for_each([&](const std::int64_t& x) { s.count(x); });
  });
  check_stops(e, "for_each of a table",
              [](auto q, stopper& s) { q.for_each([&](const std::int64_t& x) { s.count(x); }); });
  check_stops(e, "generate", [&](auto q, stopper& s) {
    on(e, query::generate(
              [&s, i = std::int64_t{0}]() mutable { return s.count(i < rows ? std::optional(i++) : std::nullopt); }))
        .stop_on(s.stop.get_token())
        .where([](const std::int64_t& x) { return x < 0; })
        .concat(q)
        .to_vector();
  });
}

// The body of a range-for is the user's too, and the rows of a source are one block: it runs at most 64 times more.
CONFORMS(stops, loops_over_rows, "stop_on", "where", "order_by", "take", "chunk", "generate") {
  const auto check = [&](const char* what, auto of) {
    SCOPED_TRACE(what);
    stopper s;
    const auto loop = [&] {
      for (const auto& x : of(s)) s.count(x);
    };
    EXPECT_THROW(loop(), query::cancelled);
    EXPECT_GE(s.calls, 10);
    EXPECT_LE(s.calls, 10 + 64);
  };
  const auto all = [&](stopper& s) { return source(e, numbers()).stop_on(s.stop.get_token()); };
  check("a table", all);
  check("where", [&](stopper& s) { return all(s).where([](const std::int64_t& x) { return x >= 0; }); });
  check("order_by", [&](stopper& s) { return all(s).order_by([](const std::int64_t& x) { return -x; }); });
  check("take", [&](stopper& s) { return all(s).take(150'000); });
  check("generate", [&](stopper& s) {
    return on(e, query::generate([i = std::int64_t{0}]() mutable { return i < rows ? std::optional(i++) : std::nullopt; }))
        .stop_on(s.stop.get_token());
  });
  // A loop that nobody stops sees every row once, in order.
  std::int64_t next = 0;
  for (const std::int64_t& x : source(e, numbers())) ASSERT_EQ(x, next++);
  EXPECT_EQ(next, rows);
}

CONFORMS(stops, deadlines_end_slow_loops, "timeout") {
  int turns = 0;
  const auto loop = [&] {
    for (const std::int64_t& x : source(e, numbers()).timeout(0.02)) {
      turns += x >= 0;
      std::this_thread::sleep_for(std::chrono::microseconds(500));
    }
  };
  EXPECT_THROW(loop(), query::cancelled);
  EXPECT_LT(turns, rows / 2);  // how late the clock is looked at is the machine's affair; without a look the loop has all rows
}

CONFORMS(stops, a_deadline_that_has_passed_begins_no_work, "timeout", "count", "to_vector") {
  std::atomic<int> calls = 0;
  const auto counted = [&](const std::int64_t& x) { return ++calls, x; };
  EXPECT_THROW(source(e, numbers()).timeout(0).count(), query::cancelled);
  EXPECT_THROW(source(e, numbers()).select(counted).timeout(0).to_vector(), query::cancelled);
  EXPECT_THROW(source(e, numbers()).timeout(0).concat(source(e, numbers()).timeout(1000)).count(), query::cancelled);
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(source(e, numbers()).timeout(0).timeout(std::numeric_limits<double>::infinity()).count(), rows);
}

// Nobody calls back for a deadline, nor for a token of another kind: somebody looks at the clock while the function
// sleeps.
CONFORMS(stops, deadlines_end_slow_functions, "timeout", "stop_on") {
  std::atomic<int> calls = 0;
  const auto slow = [&](const std::int64_t& x) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    return x;
  };
  EXPECT_THROW(source(e, numbers()).timeout(0.02).sum(slow), query::cancelled);
  EXPECT_LT(calls, rows / 2);
  struct token {
    std::atomic<int>* calls;
    bool stop_requested() const { return *calls > 10; }
  };
  calls = 0;
  EXPECT_THROW(source(e, numbers()).stop_on(token{&calls}).sum(slow), query::cancelled);
  EXPECT_LT(calls, rows / 2);
}

}  // namespace
}  // namespace conformance
