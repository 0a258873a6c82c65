// Aggregates that need the rows of a group side by side, or in order, over more rows than a piece of any engine's fold: distinct
// values, quantiles, lists, folds of one's own; and aggregates of all rows. Few groups, many groups, one a row.
#include <cmath>
#include <random>
#include <set>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct reading {
  std::int32_t key;
  std::int64_t at;
  std::int32_t level;
  std::optional<std::int32_t> lot;
  double price;
};
QUERY_RECORD(reading, key, at, level, lot, price);
struct span_state {
  std::int64_t n, first, last;
};
QUERY_RECORD(span_state, n, first, last);

std::vector<reading> readings(std::size_t n, std::int32_t groups) {
  std::mt19937_64 random(n + static_cast<std::size_t>(groups));
  std::vector<reading> rows(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = random();
    rows[i] = {static_cast<std::int32_t>(x % static_cast<std::uint64_t>(groups)) - 3, static_cast<std::int64_t>(i),
               static_cast<std::int32_t>(x >> 20 & 0xff) - 128, std::nullopt, static_cast<double>(x >> 30 & 0xfff) / 8 - 100};
    if (x >> 60 & 1) rows[i].lot = static_cast<std::int32_t>(x >> 50 & 0x3f);
  }
  return rows;
}
struct named_rows {
  std::string name;
  std::vector<reading> rows;
};
const std::vector<named_rows>& all_readings() {
  static const std::vector<named_rows> all = {{"none", {}},
                                              {"one row", readings(1, 1)},
                                              {"one group", readings(70001, 1)},
                                              {"few groups", readings(70000, 7)},
                                              {"groups at the borders of pieces", readings(33, 2)},
                                              {"many groups", readings(50000, 20000)}};
  return all;
}

template <class T> double quantile_of(std::vector<T> v, double q) {
  std::sort(v.begin(), v.end());
  const double rank = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double low = static_cast<double>(v[below]), part = rank - static_cast<double>(below);
  return part == 0 || below + 1 == v.size() ? low : low + part * (static_cast<double>(v[below + 1]) - low);
}
template <class F> auto values_of(const std::vector<reading>& rows, F f) {
  std::vector<std::decay_t<decltype(f(rows[0]))>> all;
  for (const reading& r : rows) all.push_back(f(r));
  return all;
}
auto present(const std::vector<reading>& rows) {
  std::vector<std::int32_t> all;
  for (const reading& r : rows)
    if (r.lot) all.push_back(*r.lot);
  return all;
}
template <class T> std::int64_t distinct_of(const std::vector<T>& v) {
  return static_cast<std::int64_t>(std::set<T>(v.begin(), v.end()).size());
}
std::optional<double> median_of_lots(const std::vector<reading>& rows) {
  const auto lots = present(rows);
  return lots.empty() ? std::nullopt : std::optional(quantile_of(lots, 0.5));
}
auto by_key(const std::vector<reading>& rows) {
  return grouped(rows, [](const reading& r) { return r.key; });
}
// The engine that is asked for has the vertex.
template <class Q> void runs_there(const engine_config& e, const Q& q) {
  if (!e.accelerate) return;
  EXPECT_TRUE(planned_there(q.explain()));
}

CONFORMS(ordered_folds, distinct_values_and_quantiles, "group_by.select", "as_ordered") {
  for (const auto& d : all_readings()) {
    SCOPED_TRACE(d.name);
    using figures = std::tuple<std::int32_t, std::int64_t, double, double, std::int64_t, std::optional<double>, std::int64_t>;
    std::vector<figures> wanted;
    for (const auto& [k, rows] : by_key(d.rows)) {
      const auto price = values_of(rows, [](const reading& r) { return r.price; });
      wanted.emplace_back(k, distinct_of(values_of(rows, [](const reading& r) { return r.level; })), quantile_of(price, 0.5),
                          quantile_of(price, 0.9), distinct_of(present(rows)), median_of_lots(rows),
                          static_cast<std::int64_t>(rows.size()));
    }
    const auto q = source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      const auto lot = [](auto t) { return t.lot; };
      const auto price = [](auto t) { return t.price; };
      return std::make_tuple(g.key(), g.count_distinct([](auto t) { return t.level; }), g.median(price), g.quantile(price, 0.9),
                             g.count_distinct(lot), g.median(lot), g.count());
    });
    runs_there(e, q);
    EXPECT_EQ(q.as_ordered().to_vector(), wanted);
    auto got = q.to_vector();
    std::sort(got.begin(), got.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(got, wanted);
  }
}

CONFORMS(ordered_folds, distinct_doubles_know_zeros_and_nans, "group_by.select") {
  const double nan = std::nan("");
  const std::vector<double> rows = {0.0, -0.0, nan, 1.5, -nan, 1.5, 2.5, nan};
  const auto q = source(e, rows).group_by([](auto x) { return x == x; }).select([](auto g) {
    return std::make_tuple(g.key(), g.count_distinct([](auto x) { return x; }), g.count());
  });
  runs_there(e, q);
  EXPECT_EQ(q.as_ordered().to_vector(), (std::vector<std::tuple<bool, std::int64_t, std::int64_t>>{{true, 3, 5}, {false, 1, 3}}));
}

CONFORMS(ordered_folds, lists_in_source_order, "group_by.select") {
  for (const auto& d : all_readings()) {
    SCOPED_TRACE(d.name);
    std::vector<std::tuple<std::int32_t, std::vector<std::int64_t>, std::vector<std::optional<std::int32_t>>>> wanted;
    for (const auto& [k, rows] : by_key(d.rows)) {
      wanted.emplace_back(k, values_of(rows, [](const reading& r) { return r.at; }),
                          values_of(rows, [](const reading& r) { return r.lot; }));
    }
    const auto q = source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      return std::make_tuple(g.key(), g.collect([](auto t) { return t.at; }), g.collect([](auto t) { return t.lot; }));
    });
    runs_there(e, q);
    EXPECT_EQ(q.as_ordered().to_vector(), wanted);
  }
}

// combine takes earlier and later rows: a fold that is not commutative.
CONFORMS(ordered_folds, of_ones_own_meet_in_order, "aggregate_by", "group_by.select") {
  for (const auto& d : all_readings()) {
    SCOPED_TRACE(d.name);
    std::vector<std::tuple<std::int32_t, span_state>> wanted;
    for (const auto& [k, rows] : by_key(d.rows))
      wanted.emplace_back(k, span_state{static_cast<std::int64_t>(rows.size()), rows.front().at, rows.back().at});
    const auto q = source(e, d.rows).where([](auto t) { return t.at >= 0; }).aggregate_by(
        [](auto t) { return t.key; }, span_state{0, -1, -1},
        [](auto s, auto t) { return query::make<span_state>(s.n + 1, query::iff(s.n == 0, t.at, s.first), t.at); },
        [](auto a, auto b) {
          return query::make<span_state>(a.n + b.n, query::iff(a.n == 0, b.first, a.first), query::iff(b.n == 0, a.last, b.last));
        });
    runs_there(e, q);
    const auto got = q.as_ordered().to_vector();
    ASSERT_EQ(got.size(), wanted.size());
    for (std::size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(std::get<0>(got[i]), std::get<0>(wanted[i]));
      const span_state a = std::get<1>(got[i]), b = std::get<1>(wanted[i]);
      EXPECT_EQ(std::tuple(a.n, a.first, a.last), std::tuple(b.n, b.first, b.last)) << i;
    }
  }
}

CONFORMS(ordered_folds, of_all_rows, "aggregate", "reduce") {
  for (const auto& d : all_readings()) {
    SCOPED_TRACE(d.name);
    const auto rows = source(e, d.rows);
    std::int64_t sum = 0;
    std::optional<std::int32_t> least;
    for (std::size_t i = 0; i < d.rows.size(); ++i) {
      sum += d.rows[i].level;
      least = least ? std::min<std::int32_t>(*least, d.rows[i].level) : d.rows[i].level;
    }
    const auto q = rows.aggregate([](auto g) {
      const auto level = [](auto t) { return t.level; };
      return std::make_tuple(g.count(), g.sum(level), g.min(level), g.any([](auto t) { return t.level > 100; }));
    });
    runs_there(e, q);
    const bool any = std::any_of(d.rows.begin(), d.rows.end(), [](const reading& r) { return r.level > 100; });
    using figures = std::tuple<std::int64_t, std::int64_t, std::optional<std::int32_t>, bool>;
    const auto count = static_cast<std::int64_t>(d.rows.size());
    EXPECT_EQ(q.to_vector(), (std::vector<figures>{{count, sum, least, any}}));
    // Nothing is left: the row is there all the same.
    const auto none = rows.where([](auto t) { return t.at < 0; }).aggregate([](auto g) {
      return std::make_tuple(g.count(), g.min([](auto t) { return t.level; }));
    });
    EXPECT_EQ(none.to_vector(), (std::vector<std::tuple<std::int64_t, std::optional<std::int32_t>>>{{0, std::nullopt}}));
    const auto in_order = rows.aggregate([](auto g) {
      const auto lot = [](auto t) { return t.lot; };
      return std::make_tuple(g.count_distinct(lot), g.median(lot), g.collect([](auto t) { return t.at; }));
    });
    runs_there(e, in_order);
    using lists = std::tuple<std::int64_t, std::optional<double>, std::vector<std::int64_t>>;
    EXPECT_EQ(in_order.to_vector(), (std::vector<lists>{{distinct_of(present(d.rows)), median_of_lots(d.rows),
                                                         values_of(d.rows, [](const reading& r) { return r.at; })}}));
    if (d.rows.empty()) continue;
    const auto prices = values_of(d.rows, [](const reading& r) { return r.price; });
    EXPECT_EQ(rows.max_by([](auto t) { return t.price; })->price, quantile_of(prices, 1.0));
    EXPECT_EQ(rows.aggregate(std::int64_t{0}, [](auto s, auto t) { return s + t.level; }, [](auto a, auto b) { return a + b; }), sum);
  }
}

}  // namespace
}  // namespace conformance
