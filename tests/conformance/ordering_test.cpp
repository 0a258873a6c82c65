// order_by, then_by, order, reverse, top: directions, nulls, NaNs, stability, custom orders.
#include <array>
#include <optional>
#include <stop_token>
#include <tuple>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

using query::nulls;

struct letter {
  std::array<std::uint8_t, 10> code;
  std::array<std::uint8_t, 83> rest;
  std::optional<std::int8_t> mark;
  std::array<std::int16_t, 3> steps;
  bool operator==(const letter&) const = default;
};
QUERY_RECORD(letter, code, rest, mark, steps);
struct packet {
  std::array<std::uint8_t, 10> key;
  std::array<std::uint8_t, 89> rest;
  std::int8_t last;
  bool operator==(const packet&) const = default;
};
QUERY_RECORD(packet, key, rest, last);

template <class T, class Native> std::vector<T> sorted_by(std::vector<T> rows, Native key, bool descending, bool nulls_first) {
  std::stable_sort(rows.begin(), rows.end(), [&](const T& a, const T& b) { return before(key(a), key(b), descending, nulls_first); });
  return rows;
}

// Both directions over every data set. Ids are distinct: equal keys show whether the sort is stable.
template <class Native, class F> void check_order(const engine_config& e, const char* what, Native native, F f) {
  SCOPED_TRACE(what);
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    EXPECT_ROWS(source(e, d.rows).order_by(f).to_vector(), sorted_by(d.rows, native, false, false));
    EXPECT_ROWS(source(e, d.rows).order_by_descending(f).to_vector(), sorted_by(d.rows, native, true, false));
  }
}

CONFORMS(ordering, numbers_enums_and_bools, "order_by", "order_by_descending") {
  check_order(e, "int32", [](const trade& t) { return t.key; }, [](auto t) { return t.key; });
  check_order(e, "int64", [](const trade& t) { return t.amount; }, [](auto t) { return t.amount; });
  check_order(e, "enum", [](const trade& t) { return t.way; }, [](auto t) { return t.way; });
  check_order(e, "bool", [](const trade& t) { return t.hot; }, [](auto t) { return t.hot; });
}
CONFORMS(ordering, nans_are_larger_than_all_numbers, "order_by", "order_by_descending") {
  check_order(e, "double", [](const trade& t) { return t.price; }, [](auto t) { return t.price; });
}
CONFORMS(ordering, strings_arrays_and_composites, "order_by", "order_by_descending") {
  check_order(e, "string", [](const trade& t) { return t.name; }, [](auto t) { return t.name; });
  check_order(e, "array", [](const trade& t) { return t.legs; }, [](auto t) { return t.legs; });
  check_order(
      e, "tuple", [](const trade& t) { return std::tuple(t.hot, t.name, t.key); },
      [](const trade& t) { return std::tuple(t.hot, t.name, t.key); });
}

// Numbers that share a word of the sort, and rows of bytes that are carried along.
CONFORMS(ordering, records_of_bytes_by_arrays_and_small_numbers, "order_by", "order_by_descending", "top") {
  std::vector<letter> rows(3001);
  std::uint64_t state = 42;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto& b : rows[i].code) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      b = static_cast<std::uint8_t>(state >> 61);
    }
    for (std::size_t k = 0; k < rows[i].rest.size(); ++k) rows[i].rest[k] = static_cast<std::uint8_t>(i >> k % 2 * 8);
    const auto turn = static_cast<std::int16_t>(i % 3);
    rows[i].steps = {static_cast<std::int16_t>(state >> 62), static_cast<std::int16_t>(-turn), static_cast<std::int16_t>(i % 2)};
    if (i % 5) rows[i].mark = static_cast<std::int8_t>(state >> 40);
  }
  const auto both = [&](const char* what, auto native, auto f) {
    SCOPED_TRACE(what);
    EXPECT_ROWS(source(e, rows).order_by(f).to_vector(), sorted_by(rows, native, false, false));
    const auto down = sorted_by(rows, native, true, false);
    EXPECT_ROWS(source(e, rows).order_by_descending(f).to_vector(), down);
    EXPECT_ROWS(source(e, rows).order_by_descending(f).take(7).to_vector(), std::vector<letter>(down.begin(), down.begin() + 7));
  };
  both("ten bytes", [](const letter& r) { return r.code; }, [](auto r) { return r.code; });
  both("three signed numbers", [](const letter& r) { return r.steps; }, [](auto r) { return r.steps; });
  both("a small number that may be missing", [](const letter& r) { return r.mark; }, [](auto r) { return r.mark; });
}

CONFORMS(ordering, records_of_nothing_but_bytes, "order_by", "order_by_descending", "where") {
  std::vector<packet> rows(2049);
  std::uint64_t state = 7;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (auto& b : rows[i].key) {
      state = state * 6364136223846793005ull + 1442695040888963407ull;
      b = static_cast<std::uint8_t>(state >> 56);
    }
    for (std::size_t k = 0; k < rows[i].rest.size(); ++k) rows[i].rest[k] = static_cast<std::uint8_t>(i * 31 + k);
    rows[i].last = static_cast<std::int8_t>(i);
  }
  const auto key = [](const packet& r) { return r.key; };
  EXPECT_ROWS(source(e, rows).order_by([](auto r) { return r.key; }).to_vector(), sorted_by(rows, key, false, false));
  EXPECT_ROWS(source(e, rows).order_by_descending([](auto r) { return r.key; }).to_vector(), sorted_by(rows, key, true, false));
  // Two fields of three, which a GPU is brought a column each.
  EXPECT_ROWS(source(e, rows).order_by([](auto r) { return r.key; }).select([](auto r) { return r.last; }).to_vector(),
              selected(sorted_by(rows, key, false, false), [](const packet& r) { return r.last; }));
  std::vector<packet> some;
  for (const packet& r : rows)
    if (r.last > 3) some.push_back(r);
  EXPECT_ROWS(source(e, rows).where([](auto r) { return r.last > 3; }).order_by([](auto r) { return r.key; }).to_vector(),
              sorted_by(some, key, false, false));
}

CONFORMS(ordering, nulls_come_last_or_first_in_both_directions, "order_by", "order_by_descending") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto lot = [](const trade& t) { return t.lot; };
    const auto note = [](const trade& t) { return t.note; };
    EXPECT_ROWS(source(e, d.rows).order_by([](auto t) { return t.lot; }).to_vector(), sorted_by(d.rows, lot, false, false));
    EXPECT_ROWS(source(e, d.rows).order_by([](auto t) { return t.lot; }, nulls::first).to_vector(), sorted_by(d.rows, lot, false, true));
    EXPECT_ROWS(source(e, d.rows).order_by_descending([](auto t) { return t.lot; }).to_vector(), sorted_by(d.rows, lot, true, false));
    EXPECT_ROWS(source(e, d.rows).order_by_descending([](auto t) { return t.lot; }, nulls::first).to_vector(),
                sorted_by(d.rows, lot, true, true));
    EXPECT_ROWS(source(e, d.rows).order_by([](auto t) { return t.note; }, nulls::first).to_vector(), sorted_by(d.rows, note, false, true));
    EXPECT_ROWS(source(e, d.rows).order_by_descending([](auto t) { return t.note; }).to_vector(), sorted_by(d.rows, note, true, false));
  }
}

CONFORMS(ordering, then_by_refines, "then_by", "then_by_descending") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<trade> wanted = sorted_by(d.rows, [](const trade& t) { return t.lot; }, true, true);
    wanted = sorted_by(wanted, [](const trade& t) { return t.name; }, false, false);
    wanted = sorted_by(wanted, [](const trade& t) { return t.key % 3; }, true, false);
    const auto q = source(e, d.rows).order_by_descending([](auto t) { return t.key % 3; }).then_by([](auto t) { return t.name; });
    EXPECT_ROWS(q.then_by_descending([](auto t) { return t.lot; }, nulls::first).to_vector(), wanted);
  }
}

// Between order_by and then_by may stand every word about how and where; it changes nothing about the order.
CONFORMS(ordering, words_keep_the_order_refinable, "order_by", "then_by", "then_by_descending", "named", "in", "timeout", "verify",
         "as_accelerated") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto key = [](auto t) { return t.key % 3; };
    const auto id = [](auto t) { return t.id; };
    std::vector<trade> wanted = sorted_by(d.rows, [](const trade& t) { return t.id; }, true, false);
    wanted = sorted_by(wanted, [](const trade& t) { return t.key % 3; }, false, false);
    const std::stop_source never;
    const auto sorted = source(e, d.rows).order_by(key);
    EXPECT_ROWS(sorted.named("by key").then_by_descending(id).to_vector(), wanted);
    EXPECT_ROWS(sorted.in(e.session).then_by_descending(id).to_vector(), wanted);
    EXPECT_ROWS(sorted.as_ordered().then_by_descending(id).to_vector(), wanted);
    EXPECT_ROWS(sorted.timeout(600).stop_on(never.get_token()).on_progress([](double) {}).then_by_descending(id).to_vector(), wanted);
    EXPECT_ROWS(source(e, d.rows).order_by_descending(key).as_accelerated().named("outer").then_by(id).named("inner").to_vector(),
                sorted_by(sorted_by(d.rows, [](const trade& t) { return t.id; }, false, false), [](const trade& t) { return t.key % 3; },
                          true, false));
    EXPECT_ROWS(on(e, query::from(d.rows)).order_by(key).verify().then_by_descending(id).to_vector(), wanted);
  }
}
// What was said stays said behind then_by.
CONFORMS(ordering, words_before_then_by_count, "order_by", "then_by", "stop_on", "timeout", "named") {
  const auto itself = [](auto x) { return x; };
  const auto sorted = source(e, std::vector<std::int64_t>{3, 1, 2}).order_by([](auto x) { return x % 2; });
  std::stop_source stop;
  stop.request_stop();
  EXPECT_THROW(sorted.stop_on(stop.get_token()).then_by(itself).to_vector(), query::cancelled);
  EXPECT_THROW(sorted.timeout(0).then_by(itself).to_vector(), query::cancelled);
  EXPECT_NE(sorted.named("refined below").then_by(itself).explain().find("refined below"), std::string::npos);
  EXPECT_NE(sorted.on(query::engine::cpu).then_by(itself).explain().find("on the CPU"), std::string::npos);
}

CONFORMS(ordering, large_inputs, "order_by", "reverse") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const std::vector<tick> wanted = sorted_by(d.rows, [](const tick& t) { return t.key; }, false, false);
    const auto q = source(e, d.rows).order_by([](auto t) { return t.key; });
    EXPECT_ROWS(q.to_vector(), wanted);
    EXPECT_ROWS(q.reverse().to_vector(), std::vector<tick>(wanted.rbegin(), wanted.rend()));
    EXPECT_ROWS(source(e, d.rows).reverse().where([](auto t) { return t.amount > 0; }).to_vector(), [&] {
      std::vector<tick> r(d.rows.rbegin(), d.rows.rend());
      return kept(r, [](const tick& t) { return t.amount > 0; });
    }());
  }
}

CONFORMS(ordering, rows_may_be_their_own_keys, "order", "order_descending") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::string> names = selected(d.rows, [](const trade& t) { return t.name; });
    const auto q = source(e, d.rows).select([](auto t) { return t.name; });
    std::stable_sort(names.begin(), names.end());
    EXPECT_ROWS(q.order().to_vector(), names);
    std::reverse(names.begin(), names.end());
    EXPECT_ROWS(q.order_descending().to_vector(), names);
    const auto lots = selected(d.rows, [](const trade& t) { return t.lot; });
    EXPECT_ROWS(source(e, lots).order(nulls::first).to_vector(), sorted_by(lots, [](const auto& v) { return v; }, false, true));
  }
}

CONFORMS(ordering, the_users_own_order, "order_by") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto less = [](std::int64_t a, std::int64_t b) { return std::abs(a) % 100 > std::abs(b) % 100; };
    std::vector<tick> wanted = d.rows;
    std::stable_sort(wanted.begin(), wanted.end(), [&](const tick& a, const tick& b) { return less(a.amount, b.amount); });
    EXPECT_ROWS(source(e, d.rows).order_by([](auto t) { return t.amount; }, less).to_vector(), wanted);
  }
}

CONFORMS(ordering, top_is_the_beginning_of_the_sorted_rows, "top", "take") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const std::vector<tick> down = sorted_by(d.rows, [](const tick& t) { return t.amount; }, true, false);
    const std::vector<tick> up = sorted_by(d.rows, [](const tick& t) { return t.price; }, false, false);
    for (const std::size_t n : {0u, 1u, 10u, 1500u}) {
      const auto upto = static_cast<std::ptrdiff_t>(std::min(n, d.rows.size()));
      EXPECT_ROWS(source(e, d.rows).top(n, [](auto t) { return t.amount; }).to_vector(),
                  std::vector<tick>(down.begin(), down.begin() + upto));
      EXPECT_ROWS(source(e, d.rows).order_by([](auto t) { return t.price; }).take(n).to_vector(),
                  std::vector<tick>(up.begin(), up.begin() + upto));
      // Rows that are no records need no key.
      const auto amounts = selected(down, [](const tick& t) { return t.amount; });
      EXPECT_ROWS(source(e, d.rows).select([](auto t) { return t.amount; }).top(n).to_vector(),
                  std::vector(amounts.begin(), amounts.begin() + upto));
    }
  }
}

}  // namespace
}  // namespace conformance
