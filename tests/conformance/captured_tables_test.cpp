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

// Rows that an engine keeps a field a column, read as records: by one query after the other, and by all rounds of a loop.
CONFORMS(captured_tables, are_rows_of_cached_queries_too, "where", "select", "do_while", "cached", "broadcast") {
  const auto rows = points(700);
  for (const std::size_t m : {1, 40, 900}) {
    SCOPED_TRACE(m);
    std::vector<step> steps(m);
    std::vector<mark> marks(m);
    std::vector<named> names(m);
    for (std::size_t i = 0; i < m; ++i) {
      const auto from = static_cast<std::int32_t>(i * 7 % 401);
      steps[i] = {from, from + 20, static_cast<float>(i % 16)};
      marks[i] = {static_cast<std::int8_t>(i % 100), static_cast<std::int8_t>(i % 23), i % 3 == 0};
      names[i] = {i % 2 ? "odd" : "even, in more characters than a short string has", static_cast<std::int64_t>(i)};
    }
    const auto among = [&](const point& p) {
      const auto holds = [&](const step& s) { return s.from <= p.k && p.k < s.to; };
      return std::any_of(steps.begin(), steps.end(), holds);
    };
    const auto weight = [&](const point& p) {
      std::int64_t all = 0;
      for (const mark& k : marks) all += k.on && k.b == p.k % 23 ? k.a : 0;
      for (const named& n : names) all += n.name.size() == 3 && n.value < p.k ? 1 : 0;
      return all;
    };
    const auto s = query::broadcast(source(e, steps).cached());
    const auto k = query::broadcast(source(e, marks).cached());
    const auto n = query::broadcast(source(e, names).cached());
    const auto has_step = [s](auto p) { return s.any(p, [](auto p, auto s) { return s.from <= p.k && p.k < s.to; }); };
    const auto weight_of = [k, n](auto p) {
      return k.sum(p, [](auto p, auto m) { return query::iff(m.on && m.b == p.k % 23, query::cast<std::int64_t>(m.a), 0); }) +
             n.count(p, [](auto p, auto n) { return n.name.size() == 3 && n.value < p.k; });
    };
    std::vector<std::int64_t> weights;
    for (const point& p : rows)
      if (among(p)) weights.push_back(p.x + weight(p));
    for (int again = 0; again < 2; ++again)
      EXPECT_ROWS(source(e, rows).where(has_step).select([weight_of](auto p) { return p.x + weight_of(p); }).to_vector(), weights);
    std::vector<std::int64_t> x;
    std::vector<std::int32_t> place;
    std::vector<point> moved = rows;
    constexpr int rounds = 6;
    for (int round = 0; round < rounds; ++round) {
      std::vector<point> next;
      for (const point& p : moved)
        if (among(p)) next.push_back({p.x + weight(p), (p.k * 3 + 1) % 509});
      moved = std::move(next);
    }
    for (const point& p : moved) x.push_back(p.x), place.push_back(p.k);
    const auto loop = source(e, rows).do_while(
        [&](query::Query<point> now) {
          return now.where(has_step).select([weight_of](auto p) { return query::make<point>(p.x + weight_of(p), (p.k * 3 + 1) % 509); });
        },
        query::times(rounds));
    EXPECT_ROWS(loop.select([](auto p) { return p.x; }).to_vector(), x);
    EXPECT_ROWS(loop.select([](auto p) { return p.k; }).to_vector(), place);
  }
}

// A handle that the condition gives other rows: each round sees those of its own.
CONFORMS(captured_tables, that_code_between_rounds_replaces, "do_while", "select", "broadcast") {
  const auto start = numbers(300);
  std::vector<std::int64_t> wanted = start, table = {1, 2, 3};
  for (int round = 1; round <= 5; ++round)
    for (std::int64_t& x : wanted) x += 6 * round;
  auto c = query::broadcast(table);
  int round = 1;
  const auto q = source(e, start).do_while(
      [&](query::Query<std::int64_t> now) { return now.select([&c](auto x) { return x + c.sum(x, [](auto, auto t) { return t; }); }); },
      [&](std::span<const std::int64_t>, std::span<const std::int64_t>) {
        ++round;
        std::vector<std::int64_t> next = table;
        for (std::int64_t& t : next) t *= round;
        c = query::broadcast(next);
        return round <= 5;
      });
  EXPECT_ROWS(q.to_vector(), wanted);
}

}  // namespace
}  // namespace conformance
