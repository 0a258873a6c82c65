// Verbs that pick rows by where they stand, with functions that every engine can run: an engine that claims them must not hand
// them to another one. Rows that hold strings and lists too, and slices on top of each other.
#include <numeric>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "planned_there.hpp"

namespace conformance {
namespace {

template <class T> std::vector<T> slice(const std::vector<T>& v, std::size_t from, std::size_t n) {
  from = std::min(from, v.size());
  n = std::min(n, v.size() - from);
  return {v.begin() + static_cast<std::ptrdiff_t>(from), v.begin() + static_cast<std::ptrdiff_t>(from + n)};
}
template <class T> std::vector<T> joined(std::vector<T> a, const std::vector<T>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
template <class T> std::vector<T> backwards(std::vector<T> v) {
  std::reverse(v.begin(), v.end());
  return v;
}

// The rows, from the engine itself.
template <class Q> auto rows_of(const engine_config& e, const Q& q) {
  if (e.accelerate) {
    EXPECT_TRUE(planned_there(q.explain()));
  }
  return q.to_vector();
}
const auto third = [](auto t) { return t.amount % 3 == 0; };

CONFORMS(positions, first_and_last_rows, "take", "skip", "take_last", "skip_last", "where", "select") {
  for (const auto& d : ticks()) {
    const auto some = kept(d.rows, third);
    for (const std::size_t n : {0u, 1u, 1000u, 70000u, 300000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const auto q = source(e, d.rows);
      const auto filtered = q.where(third);
      const auto ids = q.select([](auto t) { return t.id; });
      const auto all_ids = selected(d.rows, [](const tick& t) { return t.id; });
      const auto rest = [n](std::size_t all) { return all - std::min<std::size_t>(n, all); };
      EXPECT_ROWS(rows_of(e, q.take(n)), slice(d.rows, 0, n));
      EXPECT_ROWS(rows_of(e, q.skip(n)), slice(d.rows, n, d.rows.size()));
      EXPECT_ROWS(rows_of(e, ids.skip_last(n)), slice(all_ids, 0, rest(all_ids.size())));
      EXPECT_ROWS(rows_of(e, ids.take_last(n)), slice(all_ids, rest(all_ids.size()), n));
      EXPECT_ROWS(rows_of(e, filtered.take(n)), slice(some, 0, n));
      EXPECT_ROWS(rows_of(e, filtered.skip(n).take(700)), slice(some, n, 700));
      EXPECT_ROWS(rows_of(e, filtered.take_last(n)), slice(some, rest(some.size()), n));
      EXPECT_ROWS(rows_of(e, filtered.skip_last(n)), slice(some, 0, rest(some.size())));
      EXPECT_ROWS(rows_of(e, q.skip(n).where(third)), kept(slice(d.rows, n, d.rows.size()), third));
    }
  }
}

CONFORMS(positions, rows_before_and_behind_the_first_that_fails, "take_while", "skip_while") {
  for (const auto& d : ticks()) {
    for (const std::int32_t border : {0, 1, 1000, 66000, 400000}) {
      SCOPED_TRACE(d.name + ", border " + std::to_string(border));
      const auto p = [border](auto t) { return t.id < border || t.amount > 990; };
      const auto n = static_cast<std::size_t>(std::find_if_not(d.rows.begin(), d.rows.end(), p) - d.rows.begin());
      EXPECT_ROWS(rows_of(e, source(e, d.rows).take_while(p)), slice(d.rows, 0, n));
      EXPECT_ROWS(rows_of(e, source(e, d.rows).skip_while(p)), slice(d.rows, n, d.rows.size()));
      EXPECT_ROWS(rows_of(e, source(e, d.rows).take_while(p).take(5000)), slice(d.rows, 0, std::min<std::size_t>(n, 5000)));
    }
  }
}

CONFORMS(positions, rows_of_two_sources, "concat", "append", "prepend", "zip", "default_if_empty") {
  const tick other{7, 8, 9, 0.5};
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto some = kept(d.rows, third);
    const auto q = source(e, d.rows);
    const auto filtered = q.where(third);
    EXPECT_ROWS(rows_of(e, q.concat(filtered)), joined(d.rows, some));
    EXPECT_ROWS(rows_of(e, filtered.concat(q).take(1500)), slice(joined(some, d.rows), 0, 1500));
    EXPECT_ROWS(rows_of(e, filtered.append(other)), joined(some, {other}));
    EXPECT_ROWS(rows_of(e, filtered.prepend(other)), joined({other}, some));
    EXPECT_ROWS(rows_of(e, filtered.default_if_empty(other)), some.empty() ? std::vector<tick>{other} : some);
    std::vector<std::tuple<std::int32_t, std::int64_t>> pairs;
    for (std::size_t i = 0; i < some.size(); ++i) pairs.emplace_back(d.rows[i].id, some[i].amount);
    EXPECT_ROWS(rows_of(e, q.zip(filtered, [](auto a, auto b) { return std::make_tuple(a.id, b.amount); })), pairs);
    std::vector<double> steps;
    for (std::size_t i = 1; i < d.rows.size(); ++i) steps.push_back(d.rows[i].price - d.rows[i - 1].price);
    EXPECT_ROWS(rows_of(e, q.zip(q.skip(1), [](auto a, auto b) { return b.price - a.price; })), steps);
  }
}

CONFORMS(positions, rows_backwards_and_drawn, "reverse", "sample") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    EXPECT_ROWS(rows_of(e, q.reverse()), backwards(d.rows));
    EXPECT_ROWS(rows_of(e, q.where(third).reverse().take(100)), slice(backwards(kept(d.rows, third)), 0, 100));
    const auto drawn = rows_of(e, q.where(third).sample(777, 5));
    const auto wanted = query::from(d.rows).in(engines().front().session).where(third).sample(777, 5).to_vector();
    EXPECT_ROWS(drawn, wanted);
  }
}

CONFORMS(positions, rows_that_own_memory, "take", "skip", "chunk", "window", "concat", "reverse", "take_while", "where") {
  const auto& rows = few_trades();
  const auto bought = [](auto t) { return t.key % 2 == 0; };
  const auto some = kept(rows, bought);
  const auto q = source(e, rows);
  EXPECT_ROWS(rows_of(e, q.skip(11).take(700)), slice(rows, 11, 700));
  EXPECT_ROWS(rows_of(e, q.where(bought).concat(q)), joined(some, rows));
  EXPECT_ROWS(rows_of(e, q.where(bought).reverse()), backwards(some));
  EXPECT_ROWS(rows_of(e, q.take_while([](auto t) { return t.id < 100; })), slice(rows, 0, 100));
  std::vector<std::vector<std::string>> chunks, windows;
  const auto names = selected(rows, [](const trade& t) { return t.name; });
  for (std::size_t i = 0; i < names.size(); i += 7) chunks.push_back(slice(names, i, 7));
  for (std::size_t i = 0; i + 3 <= names.size(); ++i) windows.push_back(slice(names, i, 3));
  EXPECT_ROWS(rows_of(e, q.select([](auto t) { return t.name; }).chunk(7)), chunks);
  EXPECT_ROWS(rows_of(e, q.select([](auto t) { return t.name; }).window(3)), windows);
  EXPECT_ROWS(rows_of(e, q.zip(q.reverse(), [](auto a, auto b) { return std::make_tuple(a.name, b.id); })), [&] {
    std::vector<std::tuple<std::string, std::int32_t>> wanted;
    for (std::size_t i = 0; i < rows.size(); ++i) wanted.emplace_back(rows[i].name, rows[rows.size() - 1 - i].id);
    return wanted;
  }());
}

CONFORMS(positions, runs_as_lists, "chunk", "window") {
  for (const auto& d : small_ticks()) {
    for (const std::size_t n : {1u, 3u, 1000u, 5000u}) {
      SCOPED_TRACE(d.name + ", n = " + std::to_string(n));
      const auto amounts = selected(d.rows, [](const tick& t) { return t.amount; });
      std::vector<std::vector<std::int64_t>> chunks, windows;
      for (std::size_t i = 0; i < amounts.size(); i += n) chunks.push_back(slice(amounts, i, n));
      for (std::size_t i = 0; i + n <= amounts.size(); ++i) windows.push_back(slice(amounts, i, n));
      const auto q = source(e, d.rows).select([](auto t) { return t.amount; });
      EXPECT_ROWS(rows_of(e, q.chunk(n)), chunks);
      EXPECT_ROWS(rows_of(e, q.window(n)), windows);
      std::vector<std::int64_t> sizes;
      for (const auto& c : chunks) sizes.push_back(std::ssize(c));
      EXPECT_ROWS(rows_of(e, q.chunk(n).select([](auto c) { return query::cast<std::int64_t>(c.size()); })), sizes);
    }
  }
}

CONFORMS(positions, counted_sources, "range", "repeat", "where", "select", "sum") {
  std::vector<std::int32_t> numbers(70000);
  std::iota(numbers.begin(), numbers.end(), -100);
  const auto even = [](auto x) { return x % 2 == 0; };
  EXPECT_ROWS(rows_of(e, on(e, query::range(std::int32_t{-100}, 70000)).where(even)), kept(numbers, even));
  EXPECT_ROWS(rows_of(e, on(e, query::range(std::int32_t{-100}, 70000)).skip(69000)), slice(numbers, 69000, 1000));
  EXPECT_EQ(on(e, query::range(0.5, 1000)).select([](auto x) { return x * 2; }).sum(), 1000.0 * 1000);
  const auto ticks = on(e, query::repeat(tick{1, 2, 3, 4.5}, 3000));
  EXPECT_ROWS(rows_of(e, ticks.select([](auto t) { return t.price; })), std::vector<double>(3000, 4.5));
  const std::string words = "more than sixteen characters";
  const auto same = on(e, query::repeat(words, 1500));
  EXPECT_ROWS(rows_of(e, same.where([](auto s) { return s.size() > 3; })), std::vector<std::string>(1500, words));
}

CONFORMS(positions, in_loops, "do_while", "take", "skip", "concat", "reverse") {
  std::vector<std::int64_t> rows(5000), wanted;
  std::iota(rows.begin(), rows.end(), 0);
  wanted = rows;
  for (int round = 0; round < 6; ++round) {
    auto next = joined(slice(wanted, 100, wanted.size()), slice(wanted, 0, 100));
    wanted = backwards(next);
    for (auto& x : wanted) ++x;
  }
  const auto q = source(e, rows).do_while(
      [](auto x) { return x.skip(100).concat(x.take(100)).reverse().select([](auto v) { return v + 1; }); }, query::times(6));
  EXPECT_ROWS(q.to_vector(), wanted);
}

}  // namespace
}  // namespace conformance
