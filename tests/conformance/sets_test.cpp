// distinct, union_with, intersect, except (each also _by), concat: one row for each key, the first to appear.
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

// The other input: every second row of `rows`, and some that are not there.
template <class T> std::vector<T> overlapping(const std::vector<T>& rows) {
  std::vector<T> other;
  for (std::size_t i = rows.size(); i-- > 0;)
    if (i % 2) other.push_back(rows[i]);
  for (std::size_t i = 0; i < rows.size(); i += 5) {
    other.push_back(rows[i]);
    other.back().key ^= 1 << 20;
  }
  return other;
}
template <class T> std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
template <class T, class F> std::vector<T> common(const std::vector<T>& a, const std::vector<T>& b, F key, bool wanted) {
  std::unordered_set<std::string> there;
  for (const T& t : b) there.insert(key_text(key(t)));
  return kept(first_of_each(a, key), [&](const T& t) { return there.contains(key_text(key(t))) == wanted; });
}

#define EXPECT_SET(query, wanted)                              \
  do {                                                         \
    const auto all_wanted = wanted;                            \
    EXPECT_SAME_ROWS((query).to_vector(), all_wanted);         \
    EXPECT_ROWS((query).as_ordered().to_vector(), all_wanted); \
  } while (false)

CONFORMS(sets, whole_rows, "distinct", "union_with", "intersect", "except") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const std::vector<trade> other = overlapping(d.rows);
    const auto all = [](const trade& t) { return t; };
    const auto a = source(e, d.rows), b = source(e, other);
    EXPECT_SET(a.distinct(), first_of_each(d.rows, all));
    EXPECT_SET(a.concat(a).distinct(), first_of_each(d.rows, all));
    EXPECT_SET(a.union_with(b), first_of_each(joined(d.rows, other), all));
    EXPECT_SET(a.intersect(b), common(d.rows, other, all, true));
    EXPECT_SET(a.except(b), common(d.rows, other, all, false));
    EXPECT_SET(b.except(a), common(other, d.rows, all, false));
  }
}

template <class Native, class F> void check_by(const engine_config& e, Native native, F f) {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const std::vector<trade> other(d.rows.begin() + static_cast<std::ptrdiff_t>(d.rows.size() / 3),
                                   d.rows.begin() + static_cast<std::ptrdiff_t>(d.rows.size() / 2));
    const auto a = source(e, d.rows), b = source(e, other);
    EXPECT_SET(a.distinct_by(f), first_of_each(d.rows, native));
    EXPECT_SET(b.union_with_by(a, f), first_of_each(joined(other, d.rows), native));
    EXPECT_SET(a.intersect_by(b, f), common(d.rows, other, native, true));
    EXPECT_SET(a.except_by(b, f), common(d.rows, other, native, false));
  }
}
CONFORMS(sets, by_number, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](const trade& t) { return t.key; }, [](auto t) { return t.key; });
}
CONFORMS(sets, by_float, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](const trade& t) { return t.price; }, [](auto t) { return t.price; });
}
CONFORMS(sets, a_null_equals_other_nulls, "distinct_by", "union_with_by", "intersect_by", "except_by") {
  check_by(e, [](const trade& t) { return t.lot; }, [](auto t) { return t.lot; });
  check_by(e, [](const trade& t) { return t.note; }, [](auto t) { return t.note; });
}

CONFORMS(sets, large_inputs, "distinct", "distinct_by", "union_with", "intersect", "except") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto keys = selected(d.rows, [](const tick& t) { return t.key; });
    const auto amounts = selected(d.rows, [](const tick& t) { return static_cast<std::int32_t>(t.amount); });
    const auto itself = [](std::int32_t k) { return k; };
    const auto a = source(e, keys), b = source(e, amounts);
    EXPECT_SET(a.distinct(), first_of_each(keys, itself));
    EXPECT_SET(source(e, d.rows).distinct_by([](auto t) { return t.key; }), first_of_each(d.rows, [](const tick& t) { return t.key; }));
    EXPECT_SET(a.union_with(b), first_of_each(joined(keys, amounts), itself));
    EXPECT_SET(a.intersect(b), common(keys, amounts, itself, true));
    EXPECT_SET(a.except(b), common(keys, amounts, itself, false));
  }
}

CONFORMS(sets, concat_keeps_the_order_of_both, "concat", "append", "prepend") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const std::vector<tick> other = overlapping(d.rows);
    const auto p = [](auto t) { return t.amount > 0; };
    const tick extra{-1, -2, -3, 0.5};
    EXPECT_ROWS(source(e, d.rows).concat(source(e, other)).to_vector(), joined(d.rows, other));
    EXPECT_ROWS(source(e, d.rows).where(p).concat(source(e, other).where(p)).to_vector(), kept(joined(d.rows, other), p));
    EXPECT_ROWS(source(e, d.rows).concat(source(e, other)).where(p).to_vector(), kept(joined(d.rows, other), p));
    EXPECT_ROWS(source(e, d.rows).append(extra).to_vector(), joined(d.rows, {extra}));
    EXPECT_ROWS(source(e, d.rows).where(p).prepend(extra).to_vector(), joined({extra}, kept(d.rows, p)));
    EXPECT_EQ(source(e, d.rows).concat(source(e, other)).append(extra).count(),
              static_cast<std::int64_t>(d.rows.size() + other.size() + 1));
  }
}

}  // namespace
}  // namespace conformance
