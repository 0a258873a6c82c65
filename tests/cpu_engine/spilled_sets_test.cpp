// distinct, union_with, intersect and except in less memory than their rows, keys and tables take: the rows of memory to the last bit, in
// their order, and what goes wrong with temporary files.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "spill_cases.hpp"

namespace query::tests {

struct Trade {
  std::int32_t stock;
  double price;
  std::int32_t number;
};
QUERY_RECORD(Trade, stock, price, number);

struct Trader {
  std::string name;
  std::int32_t number;
  std::optional<std::int32_t> desk;
};
QUERY_RECORD(Trader, name, number, desk);

namespace {

constexpr std::int32_t rows = 300'000;
constexpr std::size_t some_memory = 5u << 20, little_memory = 3u << 19;  // of what sets in memory take, up to 20 MiB

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
// Zeros of both signs, NaNs with payloads, infinities, and others.
double price_of(std::uint64_t x) {
  switch (x % 16) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return std::bit_cast<double>(0x7ff8000000000000u | (x >> 40));
    case 3: return -std::numeric_limits<double>::infinity();
    default: return static_cast<double>(x % 300'000) / 1024.0;
  }
}
Trade trade(std::int32_t i) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
  return {static_cast<std::int32_t>(x % 250'000) - 40'000, price_of(x >> 20), i};
}
template <class Row, class Make> std::vector<Row> made(std::int32_t first, std::int32_t n, Make make) {
  std::vector<Row> v;
  for (std::int32_t i = first; i < first + n; ++i) v.push_back(make(i));
  return v;
}
const std::vector<Trade>& trades() {
  static const auto all = made<Trade>(0, rows, trade);
  return all;
}
const std::vector<Trade>& later_trades() {  // half of them are among the others
  static const auto all = made<Trade>(rows / 2, rows, trade);
  return all;
}
Trader trader(std::int32_t i) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
  return {x % 3 ? "somebody of number " + std::to_string(x % 120'000) : "n" + std::to_string(x % 100), i % 1000,
          x % 5 ? std::optional(static_cast<std::int32_t>(x % 70'000)) : std::nullopt};
}
const std::vector<Trader>& traders() {
  static const auto all = made<Trader>(0, rows / 2, trader);
  return all;
}
const std::vector<Trader>& later_traders() {
  static const auto all = made<Trader>(rows / 4, rows / 2, trader);
  return all;
}

template <class T> std::uint64_t bits(const T& v) { return std::bit_cast<std::uint64_t>(static_cast<double>(v)); }
bool same(const Trade& a, const Trade& b) { return a.stock == b.stock && a.number == b.number && bits(a.price) == bits(b.price); }
bool same(const Trader& a, const Trader& b) { return a.name == b.name && a.number == b.number && a.desk == b.desk; }
bool same(double a, double b) { return bits(a) == bits(b); }
bool same(const std::string& a, const std::string& b) { return a == b; }
template <class A, class B> bool same(const std::pair<A, B>& a, const std::pair<A, B>& b) { return a == b; }
template <class T> std::size_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += !same(a[i], b[i]);
  return n;
}
template <class Q> bool went_to_files(const Q& q) { return q.explain().find(" temporary file") != std::string::npos; }

struct how {
  bool spills = true;  // in little memory
  bool interpret = false;
  std::size_t some = some_memory, little = little_memory;
};
// The same query in enough memory and in little.
template <class Make> void expect_alike(const char* what, Make make, how h = {}) {
  SCOPED_TRACE(what);
  const temp_folder at("spilled_sets_test");
  const auto in_memory = make(query::Session({.threads = 2, .interpret = h.interpret}));
  const auto wanted = in_memory.to_vector();
  EXPECT_FALSE(went_to_files(in_memory));
  for (const std::size_t memory : {h.some, h.little})
    for (const int threads : {1, 2, 7}) {
      if (sanitized && threads != 2) continue;
      if (threads == 7 && memory == h.little) continue;  // each thread has buffers of its own
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory) + " bytes");
      query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name(), .interpret = h.interpret});
      const auto q = make(little);
      EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(!h.spills || memory != h.little || threads != 1 || went_to_files(q)) << q.explain();
      EXPECT_TRUE(at.empty());
    }
}

const auto stock = [](auto t) { return t.stock; };
const auto price = [](auto t) { return t.price; };
const auto number = [](auto t) { return t.number; };
const auto name = [](auto t) { return t.name; };

TEST(spilled_sets, distinct_of_numbers) {
  expect_alike("rows", [](const query::Session& s) { return query::from(trades()).in(s).distinct(); });
  expect_alike("by int", [](const query::Session& s) { return query::from(trades()).in(s).distinct_by(stock); });
  expect_alike("by double", [](const query::Session& s) { return query::from(trades()).in(s).distinct_by(price); });
  expect_alike("by two", [](const query::Session& s) {
    return query::from(trades()).in(s).distinct_by([](auto t) { return std::tuple(t.price, t.stock); });
  });
  expect_alike("computed", [](const query::Session& s) {
    return query::from(trades()).in(s).distinct_by([](auto t) { return t.stock * 2 + 1; });
  });
  expect_alike("opaque", [](const query::Session& s) {
    return query::from(trades()).in(s).distinct_by(query::opaque([](const Trade& t) { return t.number / 3; }));
  });
  expect_alike("after a test", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock % 3 != 0; }).distinct_by(stock);
  });
  expect_alike("numbers alone", [](const query::Session& s) { return query::from(trades()).in(s).select(price).distinct(); });
}

TEST(spilled_sets, distinct_of_strings_and_nulls) {
  expect_alike("by name", [](const query::Session& s) { return query::from(traders()).in(s).distinct_by(name); });
  expect_alike("by desk", [](const query::Session& s) { return query::from(traders()).in(s).distinct_by([](auto t) { return t.desk; }); });
  expect_alike("rows", [](const query::Session& s) { return query::from(traders()).in(s).distinct(); });
  expect_alike("rows after a test", [](const query::Session& s) {
    return query::from(traders()).in(s).where([](auto t) { return t.number % 7 != 0; }).distinct();
  });
  static const std::vector<std::string> names = query::from(traders()).select(name).to_vector();
  static const std::vector<std::int32_t> numbers = query::from(traders()).select(number).to_vector();
  static const std::vector<std::optional<std::int32_t>> desks = query::from(traders()).select([](auto t) { return t.desk; }).to_vector();
  const auto all = [](const query::Session& s) { return query::from(query::columns<Trader>(names, numbers, desks)).in(s); };
  expect_alike("columns, rows", [&](const query::Session& s) { return all(s).distinct(); });
  expect_alike("columns, by name and number", [&](const query::Session& s) {
    return all(s).distinct_by([](auto t) { return std::pair(t.name, t.number); });
  });
  expect_alike("columns, computed", [&](const query::Session& s) { return all(s).distinct_by([](auto t) { return t.number * 3; }); },
               {.spills = false});
}

TEST(spilled_sets, distinct_of_strings_that_the_query_makes) {
  expect_alike("made", [](const query::Session& s) {
    return query::from(trades()).in(s).select(query::opaque([](const Trade& t) {
      return "the stock with the number " + std::to_string(t.stock);
    })).distinct();
  }, {.spills = false, .some = 16u << 20, .little = 8u << 20});
}

TEST(spilled_sets, unions) {
  expect_alike("rows", [](const query::Session& s) {
    return query::from(trades()).in(s).union_with(query::from(later_trades()).in(s));
  });
  expect_alike("by key", [](const query::Session& s) {
    return query::from(trades()).in(s).union_with_by(query::from(later_trades()).in(s).where([](auto t) { return t.stock > 0; }), stock);
  });
  expect_alike("strings", [](const query::Session& s) {
    return query::from(traders()).in(s).union_with(query::from(later_traders()).in(s));
  });
  expect_alike("strings, one side after a test", [](const query::Session& s) {
    const auto some = query::from(later_traders()).in(s).where([](auto t) { return t.number > 300; });
    return query::from(traders()).in(s).union_with_by(some, name);
  });
  expect_alike("of three", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock < 0; }).union_with(query::from(later_trades()).in(s))
        .union_with(query::from(trades()).in(s));
  });
}

TEST(spilled_sets, intersect_and_except) {
  expect_alike("intersect", [](const query::Session& s) {
    return query::from(trades()).in(s).intersect(query::from(later_trades()).in(s));
  });
  expect_alike("except", [](const query::Session& s) { return query::from(trades()).in(s).except(query::from(later_trades()).in(s)); });
  expect_alike("intersect by", [](const query::Session& s) {
    return query::from(trades()).in(s).intersect_by(query::from(later_trades()).in(s), stock);
  });
  expect_alike("except by", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.number % 2 == 0; }).except_by(query::from(later_trades()).in(s), price);
  });
  expect_alike("strings, intersect by", [](const query::Session& s) {
    return query::from(traders()).in(s).intersect_by(query::from(later_traders()).in(s), name);
  });
  expect_alike("strings, except", [](const query::Session& s) {
    return query::from(traders()).in(s).where([](auto t) { return t.number != 3; }).except(query::from(later_traders()).in(s));
  });
  expect_alike("nulls", [](const query::Session& s) {
    return query::from(traders()).in(s).except_by(query::from(later_traders()).in(s).where([](auto t) { return t.number > 900; }),
                                                  [](auto t) { return t.desk; });
  });
}

TEST(spilled_sets, own_equality) {
  const auto near = [](std::int32_t a, std::int32_t b) { return a / 3 == b / 3; };
  const auto third = [](std::int32_t a) { return static_cast<std::size_t>(a / 3); };
  expect_alike("distinct", [&](const query::Session& s) { return query::from(trades()).in(s).distinct_by(number, near, third); });
  expect_alike("except", [&](const query::Session& s) {
    return query::from(trades()).in(s).except_by(query::from(later_trades()).in(s), number, near, third);
  });
}

TEST(spilled_sets, interpreted) {
  expect_alike("distinct", [](const query::Session& s) {
    const auto some = query::from(trades()).in(s).where([](auto t) { return t.stock != 1; });
    return some.distinct_by([](auto t) { return t.stock + t.number % 2; });
  }, {.interpret = true});
  expect_alike("intersect", [](const query::Session& s) {
    return query::from(traders()).in(s).intersect_by(query::from(later_traders()).in(s), name);
  }, {.interpret = true});
}

// One key with nearly all rows, all rows alike, all rows different.
TEST(spilled_sets, skew) {
  expect_alike("all alike", [](const query::Session& s) {
    return query::from(trades()).in(s).distinct_by([](auto t) { return t.number * 0; });
  }, {.spills = false});
  expect_alike("nine of ten rows have one key", [](const query::Session& s) {
    return query::from(trades()).in(s).distinct_by(query::opaque([](const Trade& t) { return t.number % 10 ? -1 : t.number; }));
  });
  expect_alike("all different", [](const query::Session& s) { return query::from(trades()).in(s).distinct_by(number); });
  expect_alike("except, all alike", [](const query::Session& s) {
    return query::from(trades()).in(s).except_by(query::from(later_trades()).in(s), [](auto t) { return t.number * 0; });
  }, {.spills = false});
}

TEST(spilled_sets, of_few_rows) {
  const query::Session little({.memory_limit = little_memory});
  static const std::vector<Trade> one = {trade(5)}, none;
  const auto few = [&](const std::vector<Trade>& v) { return query::from(v).in(little); };
  EXPECT_EQ(few(none).distinct().count(), 0u);
  EXPECT_EQ(few(one).distinct().to_vector().at(0).number, 5);
  EXPECT_EQ(few(none).union_with(few(one)).count(), 1u);
  const auto all = query::from(trades()).in(little);
  EXPECT_EQ(few(none).except(all).count(), 0u);
  EXPECT_EQ(few(one).intersect(all).count(), 1u);
  EXPECT_EQ(few(one).except(all).count(), 0u);
  EXPECT_EQ(all.intersect(few(none)).count(), 0u);
  EXPECT_EQ(all.except(few(one)).count(), rows - 1u);
  EXPECT_EQ(all.except(few(none)).count(), static_cast<std::size_t>(rows));
  EXPECT_EQ(all.where([](auto t) { return t.number < 0; }).distinct().count(), 0u);
  EXPECT_EQ(all.where([](auto t) { return t.number == 7; }).distinct().count(), 1u);
}

TEST(spilled_sets, limits) {
  expect_alike("many", [](const query::Session& s) { return query::from(trades()).in(s).distinct().take(rows / 2); });
  expect_alike("few", [](const query::Session& s) {
    return query::from(trades()).in(s).except(query::from(later_trades()).in(s)).take(100);
  }, {.spills = false});
}

// Sources whose length nobody knows.
TEST(spilled_sets, of_generators) {
  const auto generated = [](std::int32_t first) {
    return query::generate([i = first, end = first + rows]() mutable -> std::optional<Trade> {
      return i == end ? std::nullopt : std::optional(trade(i++));
    });
  };
  const temp_folder at("spilled_sets_test");
  const auto check = [&](const char* what, const std::vector<Trade>& wanted, auto make) {
    SCOPED_TRACE(what);
    for (const int threads : {1, 2}) {
      query::Session little({.threads = threads, .memory_limit = 8u << 20, .temp_folder = at.name()});
      const auto q = make(little);
      EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
      EXPECT_TRUE(went_to_files(q)) << q.explain();
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(at.empty());
    }
  };
  check("distinct", query::from(trades()).distinct_by(stock).to_vector(), [&](const query::Session& s) {
    return generated(0).in(s).distinct_by(stock);
  });
  check("union", query::from(trades()).union_with(query::from(later_trades())).to_vector(), [&](const query::Session& s) {
    return generated(0).in(s).union_with(generated(rows / 2).in(s));
  });
  check("except", query::from(trades()).except(query::from(later_trades())).to_vector(), [&](const query::Session& s) {
    return generated(0).in(s).except(query::from(later_trades()).in(s));
  });
  check("intersect", query::from(trades()).intersect(query::from(later_trades())).to_vector(), [&](const query::Session& s) {
    return query::from(trades()).in(s).intersect(generated(rows / 2).in(s));
  });
}

TEST(spilled_sets, memory_that_suffices_is_used) {
  const temp_folder at("spilled_sets_test");
  const query::Session enough({.threads = 2, .memory_limit = 128u << 20, .temp_folder = at.name()});
  const auto q = query::from(trades()).in(enough).union_with(query::from(later_trades()).in(enough));
  EXPECT_EQ(q.count(), static_cast<std::size_t>(rows + rows / 2));
  EXPECT_FALSE(went_to_files(q)) << q.explain();
}

// ---------------------------------------------------------------- readers
auto found(const query::Session& s) {
  return query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).union_with(query::from(later_trades()).in(s));
}
const std::vector<Trade>& all_found() {
  static const std::vector<Trade> all = found(query::Session()).to_vector();
  return all;
}

TEST(spilled_sets, every_reader_of_rows_gets_them) {
  const temp_folder at("spilled_sets_test");
  for (const int threads : {1, 2, 7}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    query::Session little({.threads = threads, .memory_limit = 2 * some_memory, .temp_folder = at.name()});
    const auto q = found(little);
    std::vector<Trade> seen;
    q.for_each([&](const Trade& t) { seen.push_back(t); });
    EXPECT_EQ(differing(seen, all_found()), 0u);
    EXPECT_TRUE(went_to_files(q)) << q.explain();
    seen.clear();
    for (const Trade& t : q) seen.push_back(t);
    EXPECT_EQ(differing(seen, all_found()), 0u);
    EXPECT_EQ(q.count(), all_found().size());
    EXPECT_TRUE(same(q.sum(price), found(query::Session({.threads = 2})).sum(price)));
    const auto ordered = q.order_by(stock).select(number).to_vector();
    EXPECT_EQ(ordered, query::from(all_found()).order_by(stock).select(number).to_vector());
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
}

TEST(spilled_sets, sets_of_sorts_and_of_sets) {
  expect_alike("distinct of a sort", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).order_by(price).distinct_by(stock);
  }, {.some = 10u << 20, .little = 5u << 20});
  expect_alike("except of a union", [](const query::Session& s) {
    return found(s).except_by(query::from(trades()).in(s).where([](auto t) { return t.number % 3 == 0; }), number);
  }, {.some = 10u << 20, .little = 5u << 20});
}

// ---------------------------------------------------------------- what goes wrong
const spilling_query& query_that_spills() {
  static const spilling_query q{little_memory * 2, "union_with",
                                [](const query::Session& s) { return differing(found(s).to_vector(), all_found()) == 0; }};
  return q;
}

TEST(spilled_sets, folder_that_is_gone) { expect_error_without_folder(query_that_spills()); }
TEST(spilled_sets, disk_that_is_full) {
  expect_error_of_full_disk(query_that_spills(), {100'000, 1'500'000, 6'000'000});
}
TEST(spilled_sets, limit_of_temporary_files) { expect_error_over_limit_of_files(query_that_spills(), "200K"); }
TEST(spilled_sets, faulty_files) { expect_right_or_error_of_faulty_files(query_that_spills()); }

TEST(spilled_sets, functions_that_throw) {
  const temp_folder at("spilled_sets_test");
  const auto s = query_that_spills().session(at.name());
  const auto late = query::opaque([](const Trade& t) {
    if (t.number == rows - 5) throw std::domain_error("late");
    return t.number;
  });
  EXPECT_THROW(query::from(trades()).in(s).distinct_by(late).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(query::from(later_trades()).in(s).except_by(query::from(trades()).in(s), late).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  std::size_t n = 0;
  EXPECT_THROW(found(s).for_each([&](const Trade&) {
    if (++n == rows / 2) throw std::domain_error("in the reader");
  }), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(query_that_spills().right(s));
}

TEST(spilled_sets, own_equality_that_throws) {
  const temp_folder at("spilled_sets_test");
  const auto s = query_that_spills().session(at.name());
  std::atomic<int> calls = 0;
  const auto equal = [&](std::int32_t a, std::int32_t b) {
    if (++calls == rows / 4) throw std::domain_error("equality");
    return a / 2 == b / 2;
  };
  const auto half = [](std::int32_t a) { return static_cast<std::size_t>(a / 2); };
  EXPECT_THROW(query::from(trades()).in(s).distinct_by(number, equal, half).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(query_that_spills().right(s));
}

TEST(spilled_sets, stop_while_rows_are_put_apart_and_while_they_are_read) {
  const temp_folder at("spilled_sets_test");
  const auto s = query_that_spills().session(at.name());
  std::stop_source early, later;
  const auto key = query::opaque([&](const Trade& t) {
    if (t.number == rows - 5) early.request_stop();
    return t.number;
  });
  EXPECT_THROW(query::from(trades()).in(s).distinct_by(key).stop_on(early.get_token()).to_vector(), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(found(s).stop_on(later.get_token()).for_each([&](const Trade&) {
    if (++n == rows / 2) later.request_stop();
  }), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(query_that_spills().right(s));
}

}  // namespace
}  // namespace query::tests
