// approx_count_distinct, approx_quantile, top_k_frequent: exact of few values, within their stated errors of many, wherever aggregates
// may stand.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

namespace by = query::aggregates;

const auto key_of = [](auto t) { return t.key; };
const auto amount_of = [](auto t) { return t.amount; };
const auto price_of = [](auto t) { return t.price; };
const auto name_of = [](auto t) { return t.name; };
const auto lot_of = [](auto t) { return t.lot; };

template <class V> std::vector<V> present(const std::vector<std::optional<V>>& values) {
  std::vector<V> r;
  for (const auto& v : values)
    if (v) r.push_back(*v);
  return r;
}
// The sketch itself, fed one value after the other.
template <class V> std::int64_t distinct_of(const std::vector<V>& values) {
  query::distinct_sketch s;
  for (const V& v : values) s.insert(v);
  return s.estimate();
}
template <class V> using counts = std::vector<std::pair<V, std::int64_t>>;
// Exact: in the order of first appearance, the most frequent first.
template <class V> counts<V> frequent(const std::vector<V>& values, std::size_t k) {
  counts<V> all;
  for (const auto& [v, equal] : grouped(values, [](const V& x) { return x; })) all.emplace_back(v, static_cast<std::int64_t>(equal.size()));
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  all.resize(std::min(all.size(), k));
  return all;
}
template <class V> std::int64_t exactly_distinct(const std::vector<V>& values) {
  return static_cast<std::int64_t>(grouped(values, [](const V& x) { return x; }).size());
}

// The distance between the rank of `found` and q (n - 1), as a share of n.
double rank_error(std::vector<double> values, double q, double found) {
  std::sort(values.begin(), values.end(), [](double a, double b) { return before(a, b); });
  const auto less = std::lower_bound(values.begin(), values.end(), found, [](double a, double b) { return before(a, b); });
  const auto not_more = std::upper_bound(values.begin(), values.end(), found, [](double a, double b) { return before(a, b); });
  const double rank = q * static_cast<double>(values.size() - 1);
  const double first = static_cast<double>(less - values.begin()), last = static_cast<double>(not_more - values.begin());
  const double off = rank < first ? first - rank : rank > last ? rank - last : 0;
  return (off < 1 ? 0 : off) / static_cast<double>(values.size());  // between two values, it is interpolated
}
constexpr double most_rank_error = 0.01;

// ---------------------------------------------------------------- approx_count_distinct
CONFORMS(sketches, count_distinct_values_as_the_sketch_itself, "approx_count_distinct", "reduce", "aggregate", "value_of") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const std::int64_t amounts = distinct_of(selected(d.rows, amount_of)), prices = distinct_of(selected(d.rows, price_of));
    EXPECT_EQ(q.approx_count_distinct(amount_of), amounts);
    EXPECT_EQ(q.approx_count_distinct([](auto t) { return t.price; }), prices);
    EXPECT_EQ(q.select([](auto t) { return t.amount; }).approx_count_distinct(), amounts);
    EXPECT_EQ(q.reduce([](auto g) { return g.approx_count_distinct([](auto t) { return t.price; }); }), prices);
    EXPECT_EQ(q.aggregate(by::approx_count_distinct(amount_of), by::approx_count_distinct(price_of)), std::tuple(amounts, prices));
    EXPECT_EQ(query::value_of(q).approx_count_distinct(amount_of).get(), amounts);
    const auto exact = static_cast<double>(exactly_distinct(selected(d.rows, amount_of)));
    EXPECT_LE(std::abs(static_cast<double>(amounts) - exact), exact <= 512 ? 0 : 0.06 * exact);
  }
}

CONFORMS(sketches, count_distinct_values_of_each_type, "approx_count_distinct", "group_by.select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_EQ(q.approx_count_distinct(name_of), distinct_of(selected(d.rows, name_of)));
    EXPECT_EQ(q.approx_count_distinct(lot_of), distinct_of(present(selected(d.rows, lot_of))));
    EXPECT_EQ(q.approx_count_distinct([](auto t) { return t.note; }),
              distinct_of(present(selected(d.rows, [](const trade& t) { return t.note; }))));
    EXPECT_EQ(q.approx_count_distinct([](auto t) { return t.legs; }), distinct_of(selected(d.rows, [](const trade& t) { return t.legs; })));
    EXPECT_EQ(q.approx_count_distinct([](auto t) { return t.way; }),
              exactly_distinct(selected(d.rows, [](const trade& t) { return static_cast<int>(t.way); })));
    EXPECT_EQ(q.approx_count_distinct([](auto t) { return t.hot; }),
              exactly_distinct(selected(d.rows, [](const trade& t) { return static_cast<int>(t.hot); })));
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, key_of)) {
      const auto pairs = selected(rows, [](const trade& t) { return std::pair(t.name, t.lot); });
      wanted.emplace_back(k, distinct_of(selected(rows, price_of)), distinct_of(pairs));
    }
    EXPECT_ROWS(q.group_by(key_of).select([](auto g) {
      return std::tuple(g.key(), g.approx_count_distinct([](auto t) { return t.price; }),
                        g.approx_count_distinct([](auto t) { return std::pair(t.name, t.lot); }));
    }).as_ordered().to_vector(), wanted);
  }
}

CONFORMS(sketches, odd_floats_are_few_values, "approx_count_distinct", "approx_quantile", "top_k_frequent") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const std::vector<double> rows = {0.0, -0.0, nan, inf, -nan, -inf, 0.0, inf, 1};
  const auto q = source(e, rows);
  EXPECT_EQ(q.approx_count_distinct(), 5);
  EXPECT_EQ(q.approx_quantile(0), -inf);
  EXPECT_EQ(q.approx_quantile(0.5), 1);
  EXPECT_TRUE(std::isnan(q.approx_quantile(1).value()));
  const auto most = q.top_k_frequent(2);
  ASSERT_EQ(most.size(), 2u);
  EXPECT_EQ(most[0], (std::pair<double, std::int64_t>(0, 3)));
  EXPECT_TRUE(std::isnan(most[1].first));
  EXPECT_EQ(most[1].second, 2);
}

CONFORMS(sketches, no_rows_and_nulls_alone, "approx_count_distinct", "approx_quantile", "top_k_frequent", "aggregate", "group_by.select") {
  const auto none = source(e, few_trades()).where([](auto t) { return t.id < 0; });
  EXPECT_EQ(none.approx_count_distinct(name_of), 0);
  EXPECT_EQ(none.approx_quantile(price_of, 0.5), std::nullopt);
  EXPECT_TRUE(none.top_k_frequent(name_of, 3).empty());
  EXPECT_EQ(std::get<0>(none.aggregate(by::approx_quantile(lot_of, 0.5))), std::nullopt);
  const std::vector<std::optional<std::int32_t>> nulls(100);
  const auto q = source(e, nulls);
  EXPECT_EQ(q.approx_count_distinct(), 0);
  EXPECT_EQ(q.approx_quantile(0.5), std::nullopt);
  EXPECT_TRUE(q.top_k_frequent(3).empty());
  const auto groups = q.group_by([](auto) { return 1; }).select([](auto g) {
    return std::tuple(g.approx_count_distinct(), g.approx_quantile(0.5), g.top_k_frequent(2));
  });
  using row = std::tuple<std::int64_t, std::optional<double>, counts<std::int32_t>>;
  EXPECT_ROWS(groups.to_vector(), (std::vector<row>{{0, std::nullopt, {}}}));
}

// ---------------------------------------------------------------- approx_quantile
CONFORMS(sketches, quantiles_of_few_values_are_exact, "approx_quantile", "group_by.select", "aggregate_by", "reduce") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    if (d.rows.size() > 1024) continue;
    const auto q = source(e, d.rows);
    for (const double share : {0.0, 0.1, 0.5, 0.99, 1.0}) {
      const auto exact = q.reduce([=](auto g) { return g.quantile(price_of, share); });
      EXPECT_EQ(text(q.approx_quantile(price_of, share)), text(exact));
      EXPECT_EQ(text(std::get<0>(q.aggregate(by::approx_quantile(price_of, share)))), text(exact));
      EXPECT_EQ(text(query::value_of(q).approx_quantile(price_of, share).get()), text(exact));
    }
    const auto exact = q.aggregate_by(key_of, by::median(price_of), by::quantile(amount_of, 0.9)).as_ordered().to_vector();
    EXPECT_ROWS(q.aggregate_by(key_of, by::approx_quantile(price_of, 0.5), by::approx_quantile(amount_of, 0.9)).as_ordered().to_vector(),
                exact);
  }
}

CONFORMS(sketches, quantiles_pass_over_nulls, "approx_quantile", "group_by.select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const auto exact = q.group_by(key_of).select([](auto g) {
      return std::pair(g.key(), g.median([](auto t) { return t.lot; }));
    }).as_ordered().to_vector();
    EXPECT_ROWS(q.group_by(key_of).select([](auto g) {
      return std::pair(g.key(), g.approx_quantile([](auto t) { return t.lot; }, 0.5));
    }).as_ordered().to_vector(), exact);
  }
}

CONFORMS(sketches, quantiles_of_many_values_are_near, "approx_quantile", "group_by.select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    if (d.rows.empty()) continue;
    const auto q = source(e, d.rows);
    const std::vector<double> prices = selected(d.rows, price_of);
    for (const double share : {0.001, 0.25, 0.5, 0.99})
      EXPECT_LE(rank_error(prices, share, q.approx_quantile(price_of, share).value()), most_rank_error) << share;
    EXPECT_EQ(q.approx_quantile(price_of, 0), *std::min_element(prices.begin(), prices.end()));
    EXPECT_EQ(q.approx_quantile(price_of, 1), *std::max_element(prices.begin(), prices.end()));
    const auto found = q.group_by([](auto t) { return t.key % 3; }).select([](auto g) {
      return std::pair(g.key(), g.approx_quantile([](auto t) { return t.amount; }, 0.9));
    }).to_vector();
    const auto groups = grouped(d.rows, [](const tick& t) { return t.key % 3; });
    ASSERT_EQ(found.size(), groups.size());
    for (const auto& [k, v] : found) {
      const auto at = std::find_if(groups.begin(), groups.end(), [k = k](const auto& g) { return g.first == k; });
      ASSERT_NE(at, groups.end());
      EXPECT_LE(rank_error(selected(at->second, [](const tick& t) { return static_cast<double>(t.amount); }), 0.9, v), most_rank_error);
    }
  }
}

// ---------------------------------------------------------------- top_k_frequent
CONFORMS(sketches, frequent_values_of_few_are_exact, "top_k_frequent", "group_by.select", "reduce", "aggregate") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.top_k_frequent(name_of, 5), frequent(selected(d.rows, name_of), 5));
    EXPECT_ROWS(q.top_k_frequent(lot_of, 100'000), frequent(present(selected(d.rows, lot_of)), 100'000));
    EXPECT_ROWS(q.select(name_of).top_k_frequent(3), frequent(selected(d.rows, name_of), 3));
    EXPECT_TRUE(q.top_k_frequent(name_of, 0).empty());
    EXPECT_ROWS(std::get<0>(q.aggregate(by::top_k_frequent(key_of, 4))), frequent(selected(d.rows, key_of), 4));
    EXPECT_ROWS(query::value_of(q).top_k_frequent(key_of, 4).get(), frequent(selected(d.rows, key_of), 4));
    std::vector<std::tuple<std::int32_t, counts<std::string>, counts<std::pair<std::string, std::optional<std::int32_t>>>>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, key_of))
      wanted.emplace_back(k, frequent(selected(rows, name_of), 2), frequent(selected(rows, [](const trade& t) {
                            return std::pair(t.name, t.lot);
                          }), 3));
    EXPECT_ROWS(q.group_by(key_of).select([](auto g) {
      return std::tuple(g.key(), g.top_k_frequent([](auto t) { return t.name; }, 2),
                        g.top_k_frequent([](auto t) { return std::pair(t.name, t.lot); }, 3));
    }).as_ordered().to_vector(), wanted);
  }
}

CONFORMS(sketches, frequent_values_of_many_are_near, "top_k_frequent") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    // A quarter has one of three values, the others are all different.
    const auto value = [](auto t) { return query::iff(t.id % 4 == 0, t.id / 4 % 3, t.id + 10); };
    const std::vector<std::int32_t> values = selected(d.rows, [](const tick& t) { return t.id % 4 == 0 ? t.id / 4 % 3 : t.id + 10; });
    const auto exact = frequent(values, values.size());
    const auto found = source(e, d.rows).top_k_frequent(value, 3);
    ASSERT_EQ(found.size(), std::min<std::size_t>(exact.size(), 3));
    for (const auto& [v, n] : found) {
      const auto at = std::find_if(exact.begin(), exact.end(), [v = v](const auto& c) { return c.first == v; });
      ASSERT_NE(at, exact.end());
      EXPECT_LE(n, at->second);
      EXPECT_GE(n, at->second - static_cast<std::int64_t>(values.size() / 1000));
      EXPECT_TRUE(v < 3 || values.size() <= 10'000) << v;
    }
  }
}

// ---------------------------------------------------------------- all of them
CONFORMS(sketches, of_groups_with_their_rows, "group_by.groups", "group_by.select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    using row = std::tuple<std::int32_t, std::int64_t, double, counts<std::string>>;
    const auto q = source(e, d.rows);
    const auto incrementally = q.group_by(key_of).select([](auto g) {
      return std::tuple(g.key(), g.approx_count_distinct([](auto t) { return t.amount; }),
                        g.approx_quantile([](auto t) { return t.price; }, 0.75), g.top_k_frequent([](auto t) { return t.name; }, 2));
    }).as_ordered().to_vector();
    const auto of_rows = [](const query::Group<std::int32_t, trade>& g) {
      return row(g.key(), g.approx_count_distinct(amount_of), g.approx_quantile(price_of, 0.75), g.top_k_frequent(name_of, 2));
    };
    const auto of_groups = [](auto g) {
      return std::tuple(g.key(), g.approx_count_distinct([](auto t) { return t.amount; }),
                        g.approx_quantile([](auto t) { return t.price; }, 0.75), g.top_k_frequent([](auto t) { return t.name; }, 2));
    };
    if (d.rows.size() <= 1024) {
      EXPECT_ROWS(q.group_by(key_of).select(of_rows).as_ordered().to_vector(), incrementally);
      EXPECT_ROWS(q.group_by(key_of).groups().as_ordered().select(of_groups).to_vector(), incrementally);
    } else {
      EXPECT_EQ(q.group_by(key_of).select(of_rows).count(), static_cast<std::int64_t>(incrementally.size()));
    }
  }
}

CONFORMS(sketches, of_the_whole_group_in_windows, "over") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    std::map<std::int32_t, std::tuple<std::int64_t, std::int64_t, std::size_t>> of_groups;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key % 3; })) {
      const counts<double> most = frequent(selected(rows, price_of), 5);
      of_groups[k] = {distinct_of(selected(rows, amount_of)), most[0].second, most.size()};
    }
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t, std::size_t>> wanted;
    for (const tick& t : d.rows) wanted.push_back(std::tuple_cat(std::tuple(t.id), of_groups[t.key % 3]));
    EXPECT_ROWS(source(e, d.rows).over([](auto t) { return t.key % 3; }).select([](const auto& t, auto w) {
      return std::tuple(t.id, w.approx_count_distinct([](auto x) { return x.amount; }),
                        w.top_k_frequent([](auto x) { return x.price; }, 1)[0].second,
                        w.top_k_frequent([](auto x) { return x.price; }, 5).size());
    }).to_vector(), wanted);
    EXPECT_ROWS(source(e, d.rows).over([](auto t) { return t.id; }).select([](const auto&, auto w) {
      return w.approx_quantile([](auto x) { return x.price; }, 0.5);
    }).to_vector(), selected(d.rows, price_of));
  }
}

// Beyond what is exact, too.
TEST(sketches, do_not_depend_on_the_number_of_threads) {
  std::vector<tick> rows;
  for (std::int32_t i = 0; i < 300'000; ++i) {
    const std::int64_t noise = i * std::int64_t{2'654'435'761} % 1'000'003;
    rows.push_back({i, i % 3, noise % (noise % 5'000 + 1), static_cast<double>(noise)});
  }
  using row = std::tuple<std::int32_t, std::int64_t, double, counts<std::int64_t>>;
  std::vector<std::vector<row>> groups;
  std::vector<std::tuple<std::int64_t, std::optional<double>, counts<std::int64_t>>> of_all;
  for (const int threads : {1, 2, 3, 8}) {
    const query::Session session({.threads = threads, .gpu = query::gpu_use::off});
    const auto q = query::from(rows).in(session);
    groups.push_back(q.group_by(key_of).select([](auto g) {
      return std::tuple(g.key(), g.approx_count_distinct(price_of), g.approx_quantile(price_of, 0.3), g.top_k_frequent(amount_of, 20));
    }).as_ordered().to_vector());
    of_all.emplace_back(q.approx_count_distinct(price_of), q.approx_quantile(price_of, 0.3), q.top_k_frequent(amount_of, 20));
  }
  for (std::size_t i = 1; i < groups.size(); ++i) {
    EXPECT_ROWS(groups[i], groups[0]);
    EXPECT_EQ(of_all[i], of_all[0]);
  }
}

CONFORMS(sketches, mistakes_name_the_verb, "approx_quantile", "top_k_frequent") {
  const auto q = source(e, few_trades());
  EXPECT_MESSAGE("approx_quantile: q must lie between 0 and 1: 1.5", q.approx_quantile(price_of, 1.5));
  EXPECT_MESSAGE("top_k_frequent: g.top_k_frequent(f, k): k must not be negative: -1", q.top_k_frequent(name_of, -1));
  EXPECT_MESSAGE("group_by: g.approx_quantile(f, q): q must lie between 0 and 1: ",
                 q.group_by(key_of).select([](auto g) { return g.approx_quantile(price_of, -0.5); }).to_vector());
}

}  // namespace
}  // namespace conformance
