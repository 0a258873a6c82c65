// What goes wrong arrives as promised: exceptions of user functions unchanged, cancellation, deadlines, memory limits.
#include <atomic>
#include <chrono>
#include <stop_token>
#include <thread>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct trouble {
  int id;
};
const auto explode = query::opaque([](const tick& t) -> std::int64_t {
  if (t.id == 60000) throw trouble{t.id};
  return t.key;
});

template <class Run> void expect_trouble(const char* verb, Run run) {
  SCOPED_TRACE(verb);
  try {
    run();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const trouble& t) {
    EXPECT_EQ(t.id, 60000);
  } catch (const std::exception& other) {
    ADD_FAILURE() << "another exception: " << other.what();
  }
}

CONFORMS(failures, exceptions_of_user_functions_arrive_unchanged, "where", "select", "group_by", "order_by", "join", "distinct_by",
         "take_while", "for_each", "sum") {
  if (in_processes(e)) return;  // their own type would be a remote_error
  const auto& rows = many_ticks();
  const auto q = source(e, rows);
  const auto key = [](const tick& t) { return std::int64_t{t.key}; };
  expect_trouble("select", [&] { q.select(explode).to_vector(); });
  expect_trouble("sum", [&] { q.sum(explode); });
  expect_trouble("where", [&] { q.where([](const tick& t) { return explode(t) > 0; }).count(); });
  expect_trouble("group_by", [&] { q.group_by(explode).count().to_vector(); });
  expect_trouble("group_by.select", [&] { q.group_by(key).select([](auto g) { return g.sum(explode); }).to_vector(); });
  expect_trouble("groups",
                 [&] { q.group_by(key).select([](const query::Group<std::int64_t, tick>& g) { return g.sum(explode); }).to_vector(); });
  expect_trouble("order_by", [&] { q.order_by(explode).to_vector(); });
  expect_trouble("then_by", [&] { q.order_by(key).then_by(explode).to_vector(); });
  expect_trouble("join, left key", [&] { q.semi_join(source(e, rows), explode, key).count(); });
  expect_trouble("join, right key", [&] { q.semi_join(source(e, rows), key, explode).count(); });
  expect_trouble("join, result", [&] {
    q.join(
         source(e, rates()[2].rows), [](auto t) { return t.key; }, [](auto r) { return r.key; },
         [](const tick& t, const rate&) { return explode(t); })
        .to_vector();
  });
  expect_trouble("distinct_by", [&] { q.distinct_by(explode).to_vector(); });
  expect_trouble("take_while", [&] { q.take_while([](const tick& t) { return explode(t) < 100; }).to_vector(); });
  expect_trouble("apply", [&] {
    q.apply([](std::span<const tick> r) {
       return std::vector<std::int64_t>{explode(r.back()), explode(r[0]), explode(tick{60000, 0, 0, 0})};
     }).to_vector();
  });
  expect_trouble("for_each", [&] { q.for_each([](const tick& t) { explode(t); }); });
  expect_trouble("range-for", [&] {
    for (const auto x : q.select(explode)) EXPECT_LT(x, 100);
  });
  expect_trouble("do_while", [&] {
    q.do_while([](query::Query<tick> x) { return x.where([](const tick& t) { return explode(t) < 100; }); }, query::times(2)).to_vector();
  });
  EXPECT_EQ(q.count(), std::ssize(rows));  // the session is as good as new
}

// Parts that are computed meanwhile see that the reader has stopped, and may be the first to end: often, as it takes luck to meet.
CONFORMS(failures, what_a_reader_throws_is_not_lost, "for_each", "select") {
  const auto& rows = ticks().back().rows;
  const auto q = source(e, rows).select([](const tick& t) { return std::int64_t{t.id}; });
  for (int round = 0; round < (e.accelerate ? 2 : 200); ++round) {
    std::int64_t seen = 0;
    expect_trouble("for_each", [&] {
      q.for_each([&](std::int64_t) {
        if (++seen == 60000) throw trouble{60000};
      });
    });
    ASSERT_EQ(seen, 60000);
  }
}

CONFORMS(failures, a_stop_token_stops_the_query, "stop_on") {
  const auto& rows = ticks().back().rows;  // many parts: the flag is read at their borders
  std::stop_source stop;
  std::atomic<int> calls = 0;
  const auto q = source(e, rows).stop_on(stop.get_token()).where([&](const tick& t) {
    if (++calls == 2000) stop.request_stop();
    if (calls >= 2000 && t.id % 64 == 0) std::this_thread::sleep_for(std::chrono::microseconds(10));
    return t.id >= 0;
  });
  EXPECT_THROW(q.to_vector(), query::cancelled);
  EXPECT_LT(calls, std::ssize(rows));
  EXPECT_THROW(q.count(), query::cancelled);  // at once
  EXPECT_EQ(source(e, rows).stop_on(std::stop_token()).count(), std::ssize(rows));
}

CONFORMS(failures, a_deadline_stops_the_query, "timeout") {
  const auto endless = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THROW(endless.timeout(0.05).count(), query::cancelled);
  EXPECT_THROW(endless.timeout(0.05).where([](auto x) { return x < 0; }).to_vector(), query::cancelled);
  EXPECT_THROW(endless.timeout(0.05).where([](auto x) { return x < 0; }).order().to_vector(), query::cancelled);
  const std::vector<int> rows = {1, 2, 3};
  const auto forever = [](std::span<const int>, std::span<const int>) { return true; };
  EXPECT_THROW(source(e, rows)
                   .timeout(0.05)
                   .do_while([](query::Query<int> x) { return x.select([](auto v) { return v ^ 1; }); }, forever)
                   .to_vector(),
               query::cancelled);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(120));  // whatever else the machine does
  EXPECT_EQ(source(e, rows).timeout(1000).count(), 3);
}

CONFORMS(failures, progress_is_reported, "on_progress") {
  double last = -1;
  EXPECT_EQ(source(e, many_ticks()).on_progress([&](double fraction) { last = fraction; }).count(), std::ssize(many_ticks()));
  EXPECT_EQ(last, 1.0);
}

CONFORMS(failures, what_does_not_fit_in_memory_is_a_resource_error, "in") {
  const bool interpret = std::string(e.column) == "interpreter";
  query::Session small({.threads = 2, .memory_limit = 1 << 20, .interpret = interpret});
  query::Session tiny({.threads = 2, .memory_limit = 1 << 16, .interpret = interpret});
  const auto& rows = ticks().back().rows;  // 4.8 MB
  const auto q = source(e, rows).in(small);
  const auto sums = [](const auto& of) {
    return of.group_by([](auto t) { return t.id; }).aggregate([](auto g) { return g.sum([](auto t) { return t.price; }); });
  };
  EXPECT_THROW(sums(source(e, rows).in(tiny)).to_vector(), query::resource_error);
  if (!e.accelerate) {
    EXPECT_EQ(sums(q).count(), sums(source(e, rows)).count());  // by temporary files
  }
  // On a GPU a join that is counted needs none of this memory.
  if (!e.accelerate) {
    EXPECT_THROW(q.join(q, [](auto t) { return t.id; }, [](auto t) { return t.id; }).count(), query::resource_error);
  }
  const auto id = [](auto t) { return t.id; };
  EXPECT_THROW(q.asof_join(source(e, rows).in(small), id, id, id, id).to_vector(), query::resource_error);
  EXPECT_EQ(q.where([](auto t) { return t.id >= 0; }).count(), std::ssize(rows));  // needs no memory
  EXPECT_EQ(q.count_by([](auto t) { return t.amount % 10; }).to_vector().size(), 19u);
  EXPECT_EQ(small.memory_used(), 0u);
}

CONFORMS(failures, verified_queries_give_the_same_rows, "verify") {
  const auto& rows = few_trades();
  const auto p = [](auto t) { return t.amount > 0 && t.name != "a"; };
  EXPECT_ROWS(source(e, rows).verify().where(p).to_vector(), kept(rows, p));
  EXPECT_EQ(source(e, rows).verify().where(p).count_by([](auto t) { return t.key; }).count(),
            std::ssize(grouped(kept(rows, p), [](const trade& t) { return t.key; })));
}

CONFORMS(failures, a_row_with_many_partners_is_cancelled, "join", "timeout") {
  if (e.accelerate) return;  // a hundred billion pairs are no row-wise work there
  const auto all = on(e, query::range(0, 300000));
  const auto zero = query::opaque([](const std::int64_t&) { return 0; });
  EXPECT_THROW(all.join(query::range(0, 300000), zero, zero, query::opaque([](std::int64_t a, std::int64_t b) { return a + b; }))
                   .where([](auto x) { return x < 0; })
                   .timeout(0.2)
                   .count(),
               query::cancelled);
}

CONFORMS(failures, a_loop_without_end_ends, "where") {
  const std::vector<int> rows = {1, 2};
  EXPECT_THROW(source(e, rows)
                   .where(query::opaque([](const int& x) {
                     return query::loop(
                                x, [](int) { return true; }, [](int s) { return s; }) > 0;
                   }))
                   .count(),
               query::user_error);
}

CONFORMS(failures, the_gpu_may_be_preferred_or_demanded, "as_accelerated", "require_gpu") {
  const auto& rows = many_ticks();
  const auto p = [](auto t) { return t.amount > 0; };
  EXPECT_ROWS(source(e, rows).as_accelerated().where(p).to_vector(), kept(rows, p));
  if (e.accelerate) return;
  try {  // where there is none, demanding one says so
    source(e, rows).require_gpu().where(p).to_vector();
    ADD_FAILURE() << "require_gpu() ran without a GPU";
  } catch (const query::user_error&) {
  }
  EXPECT_THROW(source(e, rows).require_gpu().count(), query::user_error);
}

}  // namespace
}  // namespace conformance
