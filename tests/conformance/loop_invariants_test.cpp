// What a loop does to rows that do not change happens once: the user's functions are counted.
#include <atomic>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

constexpr std::int64_t n = 3000;
constexpr int rounds = 4;

std::vector<std::int64_t> counted(std::int64_t k) {
  std::vector<std::int64_t> v;
  for (std::int64_t i = 0; i < k; ++i) v.push_back(i);
  return v;
}

// body(loop's rows, rows that do not change, counter): a loop over one number.
template <class Body>
void check_once(const engine_config& e, const char* what, std::int64_t calls_wanted, std::int64_t wanted, Body body) {
  SCOPED_TRACE(what);
  const auto rows = counted(n);
  std::atomic<std::int64_t> calls = 0;
  const std::vector<std::int64_t> start = {1};
  const auto got =
      source(e, start)
          .do_while([&](query::Query<std::int64_t> x) { return body(x, source(e, rows), calls); }, query::times(rounds))
          .to_vector();
  EXPECT_ROWS(got, std::vector<std::int64_t>{wanted});
  EXPECT_EQ(calls, calls_wanted);
}

CONFORMS(loop_invariants, verbs_before_the_loops_rows_are_seen_run_once, "do_while", "where", "select", "select_many",
         "broadcast") {
  // Each round adds the 1,500 even numbers' share: x -> x + 1500.
  const auto total = [](auto g) { return g.sum([](auto v) { return v; }); };
  const std::int64_t wanted = 1 + 1500 * rounds;
  check_once(e, "filter before the capture, one loop of both", n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows.where([&calls](const std::int64_t& v) { return ++calls, v % 2 == 0; })
        .select([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 0, 1, 0) + 1; })
        .aggregate(total)
        .select([](auto v) { return v; });
  });
  check_once(e, "several verbs", 2 * n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows.select([&calls](const std::int64_t& v) { return ++calls, v + 1; })
        .where([&calls](const std::int64_t& v) { return ++calls, v % 2 == 1; })
        .select([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 1, 1, 0) + 1; })
        .aggregate(total);
  });
  check_once(e, "select_many", n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows
        .select_many(
            [&calls](const std::int64_t& v) { return ++calls, std::vector<std::int64_t>(v % 2 == 0 ? 1 : 0, v); })
        .select([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 0, 1, 0) + 1; })
        .aggregate(total);
  });
  check_once(e, "select_many after the capture", n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows.where([&calls](const std::int64_t& v) { return ++calls, v % 2 == 0; })
        .select([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 0, 1, 0) + 1; })
        .select_many([](const std::int64_t& v) { return std::vector<std::int64_t>{v}; })
        .aggregate(total);
  });
  check_once(e, "the capture in a breaker's function", n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows.where([&calls](const std::int64_t& v) { return ++calls, v % 2 == 0; }).aggregate([c](auto g) {
      return g.sum([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 0, 1, 0) + 1; });
    });
  });
  check_once(e, "rows that join the loop's", n, wanted, [&](auto x, auto rows, auto& calls) {
    return rows.where([&calls](const std::int64_t& v) { return ++calls, v % 2 == 0; })
        .join(
            x, [](const std::int64_t&) { return 0; }, [](const std::int64_t&) { return 0; },
            [](auto v, auto y) { return query::iff(v == 0, y, std::int64_t{0}) + 1; })
        .aggregate(total);
  });
  check_once(e, "a join of rows that do not change", n, wanted, [&](auto x, auto rows, auto& calls) {
    const auto c = query::broadcast(x);
    return rows
        .join(
            rows.where([](auto v) { return v % 2 == 0; }), [](auto v) { return v; }, [](auto v) { return v; },
            [&calls](const std::int64_t& v, const std::int64_t&) { return ++calls, v; })
        .select([c](auto v) { return c.sum(v, [](auto, auto y) { return y; }) * query::iff(v == 0, 1, 0) + 1; })
        .aggregate(total)
        .select(
            [&calls](const std::int64_t& v) { return calls += (n / 2) / rounds, v; });  // the other half: each round's
  });
}

CONFORMS(loop_invariants, row_numbers_generators_and_columns, "do_while", "index", "generate", "columns") {
  const auto rows = counted(n);
  const std::vector<std::int64_t> start = {1};
  std::atomic<std::int64_t> calls = 0;
  const auto total = [](auto g) { return g.sum([](auto v) { return v; }); };
  const auto numbered = source(e, start)
                            .do_while(
                                [&](query::Query<std::int64_t> x) {
                                  const auto c = query::broadcast(x);
                                  return source(e, rows)
                                      .select([&](const std::int64_t& v, std::int64_t i) { return ++calls, v - i + 1; })
                                      .select([c](auto v) { return v + c.sum(v, [](auto, auto y) { return y * 0; }); })
                                      .aggregate(total);
                                },
                                query::times(rounds))
                            .to_vector();
  EXPECT_ROWS(numbered, std::vector<std::int64_t>{n});
  calls = 0;
  const auto generated = source(e, start)
                             .do_while(
                                 [&](query::Query<std::int64_t> x) {
                                   return on(e, query::generate([&calls, i = std::int64_t{0}]() mutable {
                                               return ++calls, i < n ? std::optional(i++) : std::nullopt;
                                             }))
                                       .select([c = query::broadcast(x)](auto a) {
                                         return a * 0 + c.sum(a, [](auto, auto b) { return b; });
                                       })
                                       .aggregate([](auto g) { return g.max([](auto v) { return v; }) + g.count(); })
                                       .values();
                                 },
                                 query::times(rounds))
                             .to_vector();
  EXPECT_ROWS(generated, std::vector<std::int64_t>{1 + rounds * n});
  EXPECT_LE(calls, n + 2);  // the end may be asked for twice
  std::vector<std::int32_t> id, key;
  std::vector<std::int64_t> amount;
  std::vector<double> price;
  for (std::int32_t i = 0; i < n; ++i) id.push_back(i), key.push_back(i % 3), amount.push_back(1), price.push_back(0.5);
  calls = 0;
  const auto columns =
      source(e, start)
          .do_while(
              [&](query::Query<std::int64_t> x) {
                const auto c = query::broadcast(x);
                return on(e, query::from(query::columns<tick>(id, key, amount, price)))
                    .where([&](const tick& t) { return ++calls, t.key == 0; })
                    .select([c](auto t) { return t.amount + c.sum(t, [](auto, auto y) { return y * 0; }); })
                    .aggregate(total);
              },
              query::times(rounds))
          .to_vector();
  EXPECT_ROWS(columns, std::vector<std::int64_t>{n / 3});
  EXPECT_EQ(calls, n);
}

// The inner loop keeps what depends on the outer one's rows for an outer round, and what depends on neither for good.
CONFORMS(loop_invariants, loops_in_loops, "do_while", "broadcast") {
  const auto rows = counted(n);
  const std::vector<std::int64_t> start = {1};
  std::atomic<std::int64_t> outer = 0, never = 0;
  const auto got =
      source(e, start)
          .do_while(
              [&](query::Query<std::int64_t> x) {
                const auto c = query::broadcast(x);
                return x.do_while(
                    [&](query::Query<std::int64_t> y) {
                      const auto d = query::broadcast(y);
                      return source(e, rows)
                          .where([&](const std::int64_t& v) { return ++never, v < 10; })
                          .select(query::opaque([&outer, c](const std::int64_t& v) { return ++outer, v * 0 + c[0]; }))
                          .select([d](auto v) { return v + d.sum(v, [](auto, auto z) { return z; }); })
                          .aggregate([](auto g) { return g.max([](auto v) { return v; }); })
                          .values();
                    },
                    query::times(3));
              },
              query::times(2))
          .to_vector();
  // y: x, then three times y + x: 4 x; twice: 16
  EXPECT_ROWS(got, std::vector<std::int64_t>{16});
  EXPECT_EQ(never, n);
  EXPECT_EQ(outer, 2 * 10);
}

// A verb that wants the first rows only is not made to wait for all of a source without an end.
CONFORMS(loop_invariants, sources_without_an_end, "do_while", "generate", "zip", "take") {
  const std::vector<std::int64_t> start = {1};
  const auto naturals =
      on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); })).timeout(60);
  const auto odd = naturals.where([](auto x) { return x % 2 == 1; });
  EXPECT_ROWS(
      source(e, start)
          .timeout(60)
          .do_while([&](query::Query<std::int64_t> x) { return x.zip(odd, [](auto a, auto b) { return a + b; }); },
                    query::times(3))
          .to_vector(),
      std::vector<std::int64_t>{4});
  EXPECT_ROWS(source(e, start)
                  .timeout(60)
                  .do_while(
                      [&](query::Query<std::int64_t> x) {
                        const auto c = query::broadcast(x);
                        return odd.select([c](auto v) { return v + c.sum(v, [](auto, auto y) { return y; }); }).take(1);
                      },
                      query::times(3))
                  .to_vector(),
              std::vector<std::int64_t>{4});
}

// apply sees the partitions of the table below the row-wise verbs.
CONFORMS(loop_invariants, partitions_stay_partitions, "do_while", "hash_partitioned_by", "apply") {
  const auto rows = counted(1000);
  const std::vector<std::int64_t> start = {1};
  const auto got =
      source(e, start)
          .do_while(
              [&](query::Query<std::int64_t> x) {
                const auto c = query::broadcast(x);
                return source(e, rows)
                    .hash_partitioned_by([](auto v) { return v % 8; }, 8)
                    .where([](auto v) { return v >= 0; })
                    .select([c](auto v) { return v + c.sum(v, [](auto, auto y) { return y * 0; }); })
                    .apply([](std::span<const std::int64_t> r) { return std::vector<std::int64_t>{std::ssize(r)}; })
                    .aggregate([](auto g) { return g.count(); });
              },
              query::times(2))
          .to_vector();
  EXPECT_ROWS(got, std::vector<std::int64_t>{8});
}

// What does not fit is computed in each round, as if nothing had been kept.
CONFORMS(loop_invariants, rows_that_do_not_fit_are_computed_each_round, "do_while", "in") {
  if (e.accelerate) return;
  const query::Session small(
      {.threads = 2, .memory_limit = std::size_t{4} << 20, .interpret = std::string(e.column) == "interpreter"});
  const auto rows = counted(500'000);  // 4 MB; the session has 4
  const std::vector<std::int64_t> start = {1};
  std::atomic<std::int64_t> calls = 0;
  const auto got =
      query::from(start)
          .in(small)
          .do_while(
              [&](query::Query<std::int64_t> x) {
                const auto c = query::broadcast(x);
                return query::from(rows)
                    .select([&](const std::int64_t& v) { return ++calls, v * 0 + 1; })
                    .aggregate([c](auto g) {
                      return g.sum([c](auto v) { return v + c.sum(v, [](auto, auto y) { return y * 0; }); });
                    });
              },
              query::times(rounds))
          .to_vector();
  EXPECT_ROWS(got, std::vector<std::int64_t>{500'000});
  EXPECT_GE(calls, rounds * 500'000);
  EXPECT_EQ(small.memory_used(), 0u);
}

CONFORMS(loop_invariants, the_plan_says_what_is_kept, "do_while", "explain") {
  const auto rows = counted(5);
  const std::string plan = source(e, rows)
                               .do_while(
                                   [&](query::Query<std::int64_t> x) {
                                     const auto c = query::broadcast(x);
                                     return source(e, rows).where([](auto v) { return v > 2; }).select([c](auto v) {
                                       return v + c.sum(v, [](auto, auto y) { return y; });
                                     });
                                   },
                                   query::times(2))
                               .explain();
  EXPECT_NE(plan.find("hoisted: where before the loop's rows are seen, computed once if the rows fit in memory"),
            std::string::npos)
      << plan;
}

}  // namespace
}  // namespace conformance
