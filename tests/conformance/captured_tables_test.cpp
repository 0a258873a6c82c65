// Captured collections of all sizes: engines that keep small ones nearer to their functions give what large ones give.
#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

#include <algorithm>
#include <numeric>

namespace conformance {
namespace {

struct point {
  std::int64_t x;
  std::int32_t k;
};
QUERY_RECORD(point, x, k);
struct step {  // 12 bytes
  std::int32_t from, to;
  float rate;
};
QUERY_RECORD(step, from, to, rate);
struct mark {  // 3 bytes
  std::int8_t a, b;
  bool on;
};
QUERY_RECORD(mark, a, b, on);
struct named {
  std::string name;
  std::int64_t value;
};
QUERY_RECORD(named, name, value);

std::vector<point> points(std::size_t n) {
  std::vector<point> all(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto number = static_cast<std::int64_t>((i * 2654435761u) % 4099);
    all[i] = {number - 2000, static_cast<std::int32_t>(number % 509)};
  }
  return all;
}
std::vector<std::int64_t> numbers(std::size_t n) {
  std::vector<std::int64_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<std::int64_t>((i * 48271u) % 1999) - 900;
  return all;
}

// The GPU's limit is at 8 KiB: 1024 of these numbers. One block of rows, and more.
struct amounts {
  std::size_t rows, in_table;
};
constexpr amounts tried[] = {{300, 0}, {300, 1},    {300, 2},    {300, 64},   {1, 1024},
                             {13'000, 31}, {700, 1023}, {700, 1024}, {700, 1025}, {300, 3000}};

template <class F> void each_size(F f) {
  for (const amounts& a : tried) {
    SCOPED_TRACE(std::to_string(a.rows) + " rows, " + std::to_string(a.in_table) + " in the table");
    f(points(a.rows), numbers(a.in_table));
  }
}

CONFORMS(captured_tables, are_walked_in_folds, "sum", "count", "broadcast") {
  each_size([&](const std::vector<point>& rows, const std::vector<std::int64_t>& table) {
    std::int64_t sum = 0, below = 0;
    for (const point& p : rows) {
      for (const std::int64_t t : table) sum += t < p.x ? t : 1;
      below += std::any_of(table.begin(), table.end(), [&](std::int64_t t) { return t == p.x; });
    }
    const auto c = query::broadcast(table);
    const auto smaller = [](auto p, auto t) { return query::iff(t < p.x, t, 1); };
    EXPECT_EQ(source(e, rows).select([=](auto p) { return c.sum(p, smaller); }).sum(), sum);
    EXPECT_EQ(source(e, rows).where([c](auto p) { return c.any(p, [](auto p, auto t) { return t == p.x; }); }).count(), below);
  });
}

CONFORMS(captured_tables, are_walked_by_rows_that_stay, "where", "select", "broadcast") {
  each_size([&](const std::vector<point>& rows, const std::vector<std::int64_t>& table) {
    std::vector<std::int64_t> kept, nearest;
    for (const point& p : rows) {
      std::int64_t best = -1, least = 0;
      for (std::size_t i = 0; i < table.size(); ++i)
        if (const std::int64_t d = std::abs(table[i] - p.x); best < 0 || d < least) best = static_cast<std::int64_t>(i), least = d;
      nearest.push_back(best);
      if (std::count_if(table.begin(), table.end(), [&](std::int64_t t) { return t < p.x; }) > std::ssize(table) / 2) kept.push_back(p.x);
    }
    const auto c = query::broadcast(table);
    const std::int64_t half = std::ssize(table) / 2;
    const auto distance = [](auto p, auto t) { return query::abs(t - p.x); };
    EXPECT_ROWS(source(e, rows)
                    .where([c, half](auto p) { return c.count(p, [](auto p, auto t) { return t < p.x; }) > half; })
                    .select([](auto p) { return p.x; })
                    .to_vector(),
                kept);
    EXPECT_ROWS(source(e, rows)
                    .select([=](auto p) { return query::cast<std::int64_t>(c.arg_min(p, distance)); })
                    .to_vector(),
                nearest);
  });
}

CONFORMS(captured_tables, are_indexed_by_the_row, "sum", "where", "select", "broadcast") {
  each_size([&](const std::vector<point>& rows, std::vector<std::int64_t> table) {
    table.resize(std::max<std::size_t>(table.size(), 509), 7);
    std::int64_t sum = 0;
    std::vector<std::int64_t> all, kept;
    for (const point& p : rows) {
      const std::int64_t t = table[static_cast<std::size_t>(p.k)];
      sum += t * p.x;
      all.push_back(t + p.x);
      if (t > 0) kept.push_back(p.x);
    }
    const auto c = query::broadcast(table);
    EXPECT_EQ(source(e, rows).select([c](auto p) { return c[p.k] * p.x; }).sum(), sum);
    EXPECT_ROWS(source(e, rows).select([c](auto p) { return c[p.k] + p.x; }).to_vector(), all);
    EXPECT_ROWS(source(e, rows).where([c](auto p) { return c[p.k] > 0; }).select([](auto p) { return p.x; }).to_vector(), kept);
  });
}

// Rows that no wide load fits, several tables at once, and together too large.
CONFORMS(captured_tables, hold_records_of_any_size_side_by_side, "where", "select", "sum", "broadcast") {
  const auto rows = points(701);
  for (const std::size_t m : {1, 5, 333, 682, 683, 2000}) {
    SCOPED_TRACE(m);
    std::vector<step> steps(m);
    std::vector<mark> marks(m);
    for (std::size_t i = 0; i < m; ++i) {
      steps[i] = {static_cast<std::int32_t>(i * 7 % 401), static_cast<std::int32_t>(i * 7 % 401 + 20), static_cast<float>(i % 16)};
      marks[i] = {static_cast<std::int8_t>(i % 100), static_cast<std::int8_t>(i % 23), i % 3 == 0};
    }
    const auto more = numbers(64);
    std::vector<double> wanted;
    std::int64_t sum = 0;
    for (const point& p : rows) {
      double rate = 0;
      for (const step& s : steps)
        if (s.from <= p.k && p.k < s.to) rate += s.rate;
      std::int64_t marked = 0;
      for (const mark& k : marks)
        if (k.on && k.a > k.b && k.b == p.k % 23) ++marked;
      for (const std::int64_t t : more) sum += t < p.x ? marked : 0;
      if (marked > 0) wanted.push_back(rate + static_cast<double>(marked));
    }
    const auto s = query::broadcast(steps);
    const auto k = query::broadcast(marks);
    const auto n = query::broadcast(more);
    const auto marked = [k](auto p) { return k.count(p, [](auto p, auto m) { return m.on && m.a > m.b && m.b == p.k % 23; }); };
    const auto rate = [s](auto p) {
      return s.sum(p, [](auto p, auto s) { return query::iff(s.from <= p.k && p.k < s.to, query::cast<double>(s.rate), 0.0); });
    };
    EXPECT_ROWS(source(e, rows)
                    .where([=](auto p) { return marked(p) > 0; })
                    .select([=](auto p) { return rate(p) + query::cast<double>(marked(p)); })
                    .to_vector(),
                wanted);
    EXPECT_EQ(source(e, rows)
                  .select([=](auto p) { return n.count(p, [](auto p, auto t) { return t < p.x; }) * marked(p); })
                  .sum(),
              sum);
  }
}

CONFORMS(captured_tables, hold_rows_with_strings, "where", "broadcast") {
  const auto& rows = small_ticks()[3].rows;
  std::vector<named> table;
  for (int i = 0; i < 20; ++i) table.push_back({"number " + std::to_string(i), i - 4});
  std::vector<std::int64_t> wanted;
  for (const tick& t : rows) {
    const auto same = [&](const named& n) { return n.name.size() == 8 && n.value == t.key; };
    if (std::any_of(table.begin(), table.end(), same)) wanted.push_back(t.id);
  }
  const auto c = query::broadcast(table);
  EXPECT_ROWS(source(e, rows)
                  .where([c](auto t) { return c.any(t, [](auto t, auto n) { return n.name.size() == 8 && n.value == t.key; }); })
                  .select([](auto t) { return query::cast<std::int64_t>(t.id); })
                  .to_vector(),
              wanted);
}

// Bound when the query runs, again and again, from small to large.
CONFORMS(captured_tables, are_rows_of_queries_too, "sum", "where", "select", "broadcast") {
  const auto rows = points(1500);
  for (const std::int64_t below : {-2000, -1990, 0, 2100}) {
    SCOPED_TRACE(below);
    std::int64_t sum = 0;
    std::vector<std::int64_t> table;
    for (const point& p : rows)
      if (p.x < below) table.push_back(p.x);
    for (const point& p : rows)
      for (const std::int64_t t : table) sum += t < p.x ? 1 : 0;
    const auto c = query::broadcast(source(e, rows).select([](auto p) { return p.x; }).where([below](auto x) { return x < below; }));
    EXPECT_EQ(source(e, rows).select([c](auto p) { return c.count(p, [](auto p, auto t) { return t < p.x; }); }).sum(), sum);
  }
}

}  // namespace
}  // namespace conformance
