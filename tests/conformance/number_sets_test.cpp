// Set verbs over rows of numbers by functions that trace, which every engine runs itself: keys of each width, nulls, odd
// floats, sizes around those of warps and blocks, more keys than a first table holds.
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
struct place {
  std::int16_t x;
  float y;
};
QUERY_RECORD(place, x, y);

template <class F> data_set<measure> made(const char* name, std::int32_t n, F key) {
  data_set<measure> d{name, {}};
  for (std::int32_t i = 0; i < n; ++i) {
    const std::int32_t k = key(i);
    const double price = k % 11 == 3 ? std::numeric_limits<double>::quiet_NaN() : k % 11 == 5 ? 0.0 : k / 8.0;
    d.rows.push_back({i, k, std::int64_t{k} << 30, price, k % 7 == 2 ? std::nullopt : std::optional(k % 100)});
  }
  return d;
}
const std::vector<data_set<measure>>& sets() {
  static const std::vector<data_set<measure>> all = {
      made("none", 0, [](int) { return 0; }),         made("one", 1, [](int) { return -1; }),
      made("warp", 32, [](int i) { return i / 2; }),  made("distinct", 1025, [](int i) { return (i * 37) % 1025 - 20; }),
      made("few", 2049, [](int i) { return i % 9; }), made("one key", 257, [](int) { return -1; }),
  };
  return all;
}
template <class T, class F> std::vector<T> common(const std::vector<T>& a, const std::vector<T>& b, F key, bool wanted) {
  std::unordered_set<std::string> there;
  for (const T& t : b) there.insert(key_text(key(t)));
  return kept(first_of_each(a, key), [&](const T& t) { return there.contains(key_text(key(t))) == wanted; });
}
template <class Q> void expect_on_the_gpu(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
}
template <class T> std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

#define EXPECT_SET(query, wanted)                        \
  do {                                                   \
    const auto asked = query;                            \
    expect_on_the_gpu(e, asked);                         \
    EXPECT_SAME_ROWS(asked.to_vector(), wanted);         \
    EXPECT_ROWS(asked.as_ordered().to_vector(), wanted); \
  } while (false)

template <class F> void check_by(const engine_config& e, F key) {
  for (const auto& l : sets()) {
    for (const auto& r : sets()) {
      SCOPED_TRACE(l.name + " and " + r.name);
      const auto a = source(e, l.rows), b = source(e, r.rows);
      EXPECT_SET(a.distinct_by(key), first_of_each(l.rows, key));
      EXPECT_SET(a.union_with_by(b, key), first_of_each(joined(l.rows, r.rows), key));
      EXPECT_SET(a.intersect_by(b, key), common(l.rows, r.rows, key, true));
      EXPECT_SET(a.except_by(b, key), common(l.rows, r.rows, key, false));
    }
  }
}
CONFORMS(number_sets, by_number, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](auto t) { return t.key; });
}
CONFORMS(number_sets, a_null_equals_other_nulls, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](auto t) { return t.lot; });
}
CONFORMS(number_sets, by_float, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](auto t) { return t.price; });
}
CONFORMS(number_sets, by_keys_of_many_parts, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](auto t) { return std::make_tuple(t.amount, t.lot, t.price, t.key); });
}

CONFORMS(number_sets, whole_rows, "distinct", "union_with", "intersect", "except") {
  std::vector<place> rows, others;
  for (int i = 0; i < 700; ++i) rows.push_back({static_cast<std::int16_t>(i % 20), static_cast<float>(i % 3) / 4});
  for (int i = 0; i < 300; ++i) others.push_back({static_cast<std::int16_t>(i % 25), static_cast<float>(i % 2) / 4});
  const auto itself = [](const place& p) { return p; };
  const auto a = source(e, rows), b = source(e, others);
  EXPECT_SET(a.distinct(), first_of_each(rows, itself));
  EXPECT_SET(a.union_with(b), first_of_each(joined(rows, others), itself));
  EXPECT_SET(a.intersect(b), common(rows, others, itself, true));
  EXPECT_SET(a.except(b), common(rows, others, itself, false));
  EXPECT_SET(
      a.where([](auto p) { return p.x > 3; }).except(b.where([](auto p) { return p.x < 9; })),
      common(kept(rows, [](const place& p) { return p.x > 3; }), kept(others, [](const place& p) { return p.x < 9; }), itself, false));
}

CONFORMS(number_sets, the_first_rows_alone, "distinct", "take") {
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < 5000; ++i) rows.push_back(i * i % 97);
  auto wanted = first_of_each(rows, [](std::int64_t v) { return v; });
  wanted.resize(7);
  EXPECT_ROWS(source(e, rows).distinct().as_ordered().take(7).to_vector(), wanted);
}

CONFORMS(number_sets, more_keys_than_a_small_table_holds, "distinct", "intersect") {
  std::vector<std::int64_t> rows, every_third;
  const std::int64_t n = 1300000;
  for (std::int64_t i = 0; i < n; ++i) rows.push_back(i * 7919 % n - 5);
  for (std::int64_t i = 0; i < 200000; ++i) rows.push_back(rows[static_cast<std::size_t>(i)]);
  for (std::int64_t i = 0; i < n; i += 3) every_third.push_back(i);
  const auto a = source(e, rows);
  const auto distinct = a.distinct().as_ordered().to_vector();
  rows.resize(static_cast<std::size_t>(n));
  EXPECT_TRUE(distinct == rows);
  // All but those over the greatest row.
  EXPECT_EQ(a.intersect(source(e, every_third)).count(),
            static_cast<std::int64_t>(kept(every_third, [](std::int64_t v) { return v <= n - 6; }).size()));
}

}  // namespace
}  // namespace conformance
