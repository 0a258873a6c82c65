// group_by and aggregate of rows that come as columns: keys of several columns, behind tests, projections and joins; few groups, many and
// more than any table of a lane holds.
#include <algorithm>
#include <map>
#include <random>
#include <unordered_map>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "sanitized.hpp"

namespace conformance {
namespace {

// Each set as a columnar source, and as records with strings.
template <class Check> void each_source(const engine_config& e, Check check) {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto columns = query::from(d.rows).to_vectors();
    check(on(e, query::from(query::columns(columns))), d.rows);
    check(source(e, d.rows), d.rows);
  }
}

template <class Key, class Q> void counts_by(const Q& q, const std::vector<trade>& rows, Key key) {
  using K = std::decay_t<decltype(key(rows[0]))>;
  std::vector<std::pair<K, std::int64_t>> wanted;
  for (const auto& [k, of] : grouped(rows, key)) wanted.emplace_back(k, std::ssize(of));
  const auto counted = q.group_by(key).select([](auto g) { return std::pair(g.key(), g.count()); });
  EXPECT_SAME_ROWS(counted.to_vector(), wanted);
  EXPECT_ROWS(q.as_ordered().group_by(key).select([](auto g) { return std::pair(g.key(), g.count()); }).to_vector(), wanted);
}

CONFORMS(column_groups, keys_of_every_type, "group_by", "columns", "as_ordered") {
  each_source(e, [](const auto& q, const std::vector<trade>& rows) {
    counts_by(q, rows, [](auto t) { return t.key; });
    counts_by(q, rows, [](auto t) { return t.name; });
    counts_by(q, rows, [](auto t) { return t.price; });
    counts_by(q, rows, [](auto t) { return t.lot; });
    counts_by(q, rows, [](auto t) { return t.note; });
    counts_by(q, rows, [](auto t) { return t.way; });
    counts_by(q, rows, [](auto t) { return t.hot; });
    counts_by(q, rows, [](auto t) { return t.legs; });
  });
}

CONFORMS(column_groups, keys_of_several_columns, "group_by", "columns", "as_ordered") {
  each_source(e, [](const auto& q, const std::vector<trade>& rows) {
    counts_by(q, rows, [](auto t) { return std::tuple(t.name, t.key); });
    counts_by(q, rows, [](auto t) { return std::pair(t.hot, t.way); });
    counts_by(q, rows, [](auto t) { return std::tuple(t.key, t.name, t.lot, t.note); });
    counts_by(q, rows, [](auto t) { return std::tuple(t.price, t.amount, t.key, t.hot); });
    counts_by(q, rows, [](auto t) { return std::tuple(t.key % 3, t.name); });  // one part computed, one where it lies
  });
}

struct totals {
  std::string name;
  std::int64_t rows, amount;
  std::optional<std::int32_t> least_lot;
  double most;
  std::string last_name, first_name;
  std::int64_t hot, names;
};
QUERY_RECORD(totals, name, rows, amount, least_lot, most, last_name, first_name, hot, names);

std::vector<totals> totals_of(const std::vector<trade>& rows) {
  std::vector<totals> all;
  for (const auto& [name, of] : grouped(rows, [](const trade& t) { return t.name; })) {
    totals t{name, std::ssize(of), 0, {}, of.front().price, of.front().name, of.front().name, 0, 1};
    for (const trade& r : of) {
      t.amount = static_cast<std::int64_t>(static_cast<std::uint64_t>(t.amount) + static_cast<std::uint64_t>(r.amount));
      if (r.lot && (!t.least_lot || *r.lot < *t.least_lot)) t.least_lot = r.lot;
      if (before(t.most, r.price) ? !std::isnan(r.price) : std::isnan(t.most)) t.most = r.price;
      t.hot += r.hot;
    }
    all.push_back(std::move(t));
  }
  return all;
}

CONFORMS(column_groups, aggregates_of_every_kind, "group_by", "columns") {
  each_source(e, [](const auto& q, const std::vector<trade>& rows) {
    const auto given = q.group_by([](auto t) { return t.name; })
                           .select([](auto g) {
                             return query::make<totals>(g.key(), g.count(), g.sum([](auto t) { return t.amount; }),
                                                        g.min([](auto t) { return t.lot; }), g.max([](auto t) { return t.price; }),
                                                        g.max([](auto t) { return t.name; }), g.first([](auto t) { return t.name; }),
                                                        g.count([](auto t) { return t.hot; }),
                                                        g.count_distinct([](auto t) { return t.name; }));
                           })
                           .as_ordered()
                           .to_vector();
    EXPECT_SAME_ROWS(given, totals_of(rows));
  });
}

CONFORMS(column_groups, of_what_tests_and_joins_leave, "group_by", "where", "join", "columns") {
  const auto odd = [](auto t) { return t.id % 2 == 1; };
  each_source(e, [&](const auto& q, const std::vector<trade>& rows) {
    const auto some = kept(rows, odd);
    counts_by(q.where(odd), some, [](auto t) { return t.name; });
    counts_by(q.where(odd), some, [](auto t) { return std::tuple(t.key, t.note); });
    for (const auto& r : rates()) {
      std::unordered_map<std::string, std::int64_t> wanted;
      const auto found = matches(some, r.rows, [](const trade& t) { return t.key; }, [](const rate& m) { return m.key; });
      for (const auto& of : found)
        for (const rate& m : of) wanted[m.name] += m.factor;
      std::vector<std::pair<std::string, std::int64_t>> sums(wanted.begin(), wanted.end());
      const auto joined = q.where(odd).join(source(e, r.rows), [](auto t) { return t.key; }, [](auto m) { return m.key; },
                                            [](auto t, auto m) { return std::tuple(t.id, m.name, m.factor, t.note); });
      EXPECT_SAME_ROWS(joined.group_by([](auto j) { return std::get<1>(j); })
                           .select([](auto g) { return std::pair(g.key(), g.sum([](auto j) { return std::get<2>(j); })); })
                           .to_vector(),
                       sums);
    }
  });
}

CONFORMS(column_groups, all_rows_as_one_group, "aggregate", "columns") {
  each_source(e, [](const auto& q, const std::vector<trade>& rows) {
    const auto given = q.where([](auto t) { return t.hot; })
                           .aggregate([](auto g) {
                             return std::tuple(g.count(), g.sum([](auto t) { return t.key; }), g.count([](auto t) { return t.lot; }),
                                               g.max([](auto t) { return t.name; }));
                           })
                           .single();
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::optional<std::string>> wanted{};
    for (const trade& t : rows) {
      if (!t.hot) continue;
      ++std::get<0>(wanted);
      std::get<1>(wanted) += t.key;
      std::get<2>(wanted) += t.lot.has_value();
      if (!std::get<3>(wanted) || *std::get<3>(wanted) < t.name) std::get<3>(wanted) = t.name;
    }
    EXPECT_EQ(std::get<0>(given), std::get<0>(wanted));
    EXPECT_EQ(std::get<1>(given), std::get<1>(wanted));
    EXPECT_EQ(std::get<2>(given), std::get<2>(wanted));
    EXPECT_TRUE(std::get<3>(given) == std::get<3>(wanted));
  });
}

struct measure {
  std::int64_t number;
  std::string text;
  double worth;
};
QUERY_RECORD(measure, number, text, worth);

// Enough rows that a sample says how many groups there will be: few, some (fewer tables, merged by partition) and many (rows are parted).
// Rows are compared by ==, as there are many: sums of eighths are exact.
template <class Key, class KeyAt>
void sums_by(const query::Query<measure>& q, const std::vector<double>& worth, bool ordered, Key key, KeyAt key_at) {
  using K = decltype(key_at(std::size_t{0}));
  std::vector<std::tuple<K, std::int64_t, double>> wanted;
  std::map<K, std::size_t> at;
  for (std::size_t i = 0; i < worth.size(); ++i) {
    const auto [it, fresh] = at.try_emplace(key_at(i), wanted.size());
    if (fresh) wanted.emplace_back(it->first, 0, 0);
    auto& w = wanted[it->second];
    ++std::get<1>(w);
    std::get<2>(w) += worth[i];
  }
  const auto sums = [](auto g) { return std::tuple(g.key(), g.count(), g.sum([](auto r) { return r.worth; })); };
  auto given = (ordered ? q.as_ordered() : q).group_by(key).select(sums).to_vector();
  if (!ordered) {
    std::sort(given.begin(), given.end());
    std::sort(wanted.begin(), wanted.end());
  }
  EXPECT_EQ(given.size(), wanted.size());
  EXPECT_TRUE(given == wanted);
}

CONFORMS(column_groups, few_some_and_many, "group_by", "columns", "as_ordered") {
  if (e.accelerate) return;  // sizes of the CPU's own ways
  constexpr std::size_t n = 530'000;
  std::vector<std::int64_t> number(n);
  std::vector<std::string> text(n);
  std::vector<double> worth(n);
#ifdef QUERY_TEST_SANITIZED
  const std::vector<std::uint64_t> domains{25'000};
#else
  const std::vector<std::uint64_t> domains{7, 25'000, 400'000};
#endif
  for (const std::uint64_t domain : domains) {
    SCOPED_TRACE(domain);
    std::mt19937_64 random(20130711 + domain);
    for (std::size_t i = 0; i < n; ++i) {
      number[i] = static_cast<std::int64_t>(random() % domain) - 3;
      text[i] = "key of " + std::to_string(random() % domain);
      worth[i] = static_cast<double>(random() % 1000) / 8;
    }
    const query::Query<measure> q = on(e, query::from(query::columns<measure>(number, text, worth)));
    sums_by(q, worth, false, [](auto r) { return r.number; }, [&](std::size_t i) { return number[i]; });
    sums_by(q, worth, true, [](auto r) { return r.text; }, [&](std::size_t i) { return text[i]; });
    if (domain > 100'000) continue;
    sums_by(q, worth, true, [](auto r) { return r.number; }, [&](std::size_t i) { return number[i]; });
    sums_by(q, worth, false, [](auto r) { return std::tuple(r.number % 100, r.text); },
            [&](std::size_t i) { return std::tuple(number[i] % 100, text[i]); });
  }
}

}  // namespace
}  // namespace conformance
