// asof_join beside nested loops.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "conformance/compare.hpp"
#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/rows.hpp"

namespace conformance::asof {

using query::asof_options;
using query::nearest;

// Wide enough for the distance of any two times.
__extension__ typedef __int128 wide;

struct found { std::int32_t left, right; };  // by id, -1 for none
QUERY_RECORD(found, left, right);
struct priced { std::int32_t id; std::string name; std::optional<std::string> note; };
QUERY_RECORD(priced, id, name, note);

const auto key = [](const auto& t) { return t.key; };
const auto amount = [](const auto& t) { return t.amount; };
const auto price = [](const auto& t) { return t.price; };
const auto lot = [](const auto& t) { return t.lot; };
const auto name = [](const auto& t) { return t.name; };
const auto note = [](const auto& t) { return t.note; };
// Traced.
const auto ids = [](const auto& l, const auto& r) { return query::make<found>(l.id, query::iff(r.has_value(), r->id, -1)); };

template <class X> bool no_time(const X& x) {
  if constexpr (query::ir::is_optional_v<X>) return !x || no_time(*x);
  else return std::isnan(static_cast<double>(x));
}
template <class X> struct value_in { using type = X; };
template <class X> struct value_in<std::optional<X>> { using type = X; };
template <class M, class X> M moment(const X& x) {
  if constexpr (query::ir::is_optional_v<X>) return static_cast<M>(*x);
  else return static_cast<M>(x);
}
template <class M> M apart(M a, M b) { return a == b ? M{0} : a < b ? b - a : a - b; }

// The row of `right` that a left row matches; none: right.size().
template <class L, class R, class Same, class LT, class RT, class Tolerance>
std::size_t match_of(const L& l, const std::vector<R>& right, const Same& same, const LT& lt, const RT& rt, nearest direction, bool exact,
                     std::optional<Tolerance> tolerance) {
  const std::size_t none = right.size();
  std::size_t before = none, after = none;
  if (no_time(lt(l))) return none;
  using A = typename value_in<std::decay_t<decltype(lt(l))>>::type;
  using B = typename value_in<std::decay_t<decltype(rt(right[0]))>>::type;
  using M = std::conditional_t<std::is_integral_v<A> && std::is_integral_v<B>, wide, double>;
  const auto here = moment<M>(lt(l));
  const auto at = [&](std::size_t j) { return moment<M>(rt(right[j])); };
  for (std::size_t j = 0; j < right.size(); ++j) {
    if (!same(l, right[j]) || no_time(rt(right[j])) || (!exact && at(j) == here)) continue;
    if (direction != nearest::forward && at(j) <= here && (before == none || at(j) >= at(before))) before = j;
    if (direction != nearest::backward && at(j) >= here && (after == none || at(j) < at(after))) after = j;
  }
  const auto near = [&](std::size_t j) { return j != none && (!tolerance || apart(here, at(j)) <= static_cast<M>(*tolerance)); };
  if (!near(before)) before = none;
  if (!near(after)) after = none;
  if (before == none || after == none) return before == none ? after : before;
  return apart(here, at(after)) < apart(here, at(before)) ? after : before;
}

template <class L, class R, class Same, class LT, class RT, class Tolerance = wide>
std::vector<found> expected(const std::vector<L>& left, const std::vector<R>& right, const Same& same, const LT& lt, const RT& rt,
                            nearest direction = nearest::backward, bool exact = true, std::optional<Tolerance> tolerance = {}) {
  std::vector<found> all;
  for (const L& l : left) {
    const std::size_t j = match_of(l, right, same, lt, rt, direction, exact, tolerance);
    all.push_back({l.id, j == right.size() ? -1 : right[j].id});
  }
  return all;
}

// Right rows: none, one, some.
const std::vector<data_set<trade>>& others() {
  static const std::vector<data_set<trade>> all = [] {
    std::vector<data_set<trade>> sets = {{"none", {}}, {"one", {few_trades().front()}}, {"few", few_trades()}};
    sets.back().rows.resize(300);
    return sets;
  }();
  return all;
}
constexpr nearest directions[] = {nearest::backward, nearest::forward, nearest::either};

CONFORMS(asof_join, numbers_by_keys, "asof_join") {
  const auto same = [](const trade& l, const trade& r) { return l.key == r.key; };
  for (const auto& d : trades()) {
    for (const auto& o : {others()[0], others()[1], others()[2], d}) {
      SCOPED_TRACE(d.name + " and " + o.name);
      std::vector<trade> right = o.rows;
      if (right.size() > 700) right.resize(700);
      for (const nearest way : directions) {
        EXPECT_ROWS(source(e, d.rows).asof_join(source(e, right), key, key, amount, amount, ids, {.direction = way}).to_vector(),
                    expected(d.rows, right, same, amount, amount, way));
        EXPECT_ROWS(source(e, d.rows).asof_join(source(e, right), key, key, amount, amount, ids,
                                                {.direction = way, .exact = false, .tolerance = 40}).to_vector(),
                    expected(d.rows, right, same, amount, amount, way, false, std::optional<wide>(40)));
      }
    }
  }
}

// NaNs, zeros of either sign and infinities as times; strings as keys.
CONFORMS(asof_join, odd_times_by_strings, "asof_join") {
  const auto same = [](const trade& l, const trade& r) { return l.name == r.name; };
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    for (const nearest way : directions) {
      EXPECT_ROWS(source(e, d.rows).asof_join(source(e, d.rows), name, name, price, price, ids, {.direction = way}).to_vector(),
                  expected(d.rows, d.rows, same, price, price, way));
      EXPECT_ROWS(source(e, d.rows).asof_join(d.rows, name, name, price, price, ids,
                                              {.direction = way, .exact = false, .tolerance = 2.5}).to_vector(),
                  expected(d.rows, d.rows, same, price, price, way, false, std::optional<double>(2.5)));
    }
  }
}

// Nulls as keys and as times; numbers of different types.
CONFORMS(asof_join, nulls, "asof_join") {
  const auto same = [](const trade& l, const trade& r) { return l.note && r.note && *l.note == *r.note; };
  const auto pair = [](const auto& t) { return std::tuple(t.key, t.lot); };
  const auto wide_pair = [](const auto& t) { return std::tuple(query::cast<std::int64_t>(t.key), t.lot); };
  const auto same_pair = [](const trade& l, const trade& r) { return l.key == r.key && l.lot && r.lot && *l.lot == *r.lot; };
  const auto small = [](const auto& t) { return query::cast<std::int16_t>(t.id % 100); };
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    for (const nearest way : directions) {
      EXPECT_ROWS(source(e, d.rows).asof_join(source(e, d.rows), note, note, lot, amount, ids, {.direction = way}).to_vector(),
                  expected(d.rows, d.rows, same, lot, amount, way));
      EXPECT_ROWS(source(e, d.rows).asof_join(source(e, d.rows), pair, wide_pair, small, price, ids, {.direction = way}).to_vector(),
                  expected(d.rows, d.rows, same_pair, small, price, way));
    }
  }
}

// Without keys, and without a function; functions that name their types see the rows.
CONFORMS(asof_join, without_keys, "asof_join") {
  const auto all = [](const trade&, const trade&) { return true; };
  for (const auto& d : trades()) {
    for (const auto& o : {others()[0], others()[1], others()[2]}) {
      SCOPED_TRACE(d.name + " and " + o.name);
      for (const nearest way : directions) {
        EXPECT_ROWS(source(e, d.rows).asof_join(source(e, o.rows), lot, lot, ids, {.direction = way}).to_vector(),
                    expected(d.rows, o.rows, all, lot, lot, way));
        EXPECT_ROWS(source(e, d.rows).asof_join(source(e, o.rows), price, price, ids,
                                                {.direction = way, .exact = false, .tolerance = 1}).to_vector(),
                    expected(d.rows, o.rows, all, price, price, way, false, std::optional<double>(1)));
      }
      const auto wanted = expected(d.rows, o.rows, all, amount, amount);
      std::vector<found> got;
      for (const auto& [l, r] : source(e, d.rows).asof_join(source(e, o.rows), amount, amount).to_vector())
        got.push_back({l.id, r ? r->id : -1});
      EXPECT_ROWS(got, wanted);
      const auto strings = source(e, d.rows).asof_join(o.rows, amount, amount, [](const trade& l, const std::optional<trade>& r) {
        return priced{l.id, l.name, r ? r->note : std::optional<std::string>("no match, in more than fits in place")};
      }).to_vector();
      ASSERT_EQ(strings.size(), wanted.size());
      for (std::size_t i = 0; i < strings.size(); ++i) {
        const std::int32_t id = wanted[i].right;
        const auto match = std::find_if(o.rows.begin(), o.rows.end(), [&](const trade& t) { return t.id == id; });
        EXPECT_EQ(strings[i].name, d.rows[i].name);
        EXPECT_EQ(strings[i].note, id < 0 ? std::optional<std::string>("no match, in more than fits in place") : match->note) << i;
      }
    }
  }
}

// Several partitions, and batches whose rows match out of order.
CONFORMS(asof_join, many_rows, "asof_join") {
  const auto same = [](const tick& l, const tick& r) { return l.key == r.key; };
  const std::vector<tick>& rows = many_ticks();
  const std::vector<tick> few(rows.begin(), rows.begin() + 300);
  const auto all = [](const tick&, const tick&) { return true; };
  EXPECT_ROWS(source(e, rows).asof_join(source(e, few), key, key, amount, amount, ids).to_vector(),
              expected(rows, few, same, amount, amount));
  EXPECT_ROWS(source(e, few).asof_join(source(e, rows), key, key, amount, amount, ids, {.direction = nearest::either}).to_vector(),
              expected(few, rows, same, amount, amount, nearest::either));
  EXPECT_ROWS(source(e, few).asof_join(source(e, rows), amount, amount, ids, {.direction = nearest::forward}).to_vector(),
              expected(few, rows, all, amount, amount, nearest::forward));
}

// Rows in the order of their times, which are not sorted: of several batches, with ties, and one side far denser than the other.
CONFORMS(asof_join, sides_in_order, "asof_join") {
  std::vector<tick> rows = many_ticks();
  std::stable_sort(rows.begin(), rows.end(), [](const tick& a, const tick& b) { return a.amount < b.amount; });
  std::vector<tick> some;
  for (std::size_t i = 0; i < rows.size(); i += 1000) some.push_back(rows[i]);
  const auto all = [](const tick&, const tick&) { return true; };
  const auto same = [](const tick& l, const tick& r) { return l.key == r.key; };
  for (const nearest way : directions)
    for (const bool exact : {true, false}) {
      const asof_options how = {.direction = way, .exact = exact};
      EXPECT_ROWS(source(e, rows).asof_join(source(e, some), amount, amount, ids, how).to_vector(),
                  expected(rows, some, all, amount, amount, way, exact));
      EXPECT_ROWS(source(e, some).asof_join(source(e, rows), amount, amount, ids, how).to_vector(),
                  expected(some, rows, all, amount, amount, way, exact));
      EXPECT_ROWS(source(e, some).asof_join(source(e, rows), key, key, amount, amount, ids, how).to_vector(),
                  expected(some, rows, same, amount, amount, way, exact));
    }
}

// More rows of some keys than a batch has, whose times are in no order; all rows of one time.
CONFORMS(asof_join, long_runs_of_ties, "asof_join") {
  const std::vector<tick>& rows = many_ticks();
  const std::vector<tick> few(rows.begin(), rows.begin() + 100);
  const auto parity = [](const auto& t) { return t.id % 2; };
  const auto moment = [](const auto& t) { return t.amount % 3; };
  const auto once = [](const auto& t) { return t.amount * 0; };
  const auto same = [](const tick& l, const tick& r) { return l.id % 2 == r.id % 2; };
  for (const nearest way : directions) {
    EXPECT_ROWS(source(e, few).asof_join(source(e, rows), parity, parity, moment, moment, ids, {.direction = way}).to_vector(),
                expected(few, rows, same, moment, moment, way));
    EXPECT_ROWS(source(e, rows).asof_join(source(e, few), parity, parity, once, once, ids, {.direction = way, .tolerance = 0}).to_vector(),
                expected(rows, few, same, once, once, way, true, std::optional<wide>(0)));
  }
}

struct instant { std::int32_t id; std::int64_t time; std::uint64_t unsigned_time; };
QUERY_RECORD(instant, id, time, unsigned_time);

CONFORMS(asof_join, extremes, "asof_join") {
  constexpr std::int64_t low = std::numeric_limits<std::int64_t>::min(), high = std::numeric_limits<std::int64_t>::max();
  std::vector<instant> rows;
  for (const std::int64_t t : {low, high, low + 1, std::int64_t{0}, high - 1, low, std::int64_t{-1}, high})
    rows.push_back({static_cast<std::int32_t>(rows.size()), t, static_cast<std::uint64_t>(t)});
  const auto time = [](const auto& t) { return t.time; };
  const auto unsigned_time = [](const auto& t) { return t.unsigned_time; };
  const auto all = [](const instant&, const instant&) { return true; };
  const std::vector<instant> ends = {rows[0], rows[1]};
  const auto conforms = [&](query::asof_tolerance t, std::optional<wide> wanted) {
    for (const nearest way : directions)
      for (const bool exact : {true, false}) {
        const asof_options how = {.direction = way, .exact = exact, .tolerance = t};
        EXPECT_ROWS(source(e, rows).asof_join(ends, time, time, ids, how).to_vector(),
                    expected(rows, ends, all, time, time, way, exact, wanted));
        EXPECT_ROWS(source(e, rows).asof_join(rows, unsigned_time, unsigned_time, ids, how).to_vector(),
                    expected(rows, rows, all, unsigned_time, unsigned_time, way, exact, wanted));
      }
  };
  conforms({}, std::nullopt);
  conforms(0, wide{0});
  conforms(1.75, wide{1});
  conforms(high, wide{high});
  conforms(~std::uint64_t{0}, wide{~std::uint64_t{0}});
  conforms(std::numeric_limits<double>::infinity(), std::nullopt);
}

// A negative number equals no unsigned one.
CONFORMS(asof_join, keys_of_either_sign, "asof_join") {
  const std::vector<instant> rows = {{0, -1, 5}, {1, 3, 3}, {2, 7, std::uint64_t(-1)}};
  const auto time = [](const auto& t) { return t.time; };
  const auto unsigned_time = [](const auto& t) { return t.unsigned_time; };
  const auto id = [](const auto& t) { return t.id; };
  EXPECT_ROWS(source(e, rows).asof_join(rows, time, unsigned_time, id, id, ids).to_vector(),
              (std::vector<found>{{0, -1}, {1, 1}, {2, -1}}));
}

// Ties of the time: backward the last of the source, forward the first.
CONFORMS(asof_join, ties, "asof_join") {
  const std::vector<instant> left = {{0, 5, 1}, {1, 5, 1}, {2, 6, 1}, {3, 4, 1}};
  const std::vector<instant> right = {{10, 5, 1}, {11, 7, 1}, {12, 5, 1}, {13, 3, 1}, {14, 7, 1}, {15, 5, 1}, {16, 3, 1}};
  const auto time = [](const auto& t) { return t.time; };
  const auto one = [](const auto& t) { return t.unsigned_time; };
  const auto joined = [&](asof_options how) {
    return source(e, left).asof_join(source(e, right), one, one, time, time, ids, how).to_vector();
  };
  EXPECT_ROWS(joined({}), (std::vector<found>{{0, 15}, {1, 15}, {2, 15}, {3, 16}}));
  EXPECT_ROWS(joined({.direction = nearest::forward}), (std::vector<found>{{0, 10}, {1, 10}, {2, 11}, {3, 10}}));
  EXPECT_ROWS(joined({.direction = nearest::either}), (std::vector<found>{{0, 15}, {1, 15}, {2, 15}, {3, 16}}));
  EXPECT_ROWS(joined({.exact = false}), (std::vector<found>{{0, 16}, {1, 16}, {2, 15}, {3, 16}}));
  EXPECT_ROWS(joined({.direction = nearest::forward, .exact = false}), (std::vector<found>{{0, 11}, {1, 11}, {2, 11}, {3, 10}}));
}

struct undescribed { int key, time, value; };

CONFORMS(asof_join, rows_that_are_no_records, "asof_join") {
  const std::vector<undescribed> rows = {{1, 4, 40}, {2, 5, 50}, {1, 6, 60}};
  const auto by = [](const undescribed& u) { return u.key; };
  const auto time = [](const undescribed& u) { return u.time; };
  const auto values = [](const undescribed& l, const std::optional<undescribed>& r) { return l.value + (r ? r->value * 100 : 0); };
  EXPECT_ROWS(source(e, rows).asof_join(rows, by, by, time, time, values, {.exact = false}).to_vector(), (std::vector<int>{40, 50, 4060}));
  const std::vector<std::int64_t> numbers = {5, -3, 8}, others = {4, 6};
  const auto itself = [](auto x) { return x; };
  EXPECT_ROWS(source(e, numbers).asof_join(others, itself, itself, [](auto l, auto r) { return l * 10 + r.value_or(0); }).to_vector(),
              (std::vector<std::int64_t>{54, -30, 86}));
}

// Left rows that only come once, and rows that verbs before it made.
CONFORMS(asof_join, after_other_verbs, "asof_join") {
  const auto same = [](const trade& l, const trade& r) { return l.key == r.key; };
  const auto even = [](const auto& t) { return t.id % 2 == 0; };
  std::vector<trade> left, right;
  for (const trade& t : few_trades()) (t.id % 2 == 0 ? left : right).push_back(t);
  const auto wanted = expected(left, right, same, amount, amount);
  const auto odd_rows = source(e, few_trades()).where([](const auto& t) { return t.id % 2 != 0; });
  EXPECT_ROWS(source(e, few_trades()).where(even).asof_join(odd_rows, key, key, amount, amount, ids).to_vector(), wanted);
  const auto once = query::generate([&left, i = std::size_t{0}]() mutable -> std::optional<trade> {
    return i < left.size() ? std::optional(left[i++]) : std::nullopt;
  });
  EXPECT_ROWS(on(e, once).asof_join(odd_rows, key, key, amount, amount, ids).to_vector(), wanted);
  // Verbs before it run once, and a source that is spent when it was read is read once.
  if (!in_processes(e)) {
    std::atomic<std::size_t> next = 0, tested = 0;
    const auto spent = query::generate([&left, &next]() -> std::optional<trade> {
      const std::size_t i = next++;
      return i < left.size() ? std::optional(left[i]) : std::nullopt;
    });
    const auto counted = source(e, right).where([&tested](const trade&) { return ++tested > 0; });
    EXPECT_ROWS(on(e, spent).asof_join(counted, key, key, amount, amount, ids).to_vector(), wanted);
    EXPECT_EQ(tested, right.size());
  }
  std::vector<trade> turned(right.rbegin(), right.rend());
  EXPECT_ROWS(source(e, left).asof_join(source(e, right).reverse(), key, key, amount, amount, ids).where([](const auto& f) {
    return f.left % 4 == 0;
  }).take(200).to_vector(), [&] {
    std::vector<found> some;
    for (const found& f : expected(left, turned, same, amount, amount))
      if (f.left % 4 == 0 && some.size() < 200) some.push_back(f);
    return some;
  }());
}

// A function that relies on matches sees them only, also where both forms of functions are compared.
CONFORMS(asof_join, verified, "asof_join", "verify") {
  std::vector<instant> trades, quotes;
  for (std::int32_t i = 0; i < 3000; ++i) {
    const auto of = static_cast<std::uint64_t>(i % 7);
    quotes.push_back({i, 10 * std::int64_t{i}, of});
    trades.push_back({i, 10 * std::int64_t{i} + 5, of});
  }
  const auto by = [](const auto& t) { return t.unsigned_time; };
  const auto time = [](const auto& t) { return t.time; };
  const auto all = [](const instant&, const instant&) { return true; };
  const auto same = [](const instant& l, const instant& r) { return l.unsigned_time == r.unsigned_time; };
  const auto last = [](const instant& l, const std::optional<instant>& q) { return found{l.id, q->id}; };
  const auto q = source(e, trades).verify();
  EXPECT_ROWS(q.asof_join(source(e, quotes), time, time, last).to_vector(), expected(trades, quotes, all, time, time));
  EXPECT_ROWS(q.asof_join(source(e, quotes), by, by, time, time, last).to_vector(), expected(trades, quotes, same, time, time));
  EXPECT_EQ(q.where([](const auto& t) { return t.id % 2 == 0; }).asof_join(quotes, by, by, time, time, last).count(), 1500);
  if (in_processes(e)) return;
  std::atomic<std::size_t> missing = 0;
  const auto counts = [&missing](const instant& l, const std::optional<instant>& r) {
    if (!r) ++missing;
    return found{l.id, r ? r->id : -1};
  };
  EXPECT_ROWS(q.asof_join(quotes, by, by, time, time, counts).to_vector(), expected(trades, quotes, same, time, time));
  EXPECT_EQ(missing, 0u);
}

// One function that never throws beside one that does.
CONFORMS(asof_join, what_functions_throw, "asof_join") {
  const auto q = source(e, few_trades());
  const auto never = [](const trade& t) noexcept { return t.key; };
  const auto never_amount = [](const trade& t) noexcept { return t.amount; };
  const auto throws = [](const trade& t) -> std::int64_t {
    if (t.id == 3) throw std::runtime_error("of the function");
    return t.amount;
  };
  EXPECT_ANY_THROW(q.asof_join(few_trades(), never, never, throws, throws, ids).to_vector());
  EXPECT_ANY_THROW(q.asof_join(few_trades(), throws, throws, never_amount, never_amount, ids).to_vector());
  EXPECT_ANY_THROW(q.asof_join(few_trades(), throws, throws, ids).to_vector());
}

CONFORMS(asof_join, errors_and_plan, "asof_join") {
  const std::vector<tick>& rows = small_ticks().back().rows;
  const auto q = source(e, rows);
  EXPECT_MESSAGE("asof_join: the tolerance must not be negative or NaN", q.asof_join(rows, amount, amount, {.tolerance = -1}));
  EXPECT_MESSAGE("asof_join: the tolerance must not be negative or NaN", q.asof_join(rows, price, price, ids, {.tolerance = std::nan("")}));
  for (const std::string& plan :
       {q.asof_join(rows, key, key, amount, amount, ids).explain(), q.asof_join(rows, amount, amount, ids).explain()}) {
    EXPECT_NE(plan.find("asof_join: looks up the nearest times of its right side"), std::string::npos) << plan;
    EXPECT_EQ(plan.find("result: opaque"), std::string::npos) << plan;
  }
}

}  // namespace conformance::asof
