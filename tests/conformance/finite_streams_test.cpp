// Sources with an end whose rows are handed on all the same: to loops that take them one by one, and to folds that keep
// none.
#include <atomic>
#include <chrono>
#include <thread>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

constexpr std::int64_t many = 1'000'000;
constexpr std::int64_t bounded = 400'000;  // calls before the first row: a few parts of 65,536 rows

const std::vector<std::int64_t>& numbers() {
  static const std::vector<std::int64_t> v = [] {
    std::vector<std::int64_t> n;
    for (std::int64_t i = 0; i < many; ++i) n.push_back(i);
    return n;
  }();
  return v;
}
query::Session with_memory(const engine_config& e, std::size_t bytes) {
  return query::Session({.threads = 2, .memory_limit = bytes, .interpret = std::string(e.column) == "interpreter"});
}
std::int64_t sum_of(std::span<const std::int64_t> r) {
  std::int64_t s = 0;
  for (const auto x : r) s += x;
  return s;
}

// make(counted rows): the first row of a loop costs few calls, and all rows are those of to_vector().
template <class Make> void check_first_row(const engine_config& e, const char* verb, Make make) {
  SCOPED_TRACE(verb);
  std::atomic<std::int64_t> calls = 0;
  const auto q = make(source(e, numbers()).select([&](const std::int64_t& x) { return ++calls, x; }));
  for (const auto& row : q) {
    (void)row;
    break;
  }
  // A verb that the GPU took has read its whole input.
  const auto most = e.accelerate ? std::ssize(numbers()) : bounded;
  EXPECT_GT(calls, 0);
  EXPECT_LE(calls, most);
  calls = 0;
  (void)q.first();
  EXPECT_LE(calls, most);
  const auto wanted = q.to_vector();
  std::size_t n = 0;
  bool same = true;
  for (const auto& row : q) {
    same = same && n < wanted.size() && row == wanted[n];
    ++n;
  }
  EXPECT_TRUE(same || in_partitions(e));  // which a loop does not use: rows of a set come in another order
  EXPECT_EQ(n, wanted.size());
}

CONFORMS(finite_streams, a_loop_gets_its_first_row_early, "begin", "first", "chunk", "window", "distinct", "union_with",
         "zip", "concat", "take_while", "skip", "skip_while", "default_if_empty", "take") {
  const auto other = source(e, numbers());
  check_first_row(e, "chunk", [](auto q) { return q.chunk(3, sum_of); });
  check_first_row(e, "window", [](auto q) { return q.window(3, sum_of, 2); });
  check_first_row(e, "distinct", [](auto q) { return q.distinct(); });
  check_first_row(e, "union_with", [&](auto q) { return q.union_with(other); });
  check_first_row(e, "zip", [&](auto q) {
    return q.zip(other, [](const std::int64_t& a, const std::int64_t& b) { return a + b; });
  });
  check_first_row(e, "concat", [&](auto q) { return q.concat(other); });
  check_first_row(e, "take_while", [](auto q) { return q.take_while([](const std::int64_t& x) { return x >= 0; }); });
  check_first_row(e, "skip", [](auto q) { return q.skip(10); });
  check_first_row(e, "skip_while", [](auto q) { return q.skip_while([](const std::int64_t& x) { return x < 10; }); });
  check_first_row(e, "default_if_empty",
                  [](auto q) { return q.where([](const std::int64_t& x) { return x >= 0; }).default_if_empty(1); });
  check_first_row(e, "one over another", [&](auto q) {
    return q.concat(other).chunk(2, sum_of).take_while([](const std::int64_t& x) { return x >= 0; }).distinct();
  });
}

// The rows are there: what must wait is the function above them.
CONFORMS(finite_streams, functions_over_a_table_are_called_as_rows_are_wanted, "begin", "chunk", "take_while", "zip") {
  const auto rows = source(e, numbers());
  std::atomic<std::int64_t> calls = 0;
  const auto first = [&](const char* verb, const auto& q) {
    SCOPED_TRACE(verb);
    calls = 0;
    for (const auto& row : q) {
      EXPECT_EQ(row, row);
      break;
    }
    EXPECT_GT(calls, 0);
    EXPECT_LT(calls, bounded);
  };
  first("chunk", rows.chunk(2, [&](std::span<const std::int64_t> r) { return ++calls, sum_of(r); }));
  first("take_while", rows.take_while([&](const std::int64_t& x) { return ++calls, x >= 0; }));
  first("zip", rows.zip(rows, [&](const std::int64_t& a, const std::int64_t& b) { return ++calls, a + b; }));
  first("cross_join",
        rows.cross_join(rows.take(3), [&](const std::int64_t& a, const std::int64_t& b) { return ++calls, a + b; }));
  EXPECT_EQ(rows.take_while([](const std::int64_t& x) { return x < 700'000; }).count(), 700'000);
}

CONFORMS(finite_streams, folds_keep_no_rows_of_a_generator, "take", "take_while", "count", "sum", "group_by", "reduce",
         "generate", "in") {
  if (e.accelerate) return;              // its sessions are those with a GPU
  static constexpr std::int64_t n = 3'000'000;  // 24 MB
  const query::Session small = with_memory(e, std::size_t{16} << 20);  // 11 are used, or less if threads take turns
  const auto naturals =
      query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }).in(small).timeout(300);
  EXPECT_EQ(naturals.take(n).count(), n);
  EXPECT_EQ(naturals.take(n).sum(), n * (n - 1) / 2);
  EXPECT_EQ(naturals.take_while([](auto x) { return x < n; }).where([](auto x) { return x % 2 == 0; }).count(), n / 2);
  EXPECT_EQ(naturals.take_while([](const std::int64_t& x) { return x < n; }).max(), n - 1);
  EXPECT_EQ(naturals.take(n).chunk(3, sum_of).sum(), n * (n - 1) / 2);
  EXPECT_EQ(naturals.take(n).count_by([](auto x) { return x % 7; }).count(), 7);
  EXPECT_EQ(naturals.take(n).reduce([](auto g) { return g.max([](auto x) { return x; }); }), n - 1);
  EXPECT_EQ(naturals.skip(5)
                .take(n)
                .semi_join(
                    query::range(std::int64_t{0}, 100), [](auto x) { return x; }, [](auto x) { return x; })
                .count(),
            95);
  EXPECT_EQ(small.memory_used(), 0u);
}

// Computed rows go to a reader while others are computed, but never far ahead of it.
CONFORMS(finite_streams, a_slow_reader_has_a_few_parts_in_memory, "for_each", "select", "in") {
  if (e.accelerate) return;
  const query::Session small = with_memory(e, std::size_t{12} << 20);  // 16 MB of pairs
  const auto rows = query::from(numbers()).in(small).select([](auto x) { return std::pair(x, x + 1); });
  std::int64_t next = 0;
  rows.for_each([&](const std::pair<std::int64_t, std::int64_t>& x) {
    if (x.first % 500'000 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(50));  // time to compute all of them meanwhile
    next += x.first == next && x.second == next + 1;
  });
  EXPECT_EQ(next, many);
  EXPECT_EQ(small.memory_used(), 0u);
}

CONFORMS(finite_streams, pairs_are_not_all_in_memory, "cross_join", "where", "count", "sum", "group_by", "join",
         "do_while", "in") {
  if (e.accelerate) return;
  static constexpr std::int64_t side = 2000;  // 4,000,000 pairs: 32 MB of numbers
  const query::Session small = with_memory(e, std::size_t{24} << 20);
  const auto pairs =
      query::range(std::int64_t{0}, side).in(small).cross_join(query::range(std::int64_t{0}, side), [](auto a, auto b) {
        return a * side + b;
      });
  static constexpr std::int64_t n = side * side;
  EXPECT_EQ(pairs.count(), n);
  EXPECT_EQ(pairs.sum(), n * (n - 1) / 2);
  EXPECT_EQ(pairs.where([](auto x) { return x % 1000 == 0; }).count(), n / 1000);
  EXPECT_EQ(pairs.where([](auto x) { return x % 1000 == 7; }).to_vector().size(), static_cast<std::size_t>(n / 1000));
  EXPECT_EQ(pairs.where([](auto x) { return x % 1000 == 7; }).order().first(), 7);
  EXPECT_EQ(pairs.count_by([](auto x) { return x % 7; }).count(), 7);
  EXPECT_EQ(pairs.group_by([](auto x) { return x % 7; }).select([](auto g) { return g.count(); }).sum(), n);
  EXPECT_EQ(pairs
                .join(
                    query::range(std::int64_t{0}, 100), [](auto x) { return x; }, [](auto x) { return x; },
                    [](auto a, auto) { return a; })
                .count(),
            100);
  EXPECT_EQ(pairs.take_while([](auto x) { return x < n; }).count(), n);
  std::int64_t seen = 0;
  bool in_order = true;
  for (const std::int64_t x : pairs) in_order = in_order && x == seen++;
  EXPECT_TRUE(in_order);
  EXPECT_EQ(seen, n);
  const auto body = [](query::Query<std::int64_t> x) {
    const auto digit = query::range(std::int64_t{0}, side);
    const auto append = [](auto a, auto b) { return a * side + b; };
    return x.cross_join(digit, append).cross_join(digit, append).where([](auto v) { return v == n - 1; });
  };
  EXPECT_ROWS(query::range(std::int64_t{0}, 1).in(small).do_while(body, query::times(1)).to_vector(), std::vector<std::int64_t>{n - 1});
  EXPECT_EQ(small.memory_used(), 0u);
}

CONFORMS(finite_streams, pairs_of_nothing_and_sums_of_pairs, "cross_join", "sum") {
  const std::vector<double> none, some = {0.1, 0.7, 1e-3};
  std::vector<double> long_side;
  for (int i = 0; i < 50'000; ++i) long_side.push_back(1.0 / (i + 1));
  const auto product = [](auto a, auto b) { return a * b; };
  EXPECT_EQ(source(e, none).cross_join(source(e, some), product).count(), 0);
  EXPECT_EQ(source(e, some).cross_join(source(e, none), product).count(), 0);
  EXPECT_EQ(source(e, some).cross_join(source(e, some), product).where([](auto x) { return x > 0; }).to_vector().size(),
            9u);
  // The same to the last bit, whatever the number of threads.
  static const double sum =
      query::from(long_side).in(query::Session({.threads = 1})).cross_join(query::from(some), product).sum();
  const double got = source(e, long_side).cross_join(source(e, some), product).sum();
  EXPECT_NEAR(got, sum, e.accelerate || in_partitions(e) ? 1e-12 * sum : 0);
}

CONFORMS(finite_streams, the_plan_says_so, "explain") {
  if (e.accelerate) return;
  const auto streamed = [](const std::string& plan) { return plan.find("streamed") != std::string::npos; };
  const auto rows = source(e, numbers());
  const auto naturals = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  EXPECT_TRUE(streamed(naturals.take(5).explain("sum")));
  EXPECT_TRUE(streamed(rows.cross_join(rows, [](auto a, auto b) { return a + b; }).explain("count")));
  EXPECT_FALSE(streamed(rows.take(5).explain("sum")));
  const auto endless = naturals.cross_join(rows.take(2), [](auto a, auto b) { return 2 * a + b; }).timeout(60);
  EXPECT_ROWS(endless.chunk(3, sum_of).take(2).to_vector(), (std::vector<std::int64_t>{3, 12}));
  EXPECT_FALSE(streamed(rows.cross_join(rows, [](auto a, auto b) { return a + b; }).order().explain()));
}

}  // namespace
}  // namespace conformance
