// rollup, cube and grouping_sets beside a group_by for each set; unpivot, pivot and to_pivot beside loops.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance::reshaping {

struct totals { std::optional<std::int32_t> key; std::optional<std::int64_t> rest; std::int64_t n; double price; std::int64_t least; };
QUERY_RECORD(totals, key, rest, n, price, least);
struct by_way { std::int32_t key; std::int64_t sold; std::optional<std::int64_t> bought; };
QUERY_RECORD(by_way, key, sold, bought);

const auto key = [](const auto& t) { return t.key; };
const auto rest = [](const auto& t) { return t.amount % 3; };
const auto lot = [](const auto& t) { return t.lot; };
const auto note = [](const auto& t) { return t.note; };
const auto name = [](const auto& t) { return t.name; };
const auto way = [](const auto& t) { return t.way; };
const auto hot = [](const auto& t) { return t.hot; };
const auto price = [](const auto& t) { return t.price; };
const auto amount = [](const auto& t) { return t.amount; };
const auto id = [](const auto& t) { return t.id; };

std::vector<data_set<tick>> some_ticks() {
  std::vector<data_set<tick>> all = small_ticks();
  all.push_back({"many", many_ticks()});
  return all;
}

// The results of each set in turn, groups in the order of their first rows. Bit i of a set: key i is in it.
template <class Out, class T, class... F, class Make>
std::vector<Out> of_sets(const std::vector<T>& rows, const std::vector<unsigned>& sets, const Make& make, const F&... f) {
  std::vector<Out> all;
  for (const unsigned set : sets) {
    const auto key_of = [&](const T& t) {
      unsigned i = 0;
      const auto part = [&](const auto& of) {
        using P = std::optional<std::decay_t<decltype(of(t))>>;
        return (set >> i++ & 1u) != 0 ? P(std::in_place, of(t)) : P();
      };
      return std::tuple<std::optional<std::decay_t<decltype(f(t))>>...>{part(f)...};
    };
    for (const auto& [k, of_key] : grouped(rows, key_of)) all.push_back(make(k, of_key));
  }
  return all;
}
const auto with_count = [](const auto& k, const auto& rows) { return std::tuple(k, static_cast<std::int64_t>(rows.size())); };

CONFORMS(reshaping, rollups, "group_by", "group_by.select", "as_ordered") {
  for (const auto& d : some_ticks()) {
    SCOPED_TRACE(d.name);
    const auto wanted = of_sets<totals>(d.rows, {3, 1, 0}, [](const auto& k, const std::vector<tick>& rows) {
      totals t{std::get<0>(k), std::get<1>(k), static_cast<std::int64_t>(rows.size()), 0, rows[0].amount};
      for (const tick& r : rows) {
        t.price += r.price;
        t.least = std::min(t.least, r.amount);
      }
      return t;
    }, key, rest);
    const auto total = [](auto g) {
      const auto [k, r] = g.key();
      return query::make<totals>(k, r, g.count(), g.sum(price), g.min(amount));
    };
    const auto groups = source(e, d.rows).group_by(query::rollup(key, rest));
    EXPECT_SAME_ROWS(groups.select(total).to_vector(), wanted);
    EXPECT_ROWS(groups.select(total).as_ordered().to_vector(), wanted);
    EXPECT_ROWS(groups.as_ordered().select(total).to_vector(), wanted);
    EXPECT_EQ(groups.select(total).count(), static_cast<std::int64_t>(wanted.size()));
  }
}

CONFORMS(reshaping, a_null_is_not_all, "group_by", "count_by") {
  using key_type = std::tuple<std::optional<std::optional<std::int32_t>>, std::optional<std::optional<std::string>>>;
  using row = std::tuple<key_type, std::int64_t>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = of_sets<row>(d.rows, {3, 1, 2, 0}, with_count, lot, note);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.group_by(query::cube(lot, note)).count().as_ordered().to_vector(), wanted);
    EXPECT_ROWS(q.count_by(query::cube(lot, note)).as_ordered().to_vector(), wanted);
    // Of those by lot: that of the null, that of all.
    const auto without_key = [](const auto& g) {
      const auto& [l, n] = std::get<0>(g);
      if (n.has_value()) return false;
      if (!l.has_value()) return true;
      return !(*l).has_value();
    };
    EXPECT_ROWS(q.count_by(query::rollup(lot, note)).as_ordered().where(without_key).to_vector(),
                kept(of_sets<row>(d.rows, {3, 1, 0}, with_count, lot, note), without_key));
  }
}

CONFORMS(reshaping, cubes, "group_by", "group_by.select") {
  using key_type = std::tuple<std::optional<std::string>, std::optional<side>, std::optional<bool>>;
  using row = std::tuple<key_type, std::int64_t>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto wanted = of_sets<row>(d.rows, {7, 3, 5, 1, 6, 2, 4, 0}, [](const key_type& k, const std::vector<trade>& rows) {
      std::uint64_t sum = 0;
      for (const trade& t : rows) sum += static_cast<std::uint64_t>(t.amount);
      return row(k, static_cast<std::int64_t>(sum));
    }, name, way, hot);
    const auto sums = [](auto g) { return std::tuple(g.key(), g.sum(amount)); };
    EXPECT_ROWS(source(e, d.rows).group_by(query::cube(name, way, hot)).select(sums).as_ordered().to_vector(), wanted);
    const auto named = [](const trade& t) { return t.name; };  // functions that name their row, or are opaque
    EXPECT_ROWS(source(e, d.rows).group_by(query::cube(named, way, query::opaque(hot))).select(sums).as_ordered().to_vector(), wanted);
  }
}

CONFORMS(reshaping, odd_keys_of_a_set, "group_by") {
  using row = std::tuple<std::tuple<std::optional<double>, std::optional<std::array<std::int32_t, 3>>>, std::int64_t>;
  const auto legs = [](const auto& t) { return t.legs; };
  for (const auto& d : trades()) {  // either zero may stand for both
    SCOPED_TRACE(d.name);
    EXPECT_SAME_ROWS(source(e, d.rows).count_by(query::rollup(price, legs)).to_vector(),
                     of_sets<row>(d.rows, {3, 1, 0}, with_count, price, legs));
  }
}

CONFORMS(reshaping, sets_by_number, "group_by", "group_by.keys", "group_by.groups", "group_by.elements", "aggregate_by") {
  using key_type = std::tuple<std::optional<std::int32_t>, std::optional<bool>>;
  const std::vector<unsigned> sets{2, 3, 0, 2};
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto by = query::grouping_sets({{1}, {1, 0, 1}, {}, {1}}, key, hot);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.group_by(by).keys().as_ordered().to_vector(),
                of_sets<key_type>(d.rows, sets, [](const auto& k, const auto&) { return k; }, key, hot));
    using row = std::tuple<key_type, std::int64_t, std::int32_t>;
    const auto wanted = of_sets<row>(d.rows, sets, [](const key_type& k, const std::vector<trade>& rows) {
      return row(k, static_cast<std::int64_t>(rows.size()), rows.back().id);
    }, key, hot);
    using query::aggregates::count, query::aggregates::last;
    EXPECT_ROWS(q.group_by(by).aggregate(count(), last(id)).as_ordered().to_vector(), wanted);
    EXPECT_ROWS(q.aggregate_by(by, count(), last(id)).as_ordered().to_vector(), wanted);
    using listed = std::pair<key_type, std::vector<std::int32_t>>;
    const auto ids = of_sets<listed>(d.rows, sets, [](const key_type& k, const std::vector<trade>& rows) {
      return listed(k, selected(rows, id));
    }, key, hot);
    std::vector<listed> got;
    for (const auto& g : q.group_by(by).elements(id).as_ordered().to_vector()) got.emplace_back(g.key(), g.rows());
    EXPECT_ROWS(got, ids);
    got.clear();
    for (const auto& g : q.group_by(by).groups().as_ordered().to_vector()) got.emplace_back(g.key(), selected(g.rows(), id));
    EXPECT_ROWS(got, ids);
    const auto rows_of = [](const query::Group<key_type, trade>& g) { return listed(g.key(), selected(g.rows(), id)); };
    EXPECT_ROWS(q.group_by(by).select(rows_of).as_ordered().to_vector(), ids);
  }
}

CONFORMS(reshaping, levels_are_those_of_group_by, "group_by") {
  if (e.accelerate) return;  // a pass that is divided adds up in another order
  std::vector<double> numbers;
  for (int i = 0; i < 30000; ++i) numbers.push_back(std::sin(i) / 3);
  const auto bucket = [](auto x) { return query::cast<std::int32_t>(x * 12); };
  const auto positive = [](auto x) { return x > 0; };
  const auto sum = [](auto g) { return g.sum(); };
  const auto q = source(e, numbers);
  std::vector<double> wanted = q.group_by([=](auto x) { return std::pair(bucket(x), positive(x)); }).select(sum).as_ordered().to_vector();
  for (const double x : q.group_by(bucket).select(sum).as_ordered().to_vector()) wanted.push_back(x);
  wanted.push_back(q.sum());
  const std::vector<double> got = q.group_by(query::rollup(bucket, positive)).select(sum).as_ordered().to_vector();
  ASSERT_EQ(got.size(), wanted.size());
  wanted.back() = got.back();  // the sum of all rows is put together from other lanes than that of a group
  EXPECT_ROWS(got, wanted);
}

CONFORMS(reshaping, verbs_after_sets, "group_by", "order_by", "join") {
  const auto q = source(e, many_ticks());
  const auto parts = q.where([](auto t) { return t.id % 2 == 0; }).count_by(query::rollup(key));
  const auto key_of = [](const auto& g) { return std::get<0>(std::get<0>(g)); };
  const auto n = [](const auto& g) { return std::get<1>(g); };
  EXPECT_EQ(parts.sum(n), 2 * ((static_cast<std::int64_t>(many_ticks().size()) + 1) / 2));
  EXPECT_EQ(n(parts.order_by(key_of).last()), n(parts.top(1, n).first()));  // nulls last: that of all
  EXPECT_EQ(parts.join(parts, key_of, key_of).count(), parts.count() - 1);   // a null matches nothing
  EXPECT_NE(parts.explain().find("count_by"), std::string::npos);
}

CONFORMS(reshaping, sets_of_a_stream, "group_by") {
  const auto q = on(e, query::generate([i = std::int32_t{0}]() mutable { return i < 5000 ? std::optional(i++) : std::nullopt; }));
  const auto ten = [](auto x) { return x % 10; };
  const auto five = [](auto x) { return x % 5; };
  std::vector<std::int32_t> rows(5000);
  for (std::int32_t i = 0; i < 5000; ++i) rows[static_cast<std::size_t>(i)] = i;
  using row = std::tuple<std::tuple<std::optional<std::int32_t>, std::optional<std::int32_t>>, std::int64_t>;
  // In any order: blocks of rows on a GPU have none.
  std::vector<row> given = q.count_by(query::rollup(five, ten)).to_vector(), wanted = of_sets<row>(rows, {3, 1, 0}, with_count, five, ten);
  std::sort(given.begin(), given.end());
  std::sort(wanted.begin(), wanted.end());
  EXPECT_ROWS(given, wanted);
}

CONFORMS(reshaping, sets_that_are_refused, "group_by") {
  const auto q = source(e, few_trades());
  EXPECT_MESSAGE("group_by: grouping_sets names key 2, and keys have the numbers 0 to 1",
                 q.group_by(query::grouping_sets({{0}, {2, 1}}, key, hot)));
  EXPECT_MESSAGE("count_by: grouping_sets names key -1, ", q.count_by(query::grouping_sets({{-1}}, key)));
  EXPECT_MESSAGE("group_by: grouping_sets names no set", q.group_by(query::grouping_sets({}, key)));
}

CONFORMS(reshaping, fields_become_rows, "unpivot") {
  using of_numbers = query::unpivoted<std::int32_t, std::string, double>;
  using of_text = query::unpivoted<std::string, std::int32_t, std::optional<std::string>>;
  using of_lots = query::unpivoted<std::tuple<std::int32_t, bool>, side, std::optional<std::int32_t>>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    std::vector<of_numbers> numbers;
    std::vector<of_text> texts;
    std::vector<of_lots> lots;
    for (const trade& t : d.rows) {
      numbers.push_back({t.id, "key", static_cast<double>(t.key)});
      numbers.push_back({t.id, "a long name of a field", t.price});
      numbers.push_back({t.id, "hot", t.hot ? 1.0 : 0.0});
      texts.push_back({t.name, 1, t.name});
      texts.push_back({t.name, 2, t.note});
      lots.push_back({{t.id, t.hot}, side::sell, t.lot});
      lots.push_back({{t.id, t.hot}, side::buy, t.key});
    }
    EXPECT_ROWS(q.unpivot(id, query::field("key", key), query::field("a long name of a field", price),
                          query::field("hot", hot)).to_vector(), numbers);
    EXPECT_ROWS(q.unpivot(name, query::field(1, name), query::field(2, note)).to_vector(), texts);
    const auto whole = [](const auto& t) { return std::tuple(t.id, t.hot); };
    const auto unpivoted = q.unpivot(whole, query::field(side::sell, lot), query::field(side::buy, key));
    EXPECT_ROWS(unpivoted.to_vector(), lots);
    const auto there = [](const auto& r) { return r.value.has_value(); };
    EXPECT_ROWS(unpivoted.where(there).to_vector(), kept(lots, there));
    // Functions that name their row.
    EXPECT_ROWS(q.unpivot([](const trade& t) { return t.name; }, query::field(1, name),
                          query::field(2, [](const trade& t) { return t.note; })).to_vector(), texts);
  }
  for (const auto& d : some_ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<query::unpivoted<std::int32_t, std::string, std::int64_t>> wanted;
    for (const tick& t : d.rows) {
      wanted.push_back({t.id, "key", t.key});
      wanted.push_back({t.id, "amount", t.amount});
    }
    const auto rows = source(e, d.rows).unpivot(id, query::field("key", key), query::field("amount", amount));
    EXPECT_ROWS(rows.to_vector(), wanted);
    EXPECT_EQ(rows.count(), static_cast<std::int64_t>(wanted.size()));
    wanted.resize(std::min<std::size_t>(3, wanted.size()));
    EXPECT_ROWS(rows.take(3).to_vector(), wanted);
  }
}

CONFORMS(reshaping, fields_of_rows_without_a_description, "unpivot") {
  struct plain { int a, b; std::function<int()> f; };
  const std::vector<plain> rows{{1, 2, {}}, {3, 4, {}}};
  std::vector<int> values;
  for (const auto& r : source(e, rows).unpivot([](const plain& p) { return p.f; }, query::field('a', [](const plain& p) { return p.a; }),
                                               query::field('b', [](const plain& p) { return p.b; })).to_vector())
    values.push_back(r.value);
  EXPECT_EQ(values, (std::vector<int>{1, 2, 3, 4}));
}

// The rows of each key, and of each column of it.
template <class K, class V, std::size_t N, class T, class KF, class CF, class C, class F>
std::vector<query::pivoted<K, V, N>> pivoted_rows(const std::vector<T>& rows, KF row, CF column, const std::array<C, N>& columns, F f) {
  std::vector<query::pivoted<K, V, N>> all;
  for (const auto& [k, of_key] : grouped(rows, row)) {
    query::pivoted<K, V, N>& p = all.emplace_back();
    p.key = k;
    for (std::size_t i = 0; i < N; ++i) {
      const auto cell = kept(of_key, [&](const T& t) { return column(t) == columns[i]; });
      if (!cell.empty()) p.values[i] = f(cell);
    }
  }
  return all;
}
template <class T> std::int64_t sum_of(const std::vector<T>& rows) {
  std::uint64_t sum = 0;
  for (const T& t : rows) sum += static_cast<std::uint64_t>(t.amount);
  return static_cast<std::int64_t>(sum);
}

CONFORMS(reshaping, rows_become_fields, "pivot") {
  const auto sums = [](auto g) { return g.sum(amount); };
  for (const auto& d : some_ticks()) {
    SCOPED_TRACE(d.name);
    const std::array<std::int64_t, 4> columns{1, -2, 0, 77};
    const auto wanted = pivoted_rows<std::int32_t, std::int64_t>(d.rows, key, rest, columns, sum_of<tick>);
    const auto q = source(e, d.rows).pivot(key, rest, {1, -2, 0, 77}, sums);
    EXPECT_SAME_ROWS(q.to_vector(), wanted);
    EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
  }
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const std::array ways{side::sell, side::buy};
    EXPECT_ROWS(q.pivot(key, way, ways, query::aggregates::sum(amount)).as_ordered().to_vector(),
                (pivoted_rows<std::int32_t, std::int64_t>(d.rows, key, way, ways, sum_of<trade>)));
    // Text, keys of several parts, aggregates that may be null, functions that name their row.
    const std::string last = d.rows.empty() ? "none" : d.rows.back().name;
    const auto pair = [](const auto& t) { return std::pair(t.hot, t.lot); };
    const auto most = [](const auto& rows) {
      std::optional<std::int32_t> lots;
      for (const trade& t : rows)
        if (t.lot && (!lots || *lots < *t.lot)) lots = t.lot;
      return lots;
    };
    const std::array<std::string, 2> names{last, "no such name"};
    EXPECT_ROWS(q.pivot(pair, name, names, [](auto g) { return g.max(lot); }).as_ordered().to_vector(),
                (pivoted_rows<std::pair<bool, std::optional<std::int32_t>>, std::int32_t>(d.rows, pair, name, names, most)));
    // A null is a column where it is named, and lists are values.
    const std::array<std::optional<std::int32_t>, 2> lots{std::nullopt, d.rows.empty() ? 3 : d.rows.back().lot.value_or(3)};
    const auto ids = [](const auto& rows) { return selected(rows, id); };
    EXPECT_ROWS(q.pivot([](const trade& t) { return t.hot; }, lot, lots, [](auto g) { return g.collect(id); }).as_ordered().to_vector(),
                (pivoted_rows<bool, std::vector<std::int32_t>>(d.rows, hot, lot, lots, ids)));
    EXPECT_ROWS(q.pivot(key, way, ways, [](auto g) { return g.sum(amount); })
                    .select([](const auto& p) { return query::make<by_way>(p.key, p.values[0].value_or(0), p.values[1]); })
                    .as_ordered().to_vector(),
                selected(pivoted_rows<std::int32_t, std::int64_t>(d.rows, key, way, ways, sum_of<trade>),
                         [](const auto& p) { return by_way{p.key, p.values[0].value_or(0), p.values[1]}; }));
  }
}

CONFORMS(reshaping, columns_that_are_refused, "pivot") {
  const auto q = source(e, few_trades());
  const auto n = [](auto g) { return g.count(); };
  EXPECT_MESSAGE("pivot: columns 0 and 2 are equal", q.pivot(key, key, std::array{1, 2, 1}, n));
  const auto narrow = [](const auto& t) { return query::cast<std::uint8_t>(t.key); };
  EXPECT_MESSAGE("pivot: column 1 is no value of the type", q.pivot(key, narrow, std::array{1, 256}, n));
  EXPECT_MESSAGE("pivot: column 0 is no value of the type", q.pivot(key, narrow, std::array{-1}, n));
  const auto perhaps = [](const auto& t) { return std::optional<std::uint8_t>(static_cast<std::uint8_t>(t.key)); };
  EXPECT_MESSAGE("pivot: column 0 is no value of the type", q.pivot(key, perhaps, std::array{257}, n));
  const auto real = [](const auto& t) { return t.key * 1.0; };
  EXPECT_MESSAGE("pivot: column 0 is no value of the type", q.pivot(key, real, std::array{std::numeric_limits<std::int64_t>::max()}, n));
}

CONFORMS(reshaping, tables_of_the_columns_that_there_are, "to_pivot") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto check = [&](auto row, auto column) {
      using C = std::decay_t<decltype(column(d.rows[0]))>;
      const auto table = source(e, d.rows).to_pivot(row, column, [](auto g) { return g.sum(amount); });
      std::vector<C> columns = selected(first_of_each(d.rows, column), column);
      std::stable_sort(columns.begin(), columns.end(), [](const C& a, const C& b) { return before(a, b, false, false); });
      EXPECT_ROWS(table.columns(), columns);
      const auto groups = grouped(d.rows, row);
      ASSERT_EQ(table.size(), groups.size());
      EXPECT_EQ(table.empty(), groups.empty());
      std::size_t i = 0;
      for (const auto& line : table) {
        EXPECT_EQ(key_text(line.key), key_text(groups[i].first));
        ASSERT_EQ(line.values.size(), columns.size());
        for (std::size_t c = 0; c < columns.size(); ++c) {
          const auto cell = kept(groups[i].second, [&](const trade& t) { return key_text(column(t)) == key_text(columns[c]); });
          EXPECT_EQ(line.values[c], cell.empty() ? std::nullopt : std::optional(sum_of(cell)));
        }
        ++i;
      }
    };
    check(key, way);
    check(name, lot);
    check([](const auto& t) { return t.id % 5; }, [](const trade& t) { return std::string(t.name); });
  }
  // Aggregates that may be null.
  const auto lots = source(e, few_trades()).to_pivot(key, hot, [](auto g) { return g.max(lot); });
  static_assert(std::is_same_v<decltype(lots), const query::pivot_table<std::int32_t, bool, std::int32_t>>);
  EXPECT_ROWS(lots.columns(), (std::vector<bool>{false, true}));
}

}  // namespace conformance::reshaping
