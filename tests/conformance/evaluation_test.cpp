// Every user function is evaluated once a row: counted by opaque functions with atomic counters.
#include <algorithm>
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

// The readers of a join's pairs share them: its functions are called as often as for one reader, which partitions may call twice a row.
void expect_pairs_shared(const char* join, const query::Query<tick>& pairs) {
  SCOPED_TRACE(join);
  calls = 0;
  const std::int64_t n = std::ssize(pairs.to_vector());
  const std::int64_t once = calls;
  const auto id = [](auto t) { return t.id; };
  const auto amount = [](auto t) { return t.amount; };
  const auto left = [](auto a, auto) { return a; };
  const auto rows_of = [&](const char* what, std::int64_t rows, auto reads) {
    expect_calls(what, 0, once, [&] { EXPECT_EQ(reads.count(), rows); });  // what is only counted need not be made
    expect_calls(what, std::min<std::int64_t>(once, n), once, [&] { EXPECT_EQ(std::ssize(reads.to_vector()), rows); });
  };
  rows_of("join", n, pairs.join(pairs, id, id, left));
  rows_of("left_join", n, pairs.left_join(pairs, id, id, left));
  rows_of("full_join", n, pairs.full_join(pairs, id, id, [](auto a, auto) { return a->id; }));
  rows_of("semi_join", n, pairs.semi_join(pairs, id, id));
  rows_of("anti_join", 0, pairs.anti_join(pairs, id, id));
  rows_of("asof_join", n, pairs.asof_join(pairs, id, id, amount, amount));
  rows_of("join_where", n, pairs.join_where(pairs, [](auto a, auto b) { return a.id == b.id; }, left));
  rows_of("zip", n, pairs.zip(pairs, left));
  rows_of("concat", 2 * n, pairs.concat(pairs));
  rows_of("union_with", n, pairs.union_with(pairs));
  const auto third = [](auto t) { return t.id % 3 == 0; };
  rows_of("row-wise readers", n, pairs.where(third).concat(pairs.where([](auto t) { return t.id % 3 != 0; })));
  rows_of("joins of joins", n, pairs.join(pairs, id, id, left).join(pairs.semi_join(pairs, id, id), id, id, left));
  const auto all = query::broadcast(pairs.take(5).select(amount));
  rows_of("captured", n, pairs.select([all](auto t) { return all.sum(t, [](auto, auto x) { return x; }); }));
}

CONFORMS(evaluation, pairs_of_a_join_with_several_readers_are_made_once, "join", "left_join", "right_join", "full_join", "semi_join",
         "anti_join", "asof_join", "join_where") {
  if (in_processes(e)) return;  // calls are counted in each process
  for (const auto* d : {&small_ticks()[0], &small_ticks()[1], &small_ticks()[5]}) {
    SCOPED_TRACE(d->name);
    const auto q = source(e, d->rows);
    const auto id = [](auto t) { return t.id; };
    const auto amount = [](auto t) { return t.amount; };
    const auto pair = counted([](const tick& a, const tick& b) { return tick{a.id, b.key, a.amount, b.price}; });
    const auto left_pair = counted([](const tick& a, const std::optional<tick>& b) { return tick{a.id, b->key, a.amount, b->price}; });
    const auto right_pair = counted([](const std::optional<tick>& a, const tick& b) { return tick{a->id, b.key, a->amount, b.price}; });
    const auto full_pair =
        counted([](const std::optional<tick>& a, const std::optional<tick>& b) { return tick{a->id, b->key, a->amount, b->price}; });
    expect_pairs_shared("join", q.join(q, id, id, pair));
    expect_pairs_shared("left_join", q.left_join(q, id, id, left_pair));
    expect_pairs_shared("right_join", q.right_join(q, id, id, right_pair));
    expect_pairs_shared("full_join", q.full_join(q, id, id, full_pair));
    expect_pairs_shared("semi_join", q.semi_join(q, counted([](const tick& t) { return t.id; }), id));
    expect_pairs_shared("anti_join", q.anti_join(q.take(0), counted([](const tick& t) { return t.id; }), id));
    expect_pairs_shared("asof_join", q.asof_join(q, id, id, amount, amount, left_pair));
    expect_pairs_shared("join_where", q.join_where(q, [](auto a, auto b) { return a.id == b.id; }, pair));
  }
}

CONFORMS(evaluation, for_each_runs_each_row_exactly_once, "for_each") {
  expect_calls("for_each", std::ssize(many_ticks()), [&] { source(e, many_ticks()).for_each([](const tick&) { ++calls; }); });
}

}  // namespace
}  // namespace conformance
