// Joins of rows of numbers by functions that trace, which every engine runs itself: each kind, with build keys that repeat and
// that do not, nulls, wide keys, sides of sizes around those of warps and blocks.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

struct measure {
  std::int32_t id;
  std::int32_t key;
  std::int64_t amount;
  double price;
  std::optional<std::int32_t> lot;
};
QUERY_RECORD(measure, id, key, amount, price, lot);
struct pairing {
  std::int64_t left;
  std::int64_t right;
};
QUERY_RECORD(pairing, left, right);

// Numbered rows whose other fields follow from key(i).
template <class F> data_set<measure> made(const char* name, std::int32_t n, F key) {
  data_set<measure> d{name, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t k = key(i);
    const double price = k % 11 == 3 ? std::numeric_limits<double>::quiet_NaN() : k % 11 == 5 ? (i % 2 ? 0.0 : -0.0) : k / 8.0;
    d.rows.push_back({i, k, std::int64_t{k} << 30, price, k % 7 == 2 ? std::nullopt : std::optional(k % 100)});
  }
  return d;
}
const std::vector<data_set<measure>>& lefts() {
  static const std::vector<data_set<measure>> all = {
      made("none", 0, [](int) { return 0; }),
      made("one", 1, [](int) { return 4; }),
      made("distinct", 1025, [](int i) { return (i * 37) % 1025 - 20; }),
      made("few keys", 300, [](int i) { return i % 13; }),
      made("one key", 257, [](int) { return 4; }),
      made("skewed", 600, [](int i) { return i % 3 ? 4 : i; }),
  };
  return all;
}
const std::vector<data_set<measure>>& rights() {
  static const std::vector<data_set<measure>> all = {
      made("none", 0, [](int) { return 0; }),
      made("one", 1, [](int) { return 4; }),
      made("distinct", 33, [](int i) { return 60 - i; }),
      made("many distinct", 2049, [](int i) { return i ^ 1; }),
      made("all bits set", 5, [](int i) { return i - 3; }),
      made("repeated", 100, [](int i) { return i / 3; }),
      made("one key", 40, [](int) { return 4; }),
  };
  return all;
}

template <class Q> void expect_on_the_gpu(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
}

template <class F> void check_pairs(const engine_config& e, F key) {
  for (const auto& l : lefts()) {
    for (const auto& r : rights()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto found = matches(l.rows, r.rows, key, key), back = matches(r.rows, l.rows, key, key);
      std::vector<pairing> inner, left;
      for (std::size_t i = 0; i < l.rows.size(); ++i) {
        for (const measure& m : found[i]) inner.push_back({l.rows[i].id, m.amount + m.id});
        for (const measure& m : found[i]) left.push_back({l.rows[i].id, m.amount + m.id});
        if (found[i].empty()) left.push_back({l.rows[i].id, -1});
      }
      std::vector<pairing> right = inner, full = left;
      for (std::size_t i = 0; i < r.rows.size(); ++i) {
        if (!back[i].empty()) continue;
        right.push_back({-1, r.rows[i].amount + r.rows[i].id});
        full.push_back(right.back());
      }
      const auto a = source(e, l.rows), b = source(e, r.rows);
      const auto both =
          a.join(b, key, key, [](auto t, auto m) { return query::make<pairing>(query::cast<std::int64_t>(t.id), m.amount + m.id); });
      expect_on_the_gpu(e, both);
      EXPECT_SAME_ROWS(both.to_vector(), inner);
      EXPECT_ROWS(both.as_ordered().to_vector(), inner);
      EXPECT_EQ(both.count(), static_cast<std::int64_t>(inner.size()));
      const auto outer = a.left_join(b, key, key, [](auto t, auto m) {
        return query::make<pairing>(query::cast<std::int64_t>(t.id), m.has_value() ? m->amount + m->id : decltype(m->amount + m->id)(-1));
      });
      expect_on_the_gpu(e, outer);
      EXPECT_ROWS(outer.as_ordered().to_vector(), left);
      const auto other = a.right_join(b, key, key, [](auto t, auto m) {
        return query::make<pairing>(t.has_value() ? query::cast<std::int64_t>(t->id) : decltype(query::cast<std::int64_t>(t->id))(-1),
                                    m.amount + m.id);
      });
      expect_on_the_gpu(e, other);
      EXPECT_SAME_ROWS(other.to_vector(), right);
      const auto all = a.full_join(b, key, key, [](auto t, auto m) {
        return query::make<pairing>(t.has_value() ? query::cast<std::int64_t>(t->id) : decltype(query::cast<std::int64_t>(t->id))(-1),
                                    m.has_value() ? m->amount + m->id : decltype(m->amount + m->id)(-1));
      });
      expect_on_the_gpu(e, all);
      EXPECT_SAME_ROWS(all.to_vector(), full);
    }
  }
}
template <class F> void check_tests(const engine_config& e, F key) {
  for (const auto& l : lefts()) {
    for (const auto& r : rights()) {
      SCOPED_TRACE(l.name + " with " + r.name);
      const auto found = matches(l.rows, r.rows, key, key);
      std::vector<measure> semi, anti;
      for (std::size_t i = 0; i < l.rows.size(); ++i) (found[i].empty() ? anti : semi).push_back(l.rows[i]);
      const auto a = source(e, l.rows), b = source(e, r.rows);
      expect_on_the_gpu(e, a.semi_join(b, key, key));
      EXPECT_ROWS(a.semi_join(b, key, key).as_ordered().to_vector(), semi);
      EXPECT_ROWS(a.anti_join(b, key, key).as_ordered().to_vector(), anti);
    }
  }
}

CONFORMS(number_joins, by_number, "join", "left_join", "right_join", "full_join") {
  check_pairs(e, [](auto t) { return t.key; });
}
CONFORMS(number_joins, nulls_match_nothing, "join", "left_join", "right_join", "full_join") {
  check_pairs(e, [](auto t) { return t.lot; });
}
CONFORMS(number_joins, by_float, "join", "left_join", "right_join", "full_join") {
  check_pairs(e, [](auto t) { return t.price; });
}
CONFORMS(number_joins, by_keys_of_many_parts_with_nulls_in_them, "join", "left_join", "right_join", "full_join") {
  check_pairs(e, [](auto t) { return std::make_tuple(t.amount, t.lot, t.price, t.key); });
}
CONFORMS(number_joins, tested_rows, "semi_join", "anti_join") {
  check_tests(e, [](auto t) { return t.key; });
  check_tests(e, [](auto t) { return t.lot; });
}
CONFORMS(number_joins, tested_rows_by_keys_of_many_parts, "semi_join", "anti_join") {
  check_tests(e, [](auto t) { return std::make_tuple(t.amount, t.lot, t.price, t.key); });
}

CONFORMS(number_joins, inputs_may_be_filtered_and_joined, "join", "right_join", "full_join") {
  const auto& rows = lefts()[2].rows;
  const auto& others = rights()[3].rows;
  const auto key = [](auto t) { return t.key; };
  std::vector<pairing> wanted;
  for (const measure& t : rows)
    for (const measure& m : others)
      if (t.id % 2 == 0 && m.key > 10 && t.key == m.key) wanted.push_back({t.id, m.id});
  for (const measure& m : others)
    if (m.key > 10 && std::none_of(rows.begin(), rows.end(), [&](const measure& t) { return t.id % 2 == 0 && t.key == m.key; }))
      wanted.push_back({-1, m.id});
  const auto left = source(e, rows).where([](auto t) { return t.id % 2 == 0; });
  const auto right = source(e, others).where([](auto m) { return m.key > 10; });
  const auto q = left.right_join(right, key, key, [](auto t, auto m) {
    return query::make<pairing>(t.has_value() ? query::cast<std::int64_t>(t->id) : decltype(query::cast<std::int64_t>(t->id))(-1),
                                query::cast<std::int64_t>(m.id));
  });
  EXPECT_SAME_ROWS(q.to_vector(), wanted);
  // A join whose input is a join.
  const auto itself = [](auto p) { return p.right; };
  const auto twice = q.full_join(q, itself, itself, [](auto a, auto b) {
    return query::make<pairing>(a.has_value() ? a->left : decltype(a->left)(-2), b.has_value() ? b->right : decltype(b->right)(-2));
  });
  EXPECT_SAME_ROWS(twice.to_vector(), wanted);
}

// Rows with very many partners are shared out; the numbers are too many to be compared one by one.
CONFORMS(number_joins, skewed_sides, "join") {
  std::vector<tick> left, right;
  for (std::int32_t i = 0; i < 30000; ++i) left.push_back({i, i % 100 ? i : 7, i, 0});
  for (std::int32_t i = 0; i < 20000; ++i) right.push_back({i, i % 4 ? i : 7, i, 0});
  std::int64_t pairs = 0, sum = 0;
  std::map<std::int32_t, std::pair<std::int64_t, std::int64_t>> by_key;
  for (const tick& t : right) ++by_key[t.key].first, by_key[t.key].second += t.amount;
  for (const tick& t : left) {
    const auto it = by_key.find(t.key);
    if (it == by_key.end()) continue;
    pairs += it->second.first;
    sum += it->second.first * t.amount - it->second.second;
  }
  const auto key = [](auto t) { return t.key; };
  const auto q = source(e, left).join(source(e, right), key, key, [](auto a, auto b) { return a.amount - b.amount; });
  EXPECT_EQ(q.count(), pairs);
  EXPECT_EQ(q.sum(), sum);
}

CONFORMS(number_joins, few_of_many_rows_match, "join", "semi_join") {
  const auto& rows = ticks().back().rows.size() > 60000 ? ticks().back().rows : many_ticks();
  const std::vector<measure> right = made("few", 9, [](int i) { return i * 7000 + 11; }).rows;
  std::vector<tick> wanted;
  for (const tick& t : rows)
    if (std::any_of(right.begin(), right.end(), [&](const measure& m) { return m.key == t.id; })) wanted.push_back(t);
  const auto id = [](auto t) { return t.id; };
  const auto key = [](auto m) { return m.key; };
  EXPECT_ROWS(source(e, rows).join(source(e, right), id, key, [](auto t, auto) { return t; }).as_ordered().to_vector(), wanted);
  EXPECT_ROWS(source(e, rows).semi_join(source(e, right), id, key).as_ordered().to_vector(), wanted);
}

CONFORMS(number_joins, all_pairs, "cross_join") {
  for (const auto& l : lefts()) {
    for (const auto& r : rights()) {
      if (l.rows.size() * r.rows.size() > 60000) continue;
      SCOPED_TRACE(l.name + " with " + r.name);
      std::vector<pairing> wanted;
      for (const measure& t : l.rows)
        for (const measure& m : r.rows) wanted.push_back({t.id, m.amount});
      const auto q = source(e, l.rows).cross_join(
          source(e, r.rows), [](auto t, auto m) { return query::make<pairing>(query::cast<std::int64_t>(t.id), m.amount); });
      expect_on_the_gpu(e, q);
      EXPECT_ROWS(q.as_ordered().to_vector(), wanted);
      wanted.resize(std::min<std::size_t>(wanted.size(), 5));
      EXPECT_ROWS(q.as_ordered().take(5).to_vector(), wanted);
    }
  }
}

}  // namespace
}  // namespace conformance
