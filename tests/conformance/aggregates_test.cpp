// Aggregates by name (query::aggregates): of whole queries, of groups, lazily; the user's own among them.
#include <algorithm>
#include <numeric>

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

// Largest less smallest amount, from a seed that no row survives.
struct range_of_amounts {
  std::int64_t low = std::numeric_limits<std::int64_t>::max(), high = std::numeric_limits<std::int64_t>::min();
};
QUERY_RECORD(range_of_amounts, low, high);
auto spread() {
  return by::aggregate(
      range_of_amounts{},
      [](auto s, auto t) { return query::make<range_of_amounts>(query::min(s.low, t.amount), query::max(s.high, t.amount)); },
      [](auto a, auto b) { return query::make<range_of_amounts>(query::min(a.low, b.low), query::max(a.high, b.high)); },
      [](auto s) { return query::iff(s.high < s.low, s.low, s.high) - s.low; });  // the seed's own difference would overflow
}
std::int64_t spread_of(const std::vector<tick>& rows) {
  if (rows.empty()) return 0;
  const auto [low, high] = std::minmax_element(rows.begin(), rows.end(), [](const tick& a, const tick& b) { return a.amount < b.amount; });
  return high->amount - low->amount;
}
// In the order of the rows: the state is no number, and the functions name their types.
auto ids() {
  return by::aggregate(
      std::vector<std::int32_t>(), [](std::vector<std::int32_t> s, const tick& t) { return s.push_back(t.id), s; },
      [](std::vector<std::int32_t> a, std::vector<std::int32_t> b) { return a.insert(a.end(), b.begin(), b.end()), a; });
}

CONFORMS(aggregates, of_a_whole_query_in_one_pass, "aggregate") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount % 3 != 0; };
    const std::vector<tick> rows = kept(d.rows, p);
    std::int64_t total = 0;
    std::optional<std::int64_t> most;
    double price = 0;
    for (const tick& t : rows) {
      most = most ? std::max(*most, t.amount) : t.amount;
      total += t.amount;
      price += t.price;
    }
    const auto q = source(e, d.rows).where(p);
    const auto got = q.aggregate(
        by::count(), by::sum(amount_of), by::max(amount_of), [](auto g) { return g.sum(amount_of) - g.count(); }, by::sum(price_of));
    using wanted = std::tuple<std::int64_t, std::int64_t, std::optional<std::int64_t>, std::int64_t, double>;
    static_assert(std::is_same_v<decltype(got), const wanted>);
    EXPECT_EQ(text(got),
              text(wanted(static_cast<std::int64_t>(rows.size()), total, most, total - static_cast<std::int64_t>(rows.size()), price)));
    EXPECT_EQ(text(q.aggregate(by::count())), text(std::tuple(static_cast<std::int64_t>(rows.size()))));
    EXPECT_EQ(q.reduce(by::count()), static_cast<std::int64_t>(rows.size()));
  }
}

CONFORMS(aggregates, of_no_rows, "aggregate", "value_of") {
  const auto q = source(e, few_trades()).where([](auto t) { return t.id < 0; });
  const auto lot = [](auto t) { return t.lot; };
  const auto [n, total, least, lots, any, mean] = q.aggregate(by::count(), by::sum(amount_of), by::min(amount_of), by::max(lot),
                                                              by::any([](auto t) { return t.hot; }), by::mean(price_of));
  EXPECT_EQ(n, 0);
  EXPECT_EQ(total, 0);
  EXPECT_EQ(least, std::nullopt);
  EXPECT_EQ(lots, std::nullopt);
  EXPECT_FALSE(any);
  EXPECT_EQ(mean, std::nullopt);
  EXPECT_EQ(query::value_of(q).min(amount_of).get(), std::nullopt);
  EXPECT_EQ(query::value_of(q).max(lot).get(), std::nullopt);
  EXPECT_MESSAGE("aggregate: there is no first row of no rows", q.aggregate(by::count(), by::first(amount_of)));
}

CONFORMS(aggregates, nulls_are_passed_over, "aggregate") {
  const auto& rows = few_trades();
  std::int64_t n = 0, total = 0;
  for (const trade& t : rows)
    if (t.lot) ++n, total += *t.lot;
  const auto lot = [](auto t) { return t.lot; };
  const auto got = source(e, rows).aggregate(by::count_if(lot), by::sum(lot), by::average(lot));
  EXPECT_EQ(std::get<0>(got), n);
  EXPECT_EQ(std::get<1>(got), total);
  EXPECT_EQ(std::get<2>(got), std::optional(static_cast<double>(total) / static_cast<double>(n)));
}

CONFORMS(aggregates, rows_that_are_values_need_no_function, "aggregate") {
  const std::vector<std::int64_t> rows = {5, 3, 9, 3};
  const auto [total, least, most, distinct] = source(e, rows).aggregate(by::sum(), by::min(), by::max(), by::count_distinct());
  EXPECT_EQ(text(std::tuple(total, least, most, distinct)),
            text(std::tuple<std::int64_t, std::optional<std::int64_t>, std::optional<std::int64_t>, std::int64_t>(20, 3, 9, 3)));
}

CONFORMS(aggregates, one_of_the_users_own_serves_everywhere, "aggregate", "aggregate_by", "group_by", "group_by.select", "value_of") {
  std::vector<data_set<tick>> sets = small_ticks();
  sets.push_back({"many rows", many_ticks()});
  for (const auto& d : sets) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_EQ(std::get<0>(q.aggregate(spread())), spread_of(d.rows));
    EXPECT_EQ(q.reduce(spread()), spread_of(d.rows));
    EXPECT_EQ(query::value_of(q).reduce(spread()).get(), spread_of(d.rows));
    std::vector<std::tuple<std::int32_t, std::int64_t, std::int64_t>> wanted;
    std::vector<std::tuple<std::int32_t, std::int64_t>> spreads;
    for (const auto& [k, rows] : grouped(d.rows, key_of)) {
      wanted.emplace_back(k, spread_of(rows), static_cast<std::int64_t>(rows.size()));
      spreads.emplace_back(k, spread_of(rows));
    }
    EXPECT_ROWS(q.group_by(key_of).aggregate(spread(), by::count()).as_ordered().to_vector(), wanted);
    EXPECT_ROWS(q.aggregate_by(key_of, spread(), by::count()).as_ordered().to_vector(), wanted);
    EXPECT_ROWS(q.group_by(key_of).select([own = spread()](auto g) { return std::tuple(g.key(), own(g)); }).as_ordered().to_vector(),
                spreads);
  }
}

CONFORMS(aggregates, a_state_that_is_no_number, "aggregate", "aggregate_by", "group_by.select") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(std::get<0>(q.aggregate(ids())), selected(d.rows, [](const tick& t) { return t.id; }));
    std::vector<std::tuple<std::int32_t, std::vector<std::int32_t>>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, key_of)) wanted.emplace_back(k, selected(rows, [](const tick& t) { return t.id; }));
    EXPECT_ROWS(q.aggregate_by(key_of, ids()).as_ordered().to_vector(), wanted);
    const auto of_rows = [own = ids()](const query::Group<std::int32_t, tick>& g) { return std::tuple(g.key(), own(g)); };
    EXPECT_ROWS(q.group_by(key_of).select(of_rows).as_ordered().to_vector(), wanted);
  }
}

// What each terminal verb with a function gives, asked for lazily.
CONFORMS(aggregates, lazily_as_the_terminal_verbs, "value_of") {
  const auto less = [](std::int64_t a, std::int64_t b) { return a % 100 < b % 100; };
  const auto equal = [](const tick& a, const tick& b) { return a.amount == b.amount; };
  for (const auto& d : ticks()) {
    if (d.rows.empty()) continue;
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const auto v = query::value_of(q);
    const auto large = [](auto t) { return t.amount > 900; };
    EXPECT_EQ(v.count(large).get(), q.count(large));
    EXPECT_EQ(v.sum(amount_of).get(), q.sum(amount_of));
    EXPECT_EQ(v.sum(price_of).get(), q.sum(price_of));
    EXPECT_EQ(v.min(amount_of).get(), q.min(amount_of));
    EXPECT_EQ(v.max(price_of).get(), q.max(price_of));
    EXPECT_EQ(v.average(amount_of).get(), q.average(amount_of));
    EXPECT_EQ(v.mean(amount_of).get(), q.mean(amount_of));
    EXPECT_EQ(v.min(amount_of, less).get(), q.min(amount_of, less));
    EXPECT_EQ(v.max(amount_of, less).get(), q.max(amount_of, less));
    EXPECT_EQ(text(v.min_by(amount_of).get()), text(q.min_by(amount_of)));
    EXPECT_EQ(text(v.max_by(amount_of).get()), text(q.max_by(amount_of)));
    EXPECT_EQ(text(v.min_by(amount_of, less).get()), text(q.min_by(amount_of, less)));
    EXPECT_EQ(text(v.max_by(amount_of, less).get()), text(q.max_by(amount_of, less)));
    EXPECT_EQ(v.any(large).get(), q.any(large));
    EXPECT_EQ(v.all(large).get(), q.all(large));
    EXPECT_TRUE(v.any().get());
    EXPECT_FALSE(query::value_of(q.where([](auto t) { return t.id < 0; })).any().get());
    EXPECT_EQ(v.contains(d.rows.back()).get(), true);
    EXPECT_EQ(v.contains(tick{-1, 0, 0, 0}).get(), false);
    EXPECT_EQ(v.contains(tick{-1, 0, d.rows.back().amount, 0}, equal).get(), true);
    EXPECT_EQ(text(v.first().get()), text(d.rows.front()));
    EXPECT_EQ(text(v.last().get()), text(d.rows.back()));
    if (q.any(large)) {
      EXPECT_EQ(text(v.first(large).get()), text(q.first(large)));
      EXPECT_EQ(text(v.last(large).get()), text(q.last(large)));
    }
    EXPECT_EQ(text(v.aggregate(by::count(), by::max(amount_of)).get()), text(q.aggregate(by::count(), by::max(amount_of))));
    const auto add = [](std::int64_t s, const tick& t) { return s + t.amount; };
    EXPECT_EQ(v.aggregate(std::int64_t{0}, add, std::plus<>()).get(), q.sum(amount_of));
    EXPECT_EQ((v.max(amount_of) - v.min(amount_of)).get(), spread_of(d.rows));
  }
  const std::vector<std::int64_t> numbers = {4, 1, 3};
  EXPECT_EQ(query::value_of(source(e, numbers)).average().get(), 8.0 / 3);
}

}  // namespace
}  // namespace conformance
