// The nearest row of a captured table: engines that compute it another way give the row that the expression as written
// gives, the first of equals, whatever the numbers are.
#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

#include <cmath>
#include <limits>

namespace conformance {
namespace {

template <std::size_t D> struct Spot {
  std::int64_t id;
  std::array<float, D> x;
};
using Spot5 = Spot<5>;
using Spot20 = Spot<20>;
using Spot72 = Spot<72>;
QUERY_RECORD(Spot5, id, x);
QUERY_RECORD(Spot20, id, x);
QUERY_RECORD(Spot72, id, x);

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

enum class numbers { spread, tied, far_away, huge, tiny, special };

template <std::size_t D> std::vector<Spot<D>> spots(std::size_t n, numbers kind, std::uint32_t state) {
  std::vector<Spot<D>> all(n);
  const auto next = [&] { return (state = state * 1664525u + 1013904223u) >> 8; };
  for (std::size_t i = 0; i < n; ++i) {
    all[i].id = static_cast<std::int64_t>(i);
    for (float& x : all[i].x) {
      const float u = static_cast<float>(next()) * (2.0f / 16777216.0f) - 1.0f;
      switch (kind) {
        case numbers::spread:
          x = u;
          break;
        case numbers::tied:
          x = static_cast<float>(next() % 3);
          break;
        case numbers::far_away:
          x = 10000.0f + u;
          break;
        case numbers::huge:
          x = u * 1e19f;
          break;
        case numbers::tiny:
          x = u * 1e-22f;
          break;
        case numbers::special:
          x = next() % (9 * D) == 0   ? nan
              : next() % (9 * D) == 0 ? infinity
              : next() % (9 * D) == 0 ? 1e30f
              : next() % (9 * D) == 0 ? -1e-30f
                                      : u;
      }
    }
  }
  return all;
}

template <std::size_t D> std::vector<int> nearest(const std::vector<Spot<D>>& rows, const std::vector<Spot<D>>& table) {
  std::vector<int> all;
  for (const auto& p : rows) {
    int best = 0;
    for (std::size_t k = 1; k < table.size(); ++k)
      if (query::squared_distance(p.x, table[k].x) <
          query::squared_distance(p.x, table[static_cast<std::size_t>(best)].x))
        best = static_cast<int>(k);
    all.push_back(best);
  }
  return all;
}

template <std::size_t D>
void finds(const engine_config& e, std::size_t n, std::size_t k, numbers kind, bool first_is_nan = false) {
  SCOPED_TRACE(std::to_string(D) + " dimensions, " + std::to_string(k) + " rows of kind " +
               std::to_string(static_cast<int>(kind)));
  const auto rows = spots<D>(n, kind, 7);
  auto table = spots<D>(k, kind, 99);
  if (first_is_nan) table[0].x[D - 1] = nan;
  const std::vector<int> wanted = nearest(rows, table);
  const auto c = query::broadcast(table);
  const auto answer = [c](auto p) {
    return c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); });
  };
  EXPECT_EQ(source(e, rows).select(answer).to_vector(), wanted);
  std::vector<std::pair<int, std::int64_t>> counts;
  for (std::size_t i = 0; i < k; ++i)
    if (const auto count = std::count(wanted.begin(), wanted.end(), static_cast<int>(i)))
      counts.emplace_back(static_cast<int>(i), count);
  EXPECT_EQ(source(e, rows)
                .group_by(answer)
                .select([](auto g) { return std::pair(g.key(), g.count()); })
                .order_by([](auto g) { return g.first; })
                .to_vector(),
            counts);
}

// Engines that are accelerated search fewer rows as the CPU does: those get as many as they search their own way. The CPU has one way, and
// sanitizers slow it.
CONFORMS(nearest, rows_are_those_that_the_expression_gives, "select", "group_by", "broadcast") {
  for (const numbers kind :
       {numbers::spread, numbers::tied, numbers::far_away, numbers::huge, numbers::tiny, numbers::special}) {
    const bool many = e.accelerate || kind == numbers::spread;
    finds<20>(e, many ? 5001 : 1301, 40, kind);
    finds<5>(e, many ? 4096 : 1024, 121, kind);
  }
  finds<20>(e, e.accelerate ? 5000 : 1300, 40, numbers::spread, true);
  for (const numbers kind : {numbers::spread, numbers::tied, numbers::special}) finds<72>(e, e.accelerate ? 4200 : 1100, 200, kind);
}

// A thousand groups and a filter before them.
CONFORMS(nearest, means_of_many_groups, "where", "select", "group_by", "broadcast") {
  const auto rows = spots<20>(e.accelerate ? 20000 : 6000, numbers::spread, 3), table = spots<20>(1000, numbers::spread, 4);
  const std::vector<int> answers = nearest(rows, table);
  std::vector<std::array<double, 20>> sums(table.size());
  std::vector<std::int64_t> counts(table.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].id % 3 == 0) continue;
    const auto g = static_cast<std::size_t>(answers[i]);
    ++counts[g];
    for (std::size_t d = 0; d < 20; ++d) sums[g][d] += static_cast<double>(rows[i].x[d]);
  }
  const auto c = query::broadcast(table);
  const auto found =
      source(e, rows)
          .where([](auto p) { return p.id % 3 != 0; })
          .select([c](auto p) {
            return std::pair(c.arg_min(p, [](auto p, auto m) { return query::squared_distance(p.x, m.x); }), p.x);
          })
          .group_by([](auto a) { return a.first; })
          .select([](auto g) { return query::make<Spot20>(g.key(), g.mean([](auto a) { return a.second; })); })
          .order_by([](auto m) { return m.id; })
          .to_vector();
  std::size_t at = 0;
  for (std::size_t k = 0; k < table.size(); ++k) {
    if (counts[k] == 0) continue;
    ASSERT_LT(at, found.size());
    EXPECT_EQ(found[at].id, static_cast<std::int64_t>(k));
    for (std::size_t d = 0; d < 20; ++d)
      ASSERT_NEAR(found[at].x[d], sums[k][d] / static_cast<double>(counts[k]), 1e-5) << k << ", " << d;
    ++at;
  }
  EXPECT_EQ(at, found.size());
}

}  // namespace
}  // namespace conformance
