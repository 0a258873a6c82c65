// group_by(key).top, .distinct, .distinct_by, .elements, lookups of values, seeds of keys: beside loops over the rows of each group.
#include <algorithm>
#include <cmath>
#include <set>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance::rows_of_groups {

const auto amount = [](const auto& t) { return t.amount; };
const auto id = [](const auto& t) { return t.id; };
const auto key = [](const auto& t) { return t.key; };
const auto lot = [](const auto& t) { return t.lot; };
const auto name = [](const auto& t) { return t.name; };
const auto note = [](const auto& t) { return t.note; };
const auto price = [](const auto& t) { return t.price; };
const auto few = [](const auto& t) { return t.amount % 3; };

// The n rows of each group that come first by `before`, in the order of the rows.
template <class T, class Key, class Before> std::vector<T> best(const std::vector<T>& rows, Key of, std::size_t n, Before before) {
  std::map<std::string, std::vector<std::size_t>> groups;
  for (std::size_t i = 0; i < rows.size(); ++i) groups[key_text(of(rows[i]))].push_back(i);
  std::set<std::size_t> taken;
  for (auto& [k, group] : groups) {
    std::stable_sort(group.begin(), group.end(), [&](std::size_t a, std::size_t b) { return before(rows[a], rows[b]); });
    taken.insert(group.begin(), group.begin() + static_cast<std::ptrdiff_t>(std::min(n, group.size())));
  }
  std::vector<T> best;
  for (const std::size_t i : taken) best.push_back(rows[i]);
  return best;
}
// Descending: NaN is the largest number; nulls last.
const auto dearer = [](const auto& a, const auto& b) {
  if (std::isnan(a.price) || std::isnan(b.price)) return std::isnan(a.price) && !std::isnan(b.price);
  return a.price > b.price;
};
const auto larger_lot = [](const auto& a, const auto& b) { return a.lot && (!b.lot || *a.lot > *b.lot); };

CONFORMS(rows_of_groups, top, "group_by.top") {
  for (const auto& d : trades()) {
    for (const std::size_t n : {0u, 1u, 3u, 5000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      EXPECT_ROWS(source(e, d.rows).group_by(name).top(n, price).to_vector(), best(d.rows, name, n, dearer));
      EXPECT_ROWS(source(e, d.rows).group_by(note).top(n, lot).to_vector(), best(d.rows, note, n, larger_lot));
    }
    EXPECT_ROWS(source(e, d.rows).group_by(price).top(2, [](const trade& t) { return t.price; }).to_vector(),
                best(d.rows, price, 2, dearer));
  }
}

CONFORMS(rows_of_groups, top_of_many, "group_by.top") {
  EXPECT_ROWS(source(e, many_ticks()).group_by(key).top(3, price).to_vector(), best(many_ticks(), key, 3, dearer));
}

CONFORMS(rows_of_groups, distinct_rows, "group_by.distinct", "group_by.distinct_by") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(q.group_by(name).distinct().as_ordered().to_vector(), first_of_each(d.rows, [](const trade& t) { return t; }));
    EXPECT_ROWS(q.group_by(name).distinct_by(lot).as_ordered().to_vector(),
                first_of_each(d.rows, [](const trade& t) { return std::tuple(t.name, t.lot); }));
    EXPECT_ROWS(q.group_by(lot).distinct_by(price).as_ordered().to_vector(),
                first_of_each(d.rows, [](const trade& t) { return std::tuple(t.lot, t.price); }));
    EXPECT_ROWS(q.group_by([](const trade& t) { return t.note; }).as_ordered().distinct_by(few).to_vector(),
                first_of_each(d.rows, [](const trade& t) { return std::tuple(t.note, t.amount % 3); }));
    EXPECT_ROWS(q.group_by(price).distinct_by([](const trade& t) { return t.name; }).as_ordered().to_vector(),
                first_of_each(d.rows, [](const trade& t) { return std::tuple(t.price, t.name); }));
  }
  // Whole rows, of which many are equal.
  const auto same = selected(many_ticks(), [](const tick& t) { return tick{0, t.key, t.amount % 5, t.price}; });
  EXPECT_ROWS(source(e, same).group_by(few).distinct().as_ordered().to_vector(),
              first_of_each(same, [](const tick& t) { return std::tuple(t.key, t.amount, t.price); }));
}

CONFORMS(rows_of_groups, elements, "group_by.elements") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto texts = [](const auto& groups) {
      std::vector<std::string> all;
      for (const auto& g : groups) {
        all.push_back(text(g.key()));
        for (const auto& x : g) all.push_back(text(x));
      }
      return all;
    };
    const auto wanted = [&](auto of, auto f) {
      std::vector<std::string> all;
      for (const auto& [k, rows] : grouped(d.rows, of)) {
        all.push_back(text(k));
        for (const trade& t : rows) all.push_back(text(f(t)));
      }
      return all;
    };
    const auto q = source(e, d.rows);
    EXPECT_EQ(texts(q.group_by(name).elements(amount).as_ordered().to_vector()), wanted(name, amount));
    EXPECT_EQ(texts(q.group_by(lot).elements(note).as_ordered().to_vector()), wanted(lot, note));
    EXPECT_EQ(texts(q.group_by(key).elements([](const trade& t) { return t.name; }).as_ordered().to_vector()), wanted(key, name));
    EXPECT_EQ(texts(q.order_by_descending(id).group_by(key).elements(id).as_ordered().to_vector()),
              [&] {
                std::vector<std::string> all;
                std::vector<trade> rows(d.rows.rbegin(), d.rows.rend());
                for (const auto& [k, group] : grouped(rows, key)) {
                  all.push_back(text(k));
                  for (const trade& t : group) all.push_back(text(t.id));
                }
                return all;
              }());
  }
}

CONFORMS(rows_of_groups, lookups_of_values, "to_lookup") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto found = source(e, d.rows).to_lookup(name, amount);
    const auto groups = grouped(d.rows, name);
    ASSERT_EQ(found.size(), groups.size());
    for (const auto& [k, rows] : groups) EXPECT_ROWS(found[k], selected(rows, amount));
    EXPECT_TRUE(found["no such name"].empty());
    const auto same = [](std::int32_t a, std::int32_t b) { return a % 2 == b % 2; };
    const auto hash = [](std::int32_t k) { return static_cast<std::size_t>(k % 2 != 0); };
    const auto halves = source(e, d.rows).to_lookup(id, [](const trade& t) { return t.note; }, same, hash);
    EXPECT_ROWS(halves[7], selected(kept(d.rows, [](const trade& t) { return t.id % 2 != 0; }), note));
  }
}

CONFORMS(rows_of_groups, seeds_of_keys, "aggregate_by") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::tuple<std::int32_t, std::int64_t>> wanted;
    for (const auto& [k, rows] : grouped(d.rows, key)) {
      std::uint64_t total = static_cast<std::uint64_t>(k) * 1000;
      for (const trade& t : rows) total += static_cast<std::uint64_t>(t.amount);
      wanted.emplace_back(k, static_cast<std::int64_t>(total));
    }
    // The seed of each part of a group's rows counts: combine takes one of them away.
    struct sum { std::uint64_t seed = 0, rows = 0; };
    EXPECT_SAME_ROWS(source(e, d.rows).aggregate_by(
        key, [](std::int32_t k) { return sum{static_cast<std::uint64_t>(k) * 1000, 0}; },
        [](sum s, const trade& t) { return sum{s.seed, s.rows + static_cast<std::uint64_t>(t.amount)}; },
        [](sum a, sum b) { return sum{a.seed, a.rows + b.rows}; }).select([](const std::tuple<std::int32_t, sum>& s) {
      return std::tuple(std::get<0>(s), static_cast<std::int64_t>(std::get<1>(s).seed + std::get<1>(s).rows));
    }).to_vector(), wanted);
  }
}

CONFORMS(rows_of_groups, of_keys_of_the_users_are_refused, "group_by.top", "group_by.distinct", "group_by.distinct_by") {
  const auto same = [](std::int32_t a, std::int32_t b) { return a == b; };
  const auto hash = [](std::int32_t k) { return static_cast<std::size_t>(k); };
  const auto q = source(e, few_trades());
  EXPECT_MESSAGE("top: groups by an equality of your own have no top; write ", q.group_by(key, same, hash).top(2, price));
  EXPECT_MESSAGE("distinct: groups by an equality of your own have no distinct; write ", q.group_by(key, same, hash).distinct());
  EXPECT_MESSAGE("distinct_by: groups by an equality of your own have no distinct_by; ", q.group_by(key, same, hash).distinct_by(price));
}

// A query over a group's rows, inside the function of groups: where, order_by and join read them where they are.
CONFORMS(rows_of_groups, queries_inside, "group_by.select") {
  using group = query::Group<std::int32_t, tick>;
  const std::vector<tick>& rows = small_ticks().back().rows;
  std::vector<std::int64_t> wanted;
  for (auto [k, g] : grouped(rows, key)) {
    std::stable_sort(g.begin(), g.end(), [](const tick& a, const tick& b) { return a.amount > b.amount; });
    std::int64_t sum = 0;
    int n = 0;
    for (const tick& t : g)
      if (t.id % 2 == 0 && n++ < 2) sum += t.amount;
    wanted.push_back(sum);
  }
  EXPECT_SAME_ROWS(source(e, rows).group_by(key).select([](const group& g) {
    return query::from(g.rows()).where([](auto t) { return t.id % 2 == 0; }).top(2, [](auto t) { return t.amount; })
        .sum([](auto t) { return t.amount; });
  }).to_vector(), wanted);
}

}  // namespace conformance::rows_of_groups
