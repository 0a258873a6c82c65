// group_by with every aggregate, aggregate over all rows, count_by, aggregate_by: incremental (`auto g`) forms.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct totals {
  std::int32_t key;
  std::int64_t n, large, amount;
  double price, mean;
  std::int64_t least, most;
  bool any, all;
};
QUERY_RECORD(totals, key, n, large, amount, price, mean, least, most, any, all);
struct spread {
  std::int32_t key;
  std::optional<double> variance, stddev;
  double median, quarter;
  std::int64_t distinct;
};
QUERY_RECORD(spread, key, variance, stddev, median, quarter, distinct);
struct null_totals {
  std::int32_t key;
  std::int64_t values, sum;
  std::optional<double> mean;
  std::optional<std::int32_t> least, most;
  std::int64_t distinct;
  std::optional<double> median;
};
QUERY_RECORD(null_totals, key, values, sum, mean, least, most, distinct, median);

struct bounds {
  double left, right;
};
QUERY_RECORD(bounds, left, right);
struct boxed {
  std::int32_t id;
  bounds at;
  std::string name;
};
QUERY_RECORD(boxed, id, at, name);

totals totals_of(std::int32_t key, const std::vector<tick>& rows) {
  totals s{key, 0, 0, 0, 0, 0, rows[0].amount, rows[0].amount, false, true};
  for (const tick& t : rows) {
    ++s.n;
    s.large += t.amount > 500;
    s.amount += t.amount;
    s.price += t.price;
    s.least = std::min(s.least, t.amount);
    s.most = std::max(s.most, t.amount);
    s.any = s.any || t.amount == 7;
    s.all = s.all && t.amount > -990;
  }
  s.mean = s.price / static_cast<double>(s.n);
  return s;
}

CONFORMS(grouping, sums_and_extremes_of_each_group, "group_by", "group_by.select", "as_ordered") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<totals> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key; })) wanted.push_back(totals_of(k, rows));
    const auto q = source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      const auto amount = [](auto t) { return t.amount; };
      const auto price = [](auto t) { return t.price; };
      return query::make<totals>(g.key(), g.count(), g.count([](auto t) { return t.amount > 500; }), g.sum(amount), g.sum(price),
                                 g.mean(price), g.min(amount), g.max(amount), g.any([](auto t) { return t.amount == 7; }),
                                 g.all([](auto t) { return t.amount > -990; }));
    });
    EXPECT_SAME_ROWS(q.to_vector(), wanted);
    EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
  }
}

CONFORMS(grouping, aggregates_that_keep_values, "group_by.select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<spread> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key; })) {
      const std::vector<double> v = selected(rows, [](const tick& t) { return t.price; });
      const auto distinct = static_cast<std::int64_t>(grouped(rows, [](const tick& t) { return t.amount; }).size());
      spread s{k, std::nullopt, std::nullopt, quantile(v, 0.5), quantile(v, 0.25), distinct};
      if (v.size() > 1) {
        s.variance = sample_variance(v);
        s.stddev = std::sqrt(*s.variance);
      }
      wanted.push_back(s);
    }
    EXPECT_ROWS_NEAR(source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      const auto price = [](auto t) { return t.price; };
      return query::make<spread>(g.key(), g.variance(price), g.stddev(price), g.median(price), g.quantile(price, 0.25),
                                 g.count_distinct([](auto t) { return t.amount; }));
    }).as_ordered().to_vector(), wanted, 1e-9);
  }
}

CONFORMS(grouping, aggregates_pass_over_nulls, "group_by.select") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<null_totals> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; })) {
      null_totals s{k, 0, 0, std::nullopt, std::nullopt, std::nullopt, 0, std::nullopt};
      std::vector<std::int32_t> values;
      for (const trade& t : rows)
        if (t.lot) values.push_back(*t.lot);
      if (!values.empty()) {
        s.values = static_cast<std::int64_t>(values.size());
        for (const std::int32_t v : values) s.sum += v;
        s.mean = static_cast<double>(s.sum) / static_cast<double>(s.values);
        s.least = *std::min_element(values.begin(), values.end());
        s.most = *std::max_element(values.begin(), values.end());
        s.distinct = static_cast<std::int64_t>(grouped(values, [](std::int32_t v) { return v; }).size());
        s.median = quantile(std::vector<double>(values.begin(), values.end()), 0.5);
      }
      wanted.push_back(s);
    }
    EXPECT_ROWS(source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      const auto lot = [](auto t) { return t.lot; };
      return query::make<null_totals>(g.key(), g.count(lot), g.sum(lot), g.mean(lot), g.min(lot), g.max(lot), g.count_distinct(lot),
                                      g.median(lot));
    }).as_ordered().to_vector(), wanted);
  }
}

CONFORMS(grouping, first_last_arg_and_collect_follow_source_order, "group_by.select") {
  using row = std::tuple<std::int32_t, std::int32_t, std::string, std::int32_t, std::int32_t, std::vector<std::int32_t>>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; })) {
      const auto less = [](const trade& a, const trade& b) { return a.amount < b.amount; };
      wanted.emplace_back(k, rows.front().id, rows.back().name, std::min_element(rows.begin(), rows.end(), less)->id,
                          std::max_element(rows.begin(), rows.end(), less)->id, selected(rows, [](const trade& t) { return t.id; }));
    }
    const auto got = source(e, d.rows)
                         .group_by([](auto t) { return t.key; })
                         .aggregate([](auto g) { return g.first([](auto t) { return t.id; }); },
                                    [](auto g) { return g.last([](auto t) { return t.name; }); },
                                    [](auto g) { return g.arg_min([](auto t) { return t.amount; }); },
                                    [](auto g) { return g.arg_max([](auto t) { return t.amount; }); },
                                    [](auto g) { return g.collect([](auto t) { return t.id; }); })
                         .as_ordered()
                         .to_vector();
    EXPECT_ROWS(selected(got,
                         [](const auto& r) {
                           return row(std::get<0>(r), std::get<1>(r), std::get<2>(r), std::get<3>(r).id, std::get<4>(r).id, std::get<5>(r));
                         }),
                wanted);
  }
}

CONFORMS(grouping, rows_that_aggregates_give_have_fields, "group_by.select") {
  using row = std::tuple<std::int32_t, std::string, std::int64_t, std::int32_t, std::string, std::int64_t>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;  // halves: their difference fits
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; })) {
      const auto [least, most] =
          std::minmax_element(rows.begin(), rows.end(), [](const trade& a, const trade& b) { return a.amount < b.amount; });
      const auto best = std::find_if(rows.begin(), rows.end(), [most = most](const trade& t) { return t.amount == most->amount; });
      wanted.emplace_back(k, best->name, least->id + best->amount / 2, rows.front().id, rows.back().name,
                          best->amount / 2 - least->amount / 2);
    }
    EXPECT_ROWS(source(e, d.rows).group_by([](auto t) { return t.key; }).select([](auto g) {
      const auto amount = [](auto t) { return t.amount; };
      const auto best = g.arg_max(amount);
      return std::make_tuple(g.key(), best.name, g.arg_min(amount).id + best.amount / 2, g.first().id, g.last().name,
                             best.amount / 2 - g.arg_min(amount).amount / 2);
    }).as_ordered().to_vector(), wanted);
  }
}

// A record in the row, its fields, and the row itself.
CONFORMS(grouping, records_in_rows_that_aggregates_give, "group_by.select") {
  using row = std::tuple<std::int32_t, double, boxed, bounds, double>;
  const std::vector<boxed> rows = {{1, {1.5, 2}, "a"}, {2, {3, 4.5}, "b"}, {1, {6, -7}, "c"}, {2, {0, 1}, "d"}};
  const std::vector<row> wanted = {{1, -8.5, rows[0], rows[2].at, 7.5}, {2, -2, rows[1], rows[3].at, 3}};
  EXPECT_ROWS(source(e, rows).group_by([](auto b) { return b.id; }).select([](auto g) {
    const auto best = g.arg_max([](auto b) { return b.at.right; });
    const auto last = g.last([](auto b) { return b.at; });
    return std::make_tuple(g.key(), last.right - best.at.left, best, last,
                           best.at.left + g.arg_min([](auto b) { return b.at.right; }).at.left);
  }).as_ordered().to_vector(), wanted);
}

CONFORMS(grouping, nans_lose_against_numbers, "group_by.select") {
  using row = std::tuple<std::int32_t, double, double>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;
    for (const auto& [k, rows] : grouped(d.rows, [](const trade& t) { return t.key; })) {
      double least = rows[0].price, most = rows[0].price;
      for (const trade& t : rows) {
        if (std::isnan(least) || t.price < least) least = t.price;
        if (std::isnan(most) || t.price > most) most = t.price;
      }
      wanted.emplace_back(k, least, most);
    }
    EXPECT_SAME_ROWS(source(e, d.rows)
                         .group_by([](auto t) { return t.key; })
                         .aggregate([](auto g) { return g.min([](auto t) { return t.price; }); },
                                    [](auto g) { return g.max([](auto t) { return t.price; }); })
                         .to_vector(),
                     wanted);
  }
}

// A GPU chooses its tables by every third of these rows; the others have the groups.
// Between two values that are equal lies that value, and between any two finite ones a finite one.
CONFORMS(grouping, quantiles_of_extremes, "group_by", "group_by.select") {
  constexpr double inf = std::numeric_limits<double>::infinity(), most = std::numeric_limits<double>::max();
  const std::vector<std::pair<int, double>> rows = {{0, inf}, {0, inf},  {1, 1},    {1, inf},   {1, inf},  {1, inf},
                                                    {2, most}, {2, -most}, {3, -inf}, {3, -inf}, {4, most}, {4, most}};
  const auto medians = source(e, rows)
                           .group_by([](auto r) { return r.first; })
                           .select([](auto g) { return std::pair(g.key(), g.median([](auto r) { return r.second; })); })
                           .order_by([](auto p) { return p.first; })
                           .to_vector();
  EXPECT_EQ(medians, (std::vector<std::pair<int, double>>{{0, inf}, {1, inf}, {2, 0}, {3, -inf}, {4, most}}));
}

CONFORMS(grouping, groups_that_a_sample_does_not_see, "group_by", "group_by.select") {
  for (const std::int32_t unseen : {2000, 200000}) {
    SCOPED_TRACE(unseen);
    std::vector<tick> rows(200000);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].key = i % 3 == 0 ? -1 : static_cast<std::int32_t>(i) % unseen;
      rows[i].amount = static_cast<std::int64_t>(i % 1000);
    }
    using sums = std::tuple<std::int32_t, std::int64_t, std::int64_t>;
    std::vector<sums> wanted;
    std::vector<totals> many;
    for (const auto& [k, of] : grouped(rows, [](const tick& t) { return t.key; })) {
      many.push_back(totals_of(k, of));
      wanted.emplace_back(k, many.back().n, many.back().amount);
    }
    const auto groups = source(e, rows).group_by([](auto t) { return t.key; });
    EXPECT_SAME_ROWS(
        groups.select([](auto g) { return std::make_tuple(g.key(), g.count(), g.sum([](auto t) { return t.amount; })); }).to_vector(),
        wanted);
    // A quotient that fails for a group without rows.
    using quotient = std::pair<std::int32_t, std::int64_t>;
    EXPECT_SAME_ROWS(
        groups.select([](auto g) { return std::make_pair(g.key(), g.sum([](auto t) { return t.amount; }) / g.count()); }).to_vector(),
        selected(wanted, [](const sums& s) { return quotient(std::get<0>(s), std::get<2>(s) / std::get<1>(s)); }));
    EXPECT_ROWS(groups.select([](auto g) {
      const auto amount = [](auto t) { return t.amount; };
      const auto price = [](auto t) { return t.price; };
      return query::make<totals>(g.key(), g.count(), g.count([](auto t) { return t.amount > 500; }), g.sum(amount), g.sum(price),
                                 g.mean(price), g.min(amount), g.max(amount), g.any([](auto t) { return t.amount == 7; }),
                                 g.all([](auto t) { return t.amount > -990; }));
    }).as_ordered().to_vector(), many);
  }
}

CONFORMS(grouping, counts_keys_and_own_aggregates, "count_by", "group_by.count", "group_by.keys", "aggregate_by") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<std::pair<std::int32_t, std::int64_t>> counts, odd;
    std::vector<std::int32_t> keys;
    for (const auto& [k, rows] : grouped(d.rows, [](const tick& t) { return t.key; })) {
      keys.push_back(k);
      counts.emplace_back(k, rows.size());
      odd.emplace_back(k, std::count_if(rows.begin(), rows.end(), [](const tick& t) { return t.amount % 2 != 0; }));
    }
    const auto key = [](auto t) { return t.key; };
    const auto pairs = [](const auto& rows) {
      return selected(rows, [](const auto& r) { return std::pair<std::int32_t, std::int64_t>(std::get<0>(r), std::get<1>(r)); });
    };
    EXPECT_ROWS(pairs(source(e, d.rows).count_by(key).as_ordered().to_vector()), counts);
    EXPECT_ROWS(pairs(source(e, d.rows).group_by(key).count().as_ordered().to_vector()), counts);
    EXPECT_SAME_ROWS(source(e, d.rows).group_by(key).keys().to_vector(), keys);
    const auto own = source(e, d.rows).aggregate_by(
        key, std::int64_t{0}, [](std::int64_t s, const tick& t) { return s + (t.amount % 2 != 0); },
        [](std::int64_t a, std::int64_t b) { return a + b; });
    EXPECT_ROWS(pairs(own.as_ordered().to_vector()), odd);
  }
}

CONFORMS(grouping, aggregate_gives_exactly_one_row, "aggregate", "reduce") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    totals wanted{};
    wanted.all = true;
    if (!d.rows.empty()) wanted = totals_of(0, d.rows);
    const auto f = [](auto g) {
      const auto amount = [](auto t) { return t.amount; };
      const auto price = [](auto t) { return t.price; };
      return query::make<totals>(0, g.count(), g.count([](auto t) { return t.amount > 500; }), g.sum(amount), g.sum(price),
                                 g.sum(price) / g.count(), g.min(amount), g.max(amount), g.any([](auto t) { return t.amount == 7; }),
                                 g.all([](auto t) { return t.amount > -990; }));
    };
    if (d.rows.empty()) {  // there is no least amount, and its field has no null
      EXPECT_THROW(source(e, d.rows).aggregate(f).to_vector(), query::user_error);
      EXPECT_THROW(source(e, d.rows).reduce(f), query::user_error);
      continue;
    }
    EXPECT_ROWS(source(e, d.rows).aggregate(f).to_vector(), std::vector<totals>{wanted});
    EXPECT_ROWS(std::vector<totals>{source(e, d.rows).reduce(f)}, std::vector<totals>{wanted});
  }
}

}  // namespace
}  // namespace conformance
