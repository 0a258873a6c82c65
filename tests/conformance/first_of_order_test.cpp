// The first rows of an order: top, and take and skip behind order_by. Engines that find them without sorting all rows must give what the
// stable sort gives: ties in the order of the rows, wherever the limit cuts them.
#include <cmath>
#include <limits>

#include "conformance/compiled_kernels.hpp"
#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using query::nulls;

template <class T, class Native> std::vector<T> sorted_by(std::vector<T> rows, Native key, bool descending, bool nulls_first = false) {
  std::stable_sort(rows.begin(), rows.end(), [&](const T& a, const T& b) { return before(key(a), key(b), descending, nulls_first); });
  return rows;
}
template <class T> std::vector<T> part_of(const std::vector<T>& rows, std::size_t from, std::size_t n) {
  from = std::min(from, rows.size());
  n = std::min(n, rows.size() - from);
  return {rows.begin() + static_cast<std::ptrdiff_t>(from), rows.begin() + static_cast<std::ptrdiff_t>(from + n)};
}

// `sorted` is the whole order of what `q` sorts.
template <class Q, class T> void check_limits(const Q& q, const std::vector<T>& sorted) {
  for (const std::size_t k : {std::size_t{1}, sorted.size() / 9, sorted.size() / 4}) {
    SCOPED_TRACE("the first " + std::to_string(k));
    EXPECT_ROWS(q.take(k).to_vector(), part_of(sorted, 0, k));
  }
  EXPECT_ROWS(q.skip(5).take(11).to_vector(), part_of(sorted, 5, 11));
}
template <class Native, class F> void check_key(const engine_config& e, const char* what, Native native, F f) {
  SCOPED_TRACE(what);
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    check_limits(source(e, d.rows).order_by(f), sorted_by(d.rows, native, false));
    check_limits(source(e, d.rows).order_by_descending(f), sorted_by(d.rows, native, true));
  }
}

CONFORMS(first_of_order, any_number_of_them, "top", "order_by", "take", "skip") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const std::vector<trade> sorted = sorted_by(d.rows, [](const trade& t) { return t.key; }, true);
    const std::size_t n = sorted.size();
    for (const std::size_t k : {std::size_t{0}, std::size_t{1}, std::size_t{3}, n / 5, n / 2, n ? n - 1 : 0, n, n + 7}) {
      SCOPED_TRACE(k);
      EXPECT_ROWS(source(e, d.rows).top(k, [](auto t) { return t.key; }).to_vector(), part_of(sorted, 0, k));
      EXPECT_ROWS(source(e, d.rows).order_by_descending([](auto t) { return t.key; }).skip(k).take(9).to_vector(), part_of(sorted, k, 9));
    }
  }
}
CONFORMS(first_of_order, numbers_and_bools, "order_by", "order_by_descending", "take", "skip") {
  check_key(e, "int32", [](const trade& t) { return t.key; }, [](auto t) { return t.key; });
  check_key(e, "int64", [](const trade& t) { return t.amount; }, [](auto t) { return t.amount; });
  check_key(e, "bool", [](const trade& t) { return t.hot; }, [](auto t) { return t.hot; });
  check_key(e, "all equal", [](const trade& t) { return t.key * 0; }, [](auto t) { return t.key * 0; });
}
CONFORMS(first_of_order, floating_keys, "order_by", "order_by_descending", "take", "skip") {
  check_key(e, "double", [](const trade& t) { return t.price; }, [](auto t) { return t.price; });
}
CONFORMS(first_of_order, strings_and_arrays, "order_by", "order_by_descending", "take", "skip") {
  check_key(e, "string", [](const trade& t) { return t.name; }, [](auto t) { return t.name; });
  check_key(e, "array", [](const trade& t) { return t.legs; }, [](auto t) { return t.legs; });
}

CONFORMS(first_of_order, nulls, "order_by", "order_by_descending", "take", "skip") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto lot = [](const trade& t) { return t.lot; };
    const auto note = [](const trade& t) { return t.note; };
    for (const bool first : {false, true}) {
      const nulls place = first ? nulls::first : nulls::last;
      check_limits(source(e, d.rows).order_by([](auto t) { return t.lot; }, place), sorted_by(d.rows, lot, false, first));
      check_limits(source(e, d.rows).order_by_descending([](auto t) { return t.lot; }, place), sorted_by(d.rows, lot, true, first));
      check_limits(source(e, d.rows).order_by([](auto t) { return t.note; }, place), sorted_by(d.rows, note, false, first));
      check_limits(source(e, d.rows).order_by_descending([](auto t) { return t.note; }, place), sorted_by(d.rows, note, true, first));
    }
  }
}

CONFORMS(first_of_order, several_keys, "order_by", "order_by_descending", "then_by", "then_by_descending", "take", "skip") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto price = [](const trade& t) { return t.price; };
    const auto lot = [](const trade& t) { return t.lot; };
    const auto few = [](const trade& t) { return t.key % 3; };
    const auto name = [](const trade& t) { return t.name; };
    check_limits(source(e, d.rows).order_by_descending([](auto t) { return t.key % 3; }).then_by([](auto t) { return t.price; }),
                 sorted_by(sorted_by(d.rows, price, false), few, true));
    check_limits(source(e, d.rows).order_by([](auto t) { return t.lot; }, nulls::first).then_by_descending([](auto t) { return t.price; }),
                 sorted_by(sorted_by(d.rows, price, true), lot, false, true));
    check_limits(source(e, d.rows).order_by([](auto t) { return t.key % 3; }).then_by_descending([](auto t) { return t.name; }),
                 sorted_by(sorted_by(d.rows, name, true), few, false));
    check_limits(source(e, d.rows).order_by([](auto t) { return t.name; }).then_by_descending([](auto t) { return t.lot; }),
                 sorted_by(sorted_by(d.rows, lot, true), name, false));
  }
}

CONFORMS(first_of_order, behind_row_wise_work, "where", "select", "order_by", "order_by_descending", "top", "take") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto hot = kept(d.rows, [](const trade& t) { return t.hot && t.key % 2 == 0; });
    const auto price = [](const trade& t) { return t.price; };
    const auto filtered = source(e, d.rows).where([](auto t) { return t.hot && t.key % 2 == 0; });
    check_limits(filtered.order_by_descending([](auto t) { return t.price; }), sorted_by(hot, price, true));
    const auto amounts = selected(hot, [](const trade& t) { return t.amount % 1000; });
    check_limits(filtered.select([](auto t) { return t.amount % 1000; }).order(),
                 sorted_by(amounts, [](std::int64_t a) { return a; }, false));
    const auto named = selected(hot, [](const trade& t) { return std::pair(t.name, t.price); });
    check_limits(filtered.select([](auto t) { return std::make_pair(t.name, t.price); }).order_by([](auto p) { return p.second; }),
                 sorted_by(named, [](const auto& p) { return p.second; }, false));
    // Few rows pass, fewer than are wanted or none.
    const auto few = kept(d.rows, [](const trade& t) { return t.id % 97 == 3; });
    check_limits(source(e, d.rows).where([](auto t) { return t.id % 97 == 3; }).order_by([](auto t) { return t.price; }),
                 sorted_by(few, price, false));
    EXPECT_ROWS(source(e, d.rows).where([](auto t) { return t.id < 0; }).order_by([](auto t) { return t.price; }).take(20).to_vector(),
                std::vector<trade>());
    // A verb behind the order, and the number of a row in front of it.
    const auto sorted = sorted_by(hot, price, false);
    EXPECT_ROWS(filtered.order_by([](auto t) { return t.price; }).select([](auto t) { return t.id; }).take(9).to_vector(),
                selected(part_of(sorted, 0, 9), [](const trade& t) { return t.id; }));
    EXPECT_ROWS(filtered.order_by([](auto t) { return t.price; }).take(30).where([](auto t) { return t.key > 3; }).to_vector(),
                kept(part_of(sorted, 0, 30), [](const trade& t) { return t.key > 3; }));
  }
}

CONFORMS(first_of_order, errors_of_all_rows_are_reported, "order_by", "then_by", "take") {
  std::vector<trade> rows(3000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].key = static_cast<std::int32_t>(i % 7), rows[i].lot = 1;
  rows[2345].lot = std::nullopt;
  rows[2345].key = 99;  // the last of all by its first key
  const auto q = source(e, rows);
  const auto by_key = q.order_by([](auto t) { return t.key; });
  const auto first = [&] { return q.order_by([](auto t) { return t.lot.value(); }).take(3).to_vector(); };
  const auto then = [&] { return by_key.then_by([](auto t) { return t.lot.value(); }).take(3).to_vector(); };
  if (std::string(e.column) == "cpu" || !computes(e)) {  // the compiled function throws by itself
    EXPECT_THROW(first(), std::bad_optional_access);
    EXPECT_THROW(then(), std::bad_optional_access);
  } else {
    EXPECT_THROW(first(), query::user_error);
    EXPECT_THROW(then(), query::user_error);
  }
}

// So many rows that every engine takes the way of its own for the first of them.
template <class Before> std::vector<tick> first_of(const std::vector<tick>& rows, std::size_t k, Before comes_before) {
  std::vector<std::uint32_t> order(rows.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::uint32_t>(i);
  k = std::min(k, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return comes_before(rows[a], rows[b]) || (!comes_before(rows[b], rows[a]) && a < b);
  });
  std::vector<tick> first;
  for (std::size_t i = 0; i < k; ++i) first.push_back(rows[order[i]]);
  return first;
}
CONFORMS(first_of_order, many_rows, "order_by", "order_by_descending", "then_by", "top", "take", "skip", "where") {
  static const std::vector<tick> rows = [] {
    std::vector<tick> r((std::size_t{1} << 21) + 12345);
    std::uint64_t x = seed();
    for (std::size_t i = 0; i < r.size(); ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      const double odd[] = {-0.0, 0.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::infinity()};
      r[i] = {static_cast<std::int32_t>(i), static_cast<std::int32_t>(x >> 61), static_cast<std::int64_t>(i),
              x >> 40 & 15 ? static_cast<double>(static_cast<std::int64_t>(x >> 20) - (std::int64_t{1} << 43)) : odd[x >> 50 & 3]};
    }
    return r;
  }();
  const auto larger = [](const tick& a, const tick& b) { return before(b.price, a.price); };
  static const std::vector<tick> by_price = first_of(rows, 1500, larger);
  static const std::vector<tick> by_key = first_of(rows, 1500, [](const tick& a, const tick& b) { return a.key < b.key; });
  static const std::vector<tick> by_both =
      first_of(rows, 200, [&](const tick& a, const tick& b) { return a.key != b.key ? a.key < b.key : larger(a, b); });
  static const std::vector<tick> filtered = first_of(kept(rows, [](const tick& t) { return t.key == 3 && t.price < 0; }), 300,
                                                     [&](const tick& a, const tick& b) { return larger(b, a); });
  const auto q = source(e, rows);
  EXPECT_ROWS(q.top(1, [](auto t) { return t.price; }).to_vector(), part_of(by_price, 0, 1));
  EXPECT_ROWS(q.top(1500, [](auto t) { return t.price; }).to_vector(), by_price);
  EXPECT_ROWS(q.order_by([](auto t) { return t.key; }).take(1500).to_vector(), by_key);
  EXPECT_ROWS(q.order_by([](auto t) { return t.key; }).skip(700).take(100).to_vector(), part_of(by_key, 700, 100));
  EXPECT_ROWS(q.order_by([](auto t) { return t.key; }).then_by_descending([](auto t) { return t.price; }).take(200).to_vector(), by_both);
  const auto some = q.where([](auto t) { return t.key == 3 && t.price < 0; });
  EXPECT_ROWS(some.order_by([](auto t) { return t.price; }).take(300).to_vector(), filtered);
  // As they lie, and the other way round.
  EXPECT_ROWS(q.order_by([](auto t) { return t.amount; }).take(40).to_vector(), part_of(rows, 0, 40));
  EXPECT_ROWS(q.order_by_descending([](auto t) { return t.amount; }).take(3).to_vector(),
              (std::vector<tick>{rows[rows.size() - 1], rows[rows.size() - 2], rows[rows.size() - 3]}));
}

}  // namespace
}  // namespace conformance
