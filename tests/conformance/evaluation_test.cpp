// Every user function is evaluated once a row: counted by opaque functions with atomic counters.
#include <atomic>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

std::atomic<std::int64_t> calls;
template <class F> auto counted(F f) {
  return query::opaque([f](const auto&... row) requires std::is_invocable_v<const F&, decltype(row)...> {
    calls.fetch_add(1, std::memory_order_relaxed);
    return f(row...);
  });
}
template <class Run> void expect_calls(const char* what, std::int64_t least, std::int64_t most, Run run) {
  SCOPED_TRACE(what);
  calls = 0;
  run();
  EXPECT_GE(calls, least);
  EXPECT_LE(calls, most);
}
template <class Run> void expect_calls(const char* what, std::int64_t wanted, Run run) { expect_calls(what, wanted, wanted, run); }

CONFORMS(evaluation, functions_run_once_a_row, "where", "select", "select_many", "group_by", "order_by", "top", "distinct_by", "join",
         "take_while", "sum", "aggregate", "zip", "cross_join", "left_join", "min_by", "to_map", "partitioned") {
  if (in_processes(e)) return;  // calls are counted in each process
  for (const auto* d : {&small_ticks()[0], &small_ticks()[5], &ticks()[6], &ticks()[7]}) {
    SCOPED_TRACE(d->name);
    const auto n = std::ssize(d->rows), of_keys = in_partitions(e) ? 2 * n : n;
    const std::int64_t of_samples = in_partitions(e) ? 4 * (256 + 1 + 3) : 0;  // and of the rows that ranges begin with
    const auto q = source(e, d->rows);
    const auto key = counted([](const tick& t) { return t.key; });
    const auto yes = counted([](const tick& t) { return t.id >= 0; });
    const auto plain = [](auto t) { return t.id; };
    expect_calls("where, count", n, [&] { q.where(yes).count(); });
    expect_calls("where, to_vector", n, [&] { q.where(yes).to_vector(); });
    expect_calls("select, sum", n, [&] { q.select(key).sum(); });
    expect_calls("select, sorted", n, [&] { q.select(key).order().to_vector(); });
    expect_calls("select_many", n, [&] { q.select_many(counted([](const tick& t) { return std::vector<int>(2, t.key); })).count(); });
    expect_calls("group_by", n, [&] { q.group_by(key).count().to_vector(); });
    expect_calls("group_by, ordered", n, [&] { q.group_by(key).count().as_ordered().to_vector(); });
    expect_calls("aggregates", n, [&] { q.group_by(plain).select([key](auto g) { return g.sum(key); }).to_vector(); });
    expect_calls("aggregate", n, [&] { q.reduce([key](auto g) { return g.max(key); }); });
    expect_calls("filter before group_by", n, [&] { q.where(yes).group_by(plain).count().to_vector(); });
    expect_calls("order_by", of_keys, of_keys + of_samples, [&] { q.order_by(key).to_vector(); });
    expect_calls("filter before order_by", n, [&] { q.where(yes).order_by(plain).to_vector(); });
    expect_calls("distinct_by", of_keys, [&] { q.distinct_by(key).to_vector(); });
    expect_calls("join, both keys", 2 * of_keys, [&] { q.semi_join(q, key, key).count(); });
    expect_calls("join, inputs", 2 * n, [&] { q.where(yes).join(q.where(yes), plain, plain).count(); });
    expect_calls("join, result", n,
                 [&] { q.join(q, plain, plain, counted([](const tick& a, const tick& b) { return a.key ^ b.key; })).to_vector(); });
    expect_calls("left_join, result", n, [&] {
      q.left_join(q, plain, plain, counted([](const tick& a, const std::optional<tick>& b) { return a.key ^ b->key; })).to_vector();
    });
    expect_calls("zip", n, [&] { q.zip(q, counted([](const tick& a, const tick& b) { return a.key ^ b.key; })).to_vector(); });
    expect_calls("take_while", n, [&] { q.take_while(yes).to_vector(); });
    expect_calls("range-for", n, [&] {
      std::int64_t read = 0;
      for ([[maybe_unused]] const auto k : q.select(key)) ++read;
      EXPECT_EQ(read, n);
    });
    expect_calls("min_by", n, [&] { q.min_by(key); });
    expect_calls("to_map", n, [&] { q.to_map(counted([](const tick& t) { return t.id; })); });
    expect_calls("reverse", n, [&] { q.where(yes).reverse().to_vector(); });
    expect_calls("partitioned", n, [&] {
      q.where(yes).partitioned(3).apply([](std::span<const tick> r) { return std::vector<std::size_t>{r.size()}; }).to_vector();
    });
  }
}

CONFORMS(evaluation, a_shared_part_is_computed_once, "join", "concat", "broadcast") {
  if (in_processes(e)) return;  // calls are counted in each process
  const auto& rows = many_ticks();
  const auto shared = source(e, rows).where(counted([](const tick& t) { return t.amount > 0; })).count_by([](auto t) { return t.key; });
  const auto key = [](const auto& r) { return std::get<0>(r); };
  expect_calls("broadcast", std::ssize(rows), [&] {
    const auto all = query::broadcast(shared.select([](const auto& r) { return std::get<1>(r); }));
    source(e, rows).select([all](auto t) { return all.sum(t, [](auto, auto n) { return n; }); }).count();
  });
  expect_calls("join with itself", std::ssize(rows), [&] { shared.join(shared, key, key).to_vector(); });
}

CONFORMS(evaluation, for_each_runs_each_row_exactly_once, "for_each") {
  expect_calls("for_each", std::ssize(many_ticks()), [&] { source(e, many_ticks()).for_each([](const tick&) { ++calls; }); });
}

}  // namespace
}  // namespace conformance
