// Terminal verbs that give rows or answers: first, last, single, element_at, any, all, contains, lookups, tables, text.
#include <algorithm>
#include <list>
#include <map>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

const tick other{-1, -2, -3, 0.5};
template <class T> std::string shown(const std::optional<T>& v) { return text(v); }
template <class T> std::optional<T> at(const std::vector<T>& v, std::size_t i) { return i < v.size() ? std::optional(v[i]) : std::nullopt; }

CONFORMS(terminals, one_row, "first", "first_or_none", "first_or_default", "last", "last_or_none", "last_or_default", "element_at",
         "element_at_or_default") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 100; };
    const std::vector<tick> rows = kept(d.rows, p);
    const auto q = source(e, d.rows).where(p);
    EXPECT_EQ(shown(q.first_or_none()), shown(at(rows, 0)));
    EXPECT_EQ(shown(q.last_or_none()), shown(at(rows, rows.size() - 1)));
    EXPECT_EQ(text(q.first_or_default(other)), text(at(rows, 0).value_or(other)));
    EXPECT_EQ(text(q.last_or_default(other)), text(at(rows, rows.size() - 1).value_or(other)));
    for (const std::size_t i : {0u, 1u, 500u, 30000u}) {
      EXPECT_EQ(text(q.element_at_or_default(i, other)), text(at(rows, i).value_or(other)));
      if (i < rows.size()) {
        EXPECT_EQ(text(q.element_at(i)), text(rows[i]));
      } else {
        EXPECT_THROW(q.element_at(i), query::user_error);
      }
    }
    EXPECT_EQ(shown(source(e, d.rows).first_or_none(p)), shown(at(rows, 0)));
    EXPECT_EQ(shown(source(e, d.rows).last_or_none(p)), shown(at(rows, rows.size() - 1)));
    EXPECT_EQ(text(source(e, d.rows).last_or_default(p, other)), text(at(rows, rows.size() - 1).value_or(other)));
    if (rows.empty()) {
      EXPECT_THROW(q.first(), query::user_error);
      EXPECT_THROW(q.last(), query::user_error);
      EXPECT_THROW(source(e, d.rows).first(p), query::user_error);
    } else {
      EXPECT_EQ(text(q.first()), text(rows.front()));
      EXPECT_EQ(text(q.last()), text(rows.back()));
      EXPECT_EQ(text(source(e, d.rows).first(p)), text(rows.front()));
    }
  }
}

CONFORMS(terminals, the_only_row, "single", "single_or_default") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    for (const std::int32_t id : {0, 1024, 1 << 29}) {
      const auto found = kept(d.rows, [id](const tick& t) { return t.id == id; });
      const auto q = source(e, d.rows).where([id](auto t) { return t.id == id; });
      EXPECT_EQ(text(q.single_or_default(other)), text(at(found, 0).value_or(other)));
      EXPECT_EQ(text(source(e, d.rows).single_or_default([id](auto t) { return t.id == id; }, other)), text(at(found, 0).value_or(other)));
      if (found.empty()) {
        EXPECT_THROW(q.single(), query::user_error);
      } else {
        EXPECT_EQ(text(q.single()), text(found[0]));
      }
    }
    if (d.rows.size() < 2) continue;
    EXPECT_THROW(source(e, d.rows).single(), query::user_error);
    EXPECT_THROW(source(e, d.rows).single_or_default(other), query::user_error);
  }
}

CONFORMS(terminals, questions, "any", "all", "contains", "count") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_EQ(q.any(), !d.rows.empty());
    EXPECT_EQ(q.count(), std::ssize(d.rows));
    for (const std::int64_t limit : {-1001, -999, 0, 999, 1001}) {
      SCOPED_TRACE(limit);
      const auto p = [limit](auto t) { return t.amount < limit; };
      EXPECT_EQ(q.any(p), std::any_of(d.rows.begin(), d.rows.end(), p));
      EXPECT_EQ(q.all(p), std::all_of(d.rows.begin(), d.rows.end(), p));
      using row = typename std::decay_t<decltype(d.rows)>::value_type;
      EXPECT_EQ(q.all([p](const row& r) { return static_cast<bool>(p(r)); }), q.all(p));
      EXPECT_EQ(q.count(p), std::count_if(d.rows.begin(), d.rows.end(), p));
      EXPECT_EQ(q.where(p).any(), std::any_of(d.rows.begin(), d.rows.end(), p));
    }
    EXPECT_FALSE(q.contains(other));
    if (!d.rows.empty()) {
      EXPECT_TRUE(q.contains(d.rows.back()));
    }
  }
}

CONFORMS(terminals, questions_about_rows_that_the_query_makes, "any", "all", "contains", "first", "last", "element_at", "single") {
  for (const auto& d : small_ticks()) {
    SCOPED_TRACE(d.name);
    const auto groups = source(e, d.rows)
                            .group_by([](auto t) { return t.key; })
                            .select([](auto g) { return std::pair(g.key(), g.count()); })
                            .order_by([](auto g) { return g.first; });
    std::map<std::int32_t, std::int64_t> counts;
    for (const tick& t : d.rows) ++counts[t.key];
    EXPECT_EQ(groups.any(), !counts.empty());
    const std::int64_t more = std::count_if(counts.begin(), counts.end(), [](const auto& g) { return g.second > 2; });
    EXPECT_EQ(groups.any([](auto g) { return g.second > 2; }), more > 0);
    EXPECT_EQ(groups.all([](auto g) { return g.second > 2; }), more == std::ssize(counts));
    const auto keys = groups.select([](auto g) { return g.first; });
    EXPECT_FALSE(keys.contains(-12345));
    if (counts.empty()) continue;
    EXPECT_TRUE(keys.contains(counts.rbegin()->first));
    EXPECT_EQ(keys.first(), counts.begin()->first);
    EXPECT_EQ(keys.last(), counts.rbegin()->first);
    EXPECT_EQ(keys.element_at(counts.size() / 2), std::next(counts.begin(), std::ssize(counts) / 2)->first);
    const std::int32_t some = std::next(counts.begin(), std::ssize(counts) / 2)->first;
    EXPECT_EQ(keys.where([some](auto k) { return k >= some; }).first(), some);
    EXPECT_EQ(keys.where([some](auto k) { return k <= some; }).last(), some);
    EXPECT_EQ(keys.where([some](auto k) { return k == some; }).single(), some);
  }
}

CONFORMS(terminals, numbers_and_strings_are_contained, "contains") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto names = source(e, d.rows).select([](auto t) { return t.name; });
    const auto lots = source(e, d.rows).select([](auto t) { return t.lot; });
    const auto prices = source(e, d.rows).select([](auto t) { return t.price; });
    const auto has = [&](auto f, const auto& x) {
      return std::any_of(d.rows.begin(), d.rows.end(), [&](const trade& t) { return f(t) == x; });
    };
    EXPECT_FALSE(names.contains("no such name"));
    EXPECT_EQ(lots.contains(std::nullopt), has([](const trade& t) { return t.lot; }, std::optional<std::int32_t>()));
    EXPECT_FALSE(prices.contains(std::numeric_limits<double>::quiet_NaN()));
    if (d.rows.empty()) continue;
    EXPECT_TRUE(names.contains(d.rows[d.rows.size() / 2].name));
    EXPECT_TRUE(lots.contains(d.rows.back().lot));
    EXPECT_EQ(prices.contains(d.rows.back().price), has([](const trade& t) { return t.price; }, d.rows.back().price));
  }
}

CONFORMS(terminals, sequences_compare, "sequence_equal") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.amount > 0; };
    const std::vector<tick> rows = kept(d.rows, p);
    const auto q = source(e, d.rows).where(p);
    EXPECT_TRUE(q.sequence_equal(source(e, rows)));
    EXPECT_TRUE(q.sequence_equal(q));
    EXPECT_TRUE(q.sequence_equal(rows));
    EXPECT_TRUE(q.sequence_equal(std::list<tick>(rows.begin(), rows.end())));
    EXPECT_FALSE(q.sequence_equal(source(e, rows).append(other)));
    if (rows.empty()) continue;
    std::vector<tick> changed = rows;
    changed.back().price += 1;
    EXPECT_FALSE(q.sequence_equal(source(e, changed)));
    EXPECT_FALSE(q.sequence_equal(changed));
    changed.pop_back();
    EXPECT_FALSE(q.sequence_equal(source(e, changed)));
    EXPECT_FALSE(source(e, changed).sequence_equal(q));
    EXPECT_FALSE(q.sequence_equal(changed));
  }
}

CONFORMS(terminals, rows_with_the_smallest_and_largest_value, "min_by", "max_by") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto less = [](const trade& a, const trade& b) { return a.amount < b.amount; };
    std::optional<trade> least, most;
    if (!d.rows.empty()) {
      least = *std::min_element(d.rows.begin(), d.rows.end(), less);
      most = *std::max_element(d.rows.begin(), d.rows.end(), less);
    }
    EXPECT_EQ(shown(source(e, d.rows).min_by([](auto t) { return t.amount; })), shown(least));
    EXPECT_EQ(shown(source(e, d.rows).max_by([](auto t) { return t.amount; })), shown(most));
  }
}

CONFORMS(terminals, maps_and_lookups, "to_map", "to_lookup") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto by_id = source(e, d.rows).to_map([](auto t) { return t.id; }, [](auto t) { return t.amount; });
    EXPECT_EQ(by_id.size(), d.rows.size());
    for (std::size_t i = 0; i < d.rows.size(); i += 97) EXPECT_EQ(by_id.at(static_cast<std::int32_t>(i)), d.rows[i].amount);
    EXPECT_FALSE(by_id.contains(-1));
    EXPECT_THROW(by_id.at(-1), query::user_error);
    if (d.rows.size() > 1000) {
      EXPECT_THROW(source(e, d.rows).to_map([](auto t) { return t.amount % 10; }), query::user_error);
    }
  }
  const auto lookup = source(e, few_trades()).to_lookup([](auto t) { return t.name; });
  for (const auto& [name, rows] : grouped(few_trades(), [](const trade& t) { return t.name; })) EXPECT_ROWS(lookup[name], rows);
  EXPECT_FALSE(lookup.contains("no such name"));
}

CONFORMS(terminals, for_each_sees_each_row_once_and_in_order, "for_each") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::vector<tick> seen;
    source(e, d.rows).where([](auto t) { return t.key > 0; }).for_each([&](const tick& t) { seen.push_back(t); });
    EXPECT_ROWS(seen, kept(d.rows, [](const tick& t) { return t.key > 0; }));
  }
}

CONFORMS(terminals, text_for_people, "table", "describe", "print", "explain", "explain_dot", "explain_json", "named") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows).where([](auto t) { return t.key != 0; }).named("not zero");
    EXPECT_NE(q.table(5).find("amount"), std::string::npos);
    EXPECT_NE(q.describe().find("amount"), std::string::npos);
    EXPECT_FALSE(q.explain().empty());
    EXPECT_FALSE(q.explain_dot().empty());
    EXPECT_NE(q.explain_json().find("\"engine\": "), std::string::npos);
  }
  testing::internal::CaptureStdout();
  source(e, few_trades()).print(3);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("amount"), std::string::npos);
}

}  // namespace
}  // namespace conformance
