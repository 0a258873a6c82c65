// Functions of groups with their rows that trace, behind group_by(key) and groups(): LINQ's HAVING, on every engine.
#include <algorithm>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

// Natively traced in the whole plan, and planned for the GPU where there is one.
template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  const std::string plan = q.explain();
  EXPECT_EQ(plan.find("opaque"), std::string::npos) << plan;
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(plan));
  }
  return q.to_vector();
}

using groups_of_ticks = std::vector<std::pair<std::int32_t, std::vector<tick>>>;
std::vector<tick> some(const std::vector<tick>& rows) {
  return {rows.begin(), rows.begin() + std::min<std::ptrdiff_t>(3000, std::ssize(rows))};
}
std::int64_t amount_of(const std::vector<tick>& rows) {
  std::int64_t sum = 0;
  for (const tick& t : rows) sum += t.amount;
  return sum;
}
double price_of(const std::vector<tick>& rows) {
  double sum = 0;
  for (const tick& t : rows) sum += t.price;
  return sum;
}

CONFORMS(functions_of_groups, having, "group_by", "group_by.groups", "where", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto rows = some(d.rows);
    const auto key = [](auto t) { return t.key; };
    std::vector<std::pair<std::int32_t, std::int64_t>> large, rich;
    std::vector<std::pair<std::int32_t, double>> of_large;
    for (const auto& [k, own] : grouped(rows, [](const tick& t) { return t.key; })) {
      if (own.size() > 2) {
        large.emplace_back(k, std::ssize(own));
        of_large.emplace_back(k, price_of(own) / static_cast<double>(own.size()));
      }
      if (amount_of(own) > 100 && k % 2 == 0) rich.emplace_back(k, amount_of(own));
    }
    const auto counted = [](auto g) { return std::pair(g.key(), g.count()); };
    const auto is_large = [](const auto& g) { return g.count() > 2; };
    const auto amounts = [](auto g) { return std::pair(g.key(), g.sum([](auto t) { return t.amount; })); };
    const auto by_key = source(e, rows).group_by(key);
    EXPECT_SAME_ROWS(rows_of(e, by_key.where(is_large).select(counted)), large);
    EXPECT_ROWS(rows_of(e, by_key.groups().as_ordered().where(is_large).select(counted)), large);
    EXPECT_ROWS(rows_of(e, by_key.groups().as_ordered().where([](auto g) { return g.size() > 2; }).select([](auto g) {
      return std::pair(g.key(), g.mean([](auto t) { return t.price; }));
    })),
                of_large);
    EXPECT_ROWS(rows_of(e, by_key.groups()
                               .as_ordered()
                               .where([](auto g) { return g.sum([](auto t) { return t.amount; }) > 100 && g.key() % 2 == 0; })
                               .select(amounts)),
                rich);
    EXPECT_EQ(by_key.where(is_large).count(), std::ssize(large));
  }
}

struct summary {
  std::int32_t key;
  std::int64_t n, positive, amount;
  std::int32_t first, last;
  double least, greatest;
  std::int32_t dearest;
  bool any, all;
};
QUERY_RECORD(summary, key, n, positive, amount, first, last, least, greatest, dearest, any, all);

CONFORMS(functions_of_groups, aggregates_of_their_rows, "group_by.groups", "select") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto rows = some(d.rows);
    std::vector<summary> wanted;
    for (const auto& [k, own] : grouped(rows, [](const tick& t) { return t.key; })) {
      summary s{k, std::ssize(own), 0, amount_of(own), own.front().id, own.back().id, own[0].price, own[0].price, own[0].id, false, true};
      double most = own[0].price;
      for (const tick& t : own) {
        s.positive += t.amount > 0;
        s.least = std::min(s.least, t.price);
        s.greatest = std::max(s.greatest, t.price);
        if (t.price > most) s.dearest = t.id, most = t.price;
        s.any = s.any || t.id % 7 == 3;
        s.all = s.all && t.amount >= 0;
      }
      wanted.push_back(s);
    }
    const auto q = source(e, rows).group_by([](auto t) { return t.key; }).groups().as_ordered().select([](auto g) {
      const auto price = [](auto t) { return t.price; };
      const auto id = [](auto t) { return t.id; };
      const bool any = g.any([](auto t) { return t.id % 7 == 3; }), all = g.all([](auto t) { return t.amount >= 0; });
      return query::make<summary>(g.key(), g.count(), g.count([](auto t) { return t.amount > 0; }), g.sum([](auto t) { return t.amount; }),
                                  g.first(id), g.last().id, g.min(price), g.max(price), g.arg_max(price).id, any, all);
    });
    EXPECT_ROWS(rows_of(e, q), wanted);
  }
}

CONFORMS(functions_of_groups, of_strings_nulls_and_arrays, "group_by", "group_by.groups", "where", "select") {
  using row = std::tuple<std::optional<std::int32_t>, std::int64_t, std::optional<std::int32_t>, std::string, std::string, std::int64_t>;
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<row> wanted;
    for (const auto& [k, own] : grouped(d.rows, [](const trade& t) { return t.lot; })) {
      row r(k, 0, std::nullopt, own[0].name, own.back().name, 0);
      auto& [lot, notes, least, greatest, last, legs] = r;
      for (const trade& t : own) {
        notes += t.note.has_value();
        if (t.lot) least = least ? std::min(*least, *t.lot) : *t.lot;
        greatest = std::max(greatest, t.name);
        legs += t.legs[1];
      }
      if (legs > -100) wanted.push_back(r);
    }
    const auto q = source(e, d.rows)
                       .group_by([](auto t) { return t.lot; })
                       .groups()
                       .as_ordered()
                       .where([](auto g) { return g.sum([](auto t) { return t.legs[1]; }) > -100; })
                       .select([](auto g) {
                         return std::tuple(g.key(), g.count([](auto t) { return t.note; }), g.min([](auto t) { return t.lot; }),
                                           g.max([](auto t) { return t.name; }), g.last([](auto t) { return t.name; }),
                                           g.sum([](auto t) { return t.legs[1]; }));
                       });
    EXPECT_ROWS(rows_of(e, q), wanted);
    // Keys that are strings; the rows themselves.
    std::vector<std::pair<std::string, std::vector<trade>>> of_names;
    for (const auto& [k, own] : grouped(d.rows, [](const trade& t) { return t.name; }))
      if (own.size() > 1 && own[0].hot) of_names.emplace_back(k, own);
    const auto names = source(e, d.rows).group_by([](auto t) { return t.name; }).groups().as_ordered();
    EXPECT_ROWS(rows_of(e, names.where([](auto g) { return g.size() > 1 && g[0].hot; }).select([](const auto& g) {
      return std::pair(g.key(), g.rows());
    })),
                of_names);
  }
}

CONFORMS(functions_of_groups, order_them, "group_by", "group_by.groups", "order_by", "order_by_descending", "then_by", "top") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto rows = some(d.rows);
    std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
    for (const auto& [k, own] : grouped(rows, [](const tick& t) { return t.key; })) wanted.emplace_back(k, std::ssize(own));
    std::sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) {
      return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    const auto key = [](auto t) { return t.key; };
    const auto counted = [](auto g) { return std::pair(g.key(), g.count()); };
    const auto size = [](const auto& g) { return g.count(); };
    const auto by_size = source(e, rows).group_by(key).order_by_descending(size).then_by([](const auto& g) { return g.key(); });
    EXPECT_ROWS(rows_of(e, by_size.select(counted)), wanted);
    const auto few = std::min<std::ptrdiff_t>(3, std::ssize(wanted));
    const decltype(wanted) first(wanted.begin(), wanted.begin() + few);
    EXPECT_ROWS(rows_of(e, by_size.take(3).select(counted)), first);
    const auto by_amount = [](const auto& g) { return std::pair(g.sum([](auto t) { return t.amount; }), g.key()); };
    std::vector<std::pair<std::int64_t, std::int32_t>> amounts;
    for (const auto& [k, own] : grouped(rows, [](const tick& t) { return t.key; })) amounts.emplace_back(amount_of(own), k);
    std::sort(amounts.begin(), amounts.end());
    EXPECT_ROWS(rows_of(e, source(e, rows).group_by(key).groups().order_by(by_amount).select(by_amount)), amounts);
  }
}

CONFORMS(functions_of_groups, flatten_fold_and_test_them, "group_by", "group_by.groups", "select_many", "sum", "any", "all", "count",
         "distinct_by", "take_while") {
  const auto rows = some(many_ticks());
  const auto key = [](auto t) { return t.key; };
  const auto wanted = grouped(rows, [](const tick& t) { return t.key; });
  std::vector<tick> of_large;
  std::int64_t squares = 0;
  std::vector<std::size_t> sizes, before;
  for (const auto& [k, own] : wanted) {
    if (own.size() > 2) of_large.insert(of_large.end(), own.begin(), own.end());
    squares += std::ssize(own) * std::ssize(own);
    if (std::find(sizes.begin(), sizes.end(), own.size()) == sizes.end()) sizes.push_back(own.size());
  }
  for (const auto& g : wanted) {
    if (amount_of(g.second) < -500) break;
    before.push_back(g.second.size());
  }
  const auto groups = source(e, rows).group_by(key).groups().as_ordered();
  const auto is_large = [](auto g) { return g.count() > 2; };
  EXPECT_ROWS(rows_of(e, groups.where(is_large).select_many([](const auto& g) { return g.rows(); })), of_large);
  EXPECT_EQ(groups.sum([](auto g) { return g.count() * g.count(); }), squares);
  EXPECT_EQ(groups.count(is_large), std::count_if(wanted.begin(), wanted.end(), [](const auto& g) { return g.second.size() > 2; }));
  EXPECT_EQ(groups.any(is_large), !of_large.empty());
  EXPECT_EQ(groups.all(is_large), of_large.size() == rows.size());
  const auto size = [](auto g) { return g.size(); };
  EXPECT_ROWS(rows_of(e, groups.distinct_by(size).as_ordered().select(size)), sizes);
  EXPECT_ROWS(rows_of(e, groups.take_while([](auto g) { return g.sum([](auto t) { return t.amount; }) >= -500; }).select(size)), before);
}

// Both forms of a function are compared.
CONFORMS(functions_of_groups, verified, "group_by.groups", "verify", "where", "select") {
  const auto& rows = few_trades();
  std::vector<std::pair<std::int32_t, double>> wanted;
  for (const auto& [k, own] : grouped(rows, [](const trade& t) { return t.key; })) {
    double sum = 0;
    for (const trade& t : own) sum += t.price;
    if (own.size() > 1) wanted.emplace_back(k, sum);
  }
  const auto q = source(e, rows).group_by([](auto t) { return t.key; }).groups().as_ordered().verify();
  EXPECT_ROWS(q.where([](auto g) { return g.count() > 1; }).select([](auto g) { return std::pair(g.key(), g.sum([](auto t) {
    return t.price;
  })); }).to_vector(),
              wanted);
}

// What names the group's type, or goes through its rows by itself, gets them in the process.
CONFORMS(functions_of_groups, that_stay_native, "group_by", "group_by.groups", "where", "select") {
  const auto& rows = few_trades();
  using group = query::Group<std::int32_t, trade>;
  std::vector<std::pair<std::int32_t, std::int64_t>> wanted;
  for (const auto& [k, own] : grouped(rows, [](const trade& t) { return t.key; })) {
    std::int64_t ids = 0;
    for (const trade& t : own) ids += t.id;
    if (own.size() > 1) wanted.emplace_back(k, ids);
  }
  const auto groups = source(e, rows).group_by([](auto t) { return t.key; }).groups().as_ordered();
  const auto looped = [](const auto& g) {
    std::int64_t ids = 0;
    for (const trade& t : g) ids += t.id;
    return std::pair(g.key(), ids);
  };
  const auto q = groups.where([](const group& g) { return g.size() > 1; }).select(looped);
  EXPECT_NE(q.explain().find("a loop over the rows of a group"), std::string::npos) << q.explain();
  EXPECT_NE(q.explain().find("its parameter is not generic"), std::string::npos) << q.explain();
  EXPECT_ROWS(q.to_vector(), wanted);
}

}  // namespace
}  // namespace conformance
