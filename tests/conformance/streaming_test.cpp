// Rows read as they are computed: range-for, leaving early, several readers, generators behind them.
#include <atomic>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

CONFORMS(streaming, range_for_gives_all_rows_in_order, "begin", "end") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 0; };
    std::vector<tick> rows, sorted;
    for (const tick& t : source(e, d.rows).where(p)) rows.push_back(t);
    EXPECT_ROWS(rows, kept(d.rows, p));
    std::vector<std::int64_t> amounts, wanted = selected(d.rows, [](const tick& t) { return t.amount; });
    std::sort(wanted.begin(), wanted.end());
    for (const tick& t : source(e, d.rows).order_by([](auto t) { return t.amount; })) amounts.push_back(t.amount);
    EXPECT_EQ(amounts, wanted);
  }
}

CONFORMS(streaming, leaving_the_loop_stops_the_query, "begin", "end", "generate") {
  for (const std::size_t wanted : {1u, 1000u, 1024u, 5000u}) {
    std::vector<std::int64_t> rows;
    const auto naturals = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
    for (const std::int64_t x : naturals.where([](auto v) { return v % 2 == 1; })) {
      rows.push_back(x);
      if (rows.size() == wanted) break;
    }
    ASSERT_EQ(rows.size(), wanted);
    for (std::size_t i = 0; i < wanted; ++i) ASSERT_EQ(rows[i], static_cast<std::int64_t>(2 * i + 1));
  }
}

CONFORMS(streaming, a_reader_that_leaves_early_computes_little, "begin", "take", "first") {
  static std::atomic<std::int64_t> calls;
  std::vector<tick> rows;
  for (int i = 0; i < 2000000; ++i) rows.push_back({i, i % 7, i, 0.5});
  const auto q = source(e, rows).where(query::opaque([](const tick& t) {
    ++calls;
    return t.id >= 0;
  }));
  calls = 0;
  for (const tick& t : q)
    if (t.id == 10) break;
  EXPECT_LT(calls, 1500000);
  calls = 0;
  EXPECT_EQ(q.take(3).to_vector().size(), 3u);
  EXPECT_LT(calls, 1500000);
  calls = 0;
  EXPECT_EQ(q.first().id, 0);
  EXPECT_LT(calls, 1500000);
}

CONFORMS(streaming, readers_are_independent, "begin", "end") {
  const auto& rows = many_ticks();
  const auto q = source(e, rows).where([](auto t) { return t.amount > 0; });
  const auto wanted = kept(rows, [](const tick& t) { return t.amount > 0; });
  auto a = q.begin(), b = q.begin();
  for (int i = 0; i < 2000; ++i) ++a;
  EXPECT_EQ(text(*a), text(wanted[2000]));
  EXPECT_EQ(text(*b), text(wanted[0]));
  std::int64_t pairs = 0;
  for (const tick& t : q.take(3))
    for (const tick& u : q.take(4)) pairs += t.id >= 0 && u.id >= 0;
  EXPECT_EQ(pairs, 12);
}

CONFORMS(streaming, a_temporary_query_may_be_read, "begin", "end") {
  std::int64_t sum = 0;
  for (const auto x : on(e, query::from(std::vector<int>{1, 2, 3})).select([](auto v) { return v * 2; })) sum += x;
  EXPECT_EQ(sum, 12);
}

}  // namespace
}  // namespace conformance
