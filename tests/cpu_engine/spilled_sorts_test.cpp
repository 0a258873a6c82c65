// order_by in less memory than its rows, keys and result take: the rows of a sort in memory to the last bit, and what goes wrong with
// temporary files.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <mutex>
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

constexpr std::int32_t rows = 800'000;
constexpr std::size_t some_memory = 8u << 20, little_memory = 4u << 20;  // of what a sort in memory takes, 24 to 50 MiB

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
    default: return static_cast<double>(static_cast<std::int64_t>(x)) / 1024.0;
  }
}
Trade trade(std::int32_t i) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
  return {static_cast<std::int32_t>(x % 90'000) - 40'000, price_of(x >> 20), i};
}
const std::vector<Trade>& trades() {
  static const std::vector<Trade> all = [] {
    std::vector<Trade> v;
    for (std::int32_t i = 0; i < rows; ++i) v.push_back(trade(i));
    return v;
  }();
  return all;
}
const std::vector<Trader>& traders() {
  static const std::vector<Trader> all = [] {
    std::vector<Trader> v;
    for (std::int32_t i = 0; i < rows / 2; ++i) {
      const std::uint64_t x = drawn(static_cast<std::uint64_t>(i));
      v.push_back({x % 3 ? "somebody of number " + std::to_string(x % 30'000) : "n" + std::to_string(x % 100), i,
                   x % 5 ? std::optional(static_cast<std::int32_t>(x % 1000)) : std::nullopt});
    }
    return v;
  }();
  return all;
}

bool same(const Trade& a, const Trade& b) {
  return a.stock == b.stock && a.number == b.number && std::bit_cast<std::uint64_t>(a.price) == std::bit_cast<std::uint64_t>(b.price);
}
bool same(const Trader& a, const Trader& b) { return a.name == b.name && a.number == b.number && a.desk == b.desk; }
bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
template <class T> std::size_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += !same(a[i], b[i]);
  return n;
}

struct spill_folder : temp_folder {
  spill_folder() : temp_folder("spilled_sorts_test") {}
};
template <class Q> bool went_to_files(const Q& q) { return q.explain().find(" temporary file") != std::string::npos; }

// The same query in enough memory and in little.
template <class Make> void expect_alike(const char* what, Make make, bool spills = true) {
  SCOPED_TRACE(what);
  const spill_folder at;
  const auto in_memory = make(query::Session({.threads = 2}));
  const auto wanted = in_memory.to_vector();
  EXPECT_FALSE(went_to_files(in_memory));
  for (const std::size_t memory : {some_memory, little_memory})
    for (const int threads : {1, 2, 7}) {
      if (sanitized && threads != 2) continue;
      if (threads == 7 && memory == little_memory) continue;  // each thread has buffers of its own
      SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory) + " bytes");
      query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name()});
      const auto q = make(little);
      EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
      EXPECT_LE(little.memory_peak(), memory);
      EXPECT_EQ(little.memory_used(), 0u);
      EXPECT_TRUE(!spills || memory != little_memory || threads != 1 || went_to_files(q)) << q.explain();
      EXPECT_TRUE(at.empty());
    }
}

const auto stock = [](auto t) { return t.stock; };
const auto price = [](auto t) { return t.price; };

TEST(spilled_sorts, by_numbers) {
  // Of rows that stay where they are, numbers are kept: 4 bytes a row.
  expect_alike("int", [](const query::Session& s) { return query::from(trades()).in(s).order_by(stock); }, false);
  expect_alike("double", [](const query::Session& s) { return query::from(trades()).in(s).order_by(price); }, false);
  expect_alike("copied rows by double, descending", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).order_by_descending(price);
  });
  expect_alike("three keys", [](const query::Session& s) {
    return query::from(trades()).in(s).order_by([](auto t) { return t.stock / 1000; }).then_by_descending(price).then_by([](auto t) {
      return t.number;
    });
  });
  static const std::vector<double> prices = query::from(trades()).select(price).to_vector();
  expect_alike("values", [](const query::Session& s) { return query::from(prices).in(s).order(); });
  expect_alike("values, descending", [](const query::Session& s) { return query::from(prices).in(s).order_descending(); });
}

TEST(spilled_sorts, by_computed_keys) {
  expect_alike("traced", [](const query::Session& s) { return query::from(trades()).in(s).order_by([](auto t) { return -t.price; }); });
  expect_alike("opaque", [](const query::Session& s) {
    return query::from(trades()).in(s).order_by(query::opaque([](const Trade& t) { return t.number % 1000; })).then_by(stock);
  });
  expect_alike("behind stages", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock % 3 != 0; }).order_by([](auto t) { return t.price * 2; });
  });
}

TEST(spilled_sorts, by_strings_and_nulls) {
  const auto name = [](auto t) { return t.name; };
  const auto desk = [](auto t) { return t.desk; };
  expect_alike("strings in place", [&](const query::Session& s) { return query::from(traders()).in(s).order_by(name); }, false);
  expect_alike("strings behind a test", [&](const query::Session& s) {
    return query::from(traders()).in(s).where([](auto t) { return t.number % 3 != 0; }).order_by_descending(name);
  }, false);
  expect_alike("nulls last", [&](const query::Session& s) { return query::from(traders()).in(s).order_by(desk).then_by(name); }, false);
  expect_alike("nulls first", [&](const query::Session& s) {
    return query::from(traders()).in(s).order_by_descending(desk, query::nulls::first).then_by(name);
  }, false);
}

TEST(spilled_sorts, of_columns) {
  static const std::vector<std::string> names = query::from(traders()).select([](auto t) { return t.name; }).to_vector();
  static const std::vector<std::int32_t> numbers = query::from(traders()).select([](auto t) { return t.number; }).to_vector();
  static const std::vector<std::optional<std::int32_t>> desks = query::from(traders()).select([](auto t) { return t.desk; }).to_vector();
  const auto all = [](const query::Session& s) { return query::from(query::columns<Trader>(names, numbers, desks)).in(s); };
  expect_alike("by string", [&](const query::Session& s) { return all(s).order_by([](auto t) { return t.name; }); });
  expect_alike("by a computed key", [&](const query::Session& s) { return all(s).order_by([](auto t) { return t.number % 100; }); });
}

TEST(spilled_sorts, of_few_different_keys) {
  expect_alike("all equal", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock != 1; }).order_by([](auto t) { return t.number * 0; });
  });
  expect_alike("nine of ten rows have one key", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock != 1; }).order_by(query::opaque([](const Trade& t) {
      return t.number % 10 ? 0 : t.stock;
    }));
  });
}

TEST(spilled_sorts, of_rows_in_order) {
  const auto number = [](auto t) { return t.number; };
  expect_alike("sorted", [&](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock != 1; }).order_by(number);
  });
  expect_alike("reversed", [&](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.stock != 1; }).order_by_descending(number);
  });
}

// A source of unknown length: ranges are found before the last rows have come.
TEST(spilled_sorts, of_generators) {
  for (const bool sorted : {false, true}) {
    SCOPED_TRACE(sorted ? "sorted" : "drawn");
    const spill_folder at;
    const auto key = query::opaque([sorted](const Trade& t) { return sorted ? t.number : t.stock; });
    const auto generated = [] {
      return query::generate([i = std::int32_t{0}]() mutable -> std::optional<Trade> {
        return i == rows ? std::nullopt : std::optional(trade(i++));
      });
    };
    const auto wanted = query::from(trades()).order_by(key).to_vector();
    for (const int threads : {1, 2}) {
      query::Session little({.threads = threads, .memory_limit = 8u << 20, .temp_folder = at.name()});
      const auto q = generated().in(little).order_by(key);
      EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
      EXPECT_TRUE(went_to_files(q)) << q.explain();
      EXPECT_EQ(little.memory_used(), 0u);
    }
  }
}

TEST(spilled_sorts, of_few_rows) {
  query::Session little({.memory_limit = little_memory});
  const std::vector<Trade> one = {trade(5)}, none;
  EXPECT_EQ(query::from(none).in(little).order_by(price).to_vector().size(), 0u);
  EXPECT_EQ(query::from(one).in(little).order_by(price).to_vector().at(0).number, 5);
  EXPECT_EQ(query::from(trades()).in(little).where([](auto t) { return t.number < 0; }).order_by(price).to_vector().size(), 0u);
  EXPECT_EQ(query::from(trades()).in(little).where([](auto t) { return t.number == 7; }).order_by(price).to_vector().size(), 1u);
}

TEST(spilled_sorts, limits) {
  expect_alike("many", [](const query::Session& s) {
    return query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).order_by(stock).take(rows / 2);
  });
  expect_alike("few", [](const query::Session& s) { return query::from(trades()).in(s).order_by(stock).take(20'000); }, false);
}

// ---------------------------------------------------------------- readers
constexpr std::size_t readers_memory = 12u << 20;
auto ordered(const query::Session& s) {
  return query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).order_by(stock);
}
const std::vector<Trade>& in_order() {
  static const std::vector<Trade> all = query::from(trades()).order_by(stock).to_vector();
  return all;
}

TEST(spilled_sorts, every_reader_of_rows_gets_them_in_order) {
  const spill_folder at;
  for (const int threads : {1, 2, 7}) {
    SCOPED_TRACE(std::to_string(threads) + " threads");
    query::Session little({.threads = threads, .memory_limit = readers_memory, .temp_folder = at.name()});
    const auto q = ordered(little);
    std::vector<Trade> seen;
    for (const Trade& t : q) seen.push_back(t);
    EXPECT_EQ(differing(seen, in_order()), 0u);
    EXPECT_TRUE(went_to_files(q)) << q.explain();
    seen.clear();
    q.for_each([&](const Trade& t) { seen.push_back(t); });
    EXPECT_EQ(differing(seen, in_order()), 0u);
    const auto numbers = q.select([](auto t) { return t.number; });
    std::size_t i = 0;
    for (const std::int32_t n : numbers.to_vector()) ASSERT_EQ(n, in_order()[i++].number);
    i = 0;
    const auto columns = q.select([](auto t) { return make<Trade>(t.stock, t.price, t.number); }).where([](auto t) {
      return t.number >= 0;
    });
    EXPECT_EQ(differing(columns.to_vector(), in_order()), 0u);
    EXPECT_EQ(q.count(), static_cast<std::size_t>(rows));
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
}

TEST(spilled_sorts, csv) {
  const spill_folder at, files;
  query::Session little({.threads = 2, .memory_limit = readers_memory, .temp_folder = at.name()});
  const std::string wanted = files.name() + "/wanted.csv", got = files.name() + "/got.csv";
  ordered(query::Session()).write_csv(wanted);
  ordered(little).write_csv(got);
  const auto text = [](const std::string& name) {
    std::ifstream in(name);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  EXPECT_GT(text(wanted).size(), 1'000'000u);
  EXPECT_TRUE(text(wanted) == text(got));
}

TEST(spilled_sorts, a_reader_may_stop) {
  const spill_folder at;
  query::Session little({.threads = 2, .memory_limit = readers_memory, .temp_folder = at.name()});
  std::size_t n = 0;
  for (const Trade& t : ordered(little)) {
    ASSERT_TRUE(same(t, in_order()[n]));
    if (++n == 1000) break;
  }
  EXPECT_EQ(little.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
}

// The first rows of a generator are its sample. If they say nothing of the others, most rows are in one partition, which is large beside a
// batch and is put apart again.
TEST(spilled_sorts, rows_that_come_in_order) {
  const spill_folder at;
  constexpr std::int32_t all = 3'000'000;
  for (const bool up : {true, false}) {
    const query::Session little({.threads = 1, .memory_limit = std::size_t{40} << 20, .temp_folder = at.name()});
    const auto q = query::generate([i = std::int32_t{0}, up]() mutable -> std::optional<Trade> {
      if (i == all) return std::nullopt;
      const std::int32_t number = up ? i : all - 1 - i;
      ++i;
      return Trade{0, 0.5, number};
    }).in(little).order_by([](auto t) { return t.number; });
    std::int32_t next = 0;
    q.for_each([&](const Trade& t) { next += t.number == next; });
    EXPECT_EQ(next, all);
    EXPECT_TRUE(went_to_files(q)) << q.explain();
    EXPECT_LE(little.memory_peak(), little.memory_limit());
  }
}

TEST(spilled_sorts, two_readers) {
  const spill_folder at;
  query::Session little({.threads = 2, .memory_limit = 2 * readers_memory, .temp_folder = at.name()});
  const auto q = ordered(little);
  std::vector<Trade> both;
  for (const Trade& t : q.concat(q)) both.push_back(t);
  ASSERT_EQ(both.size(), 2 * in_order().size());
  EXPECT_EQ(differing({both.begin(), both.begin() + rows}, in_order()), 0u);
  EXPECT_EQ(differing({both.begin() + rows, both.end()}, in_order()), 0u);
  std::size_t i = 0;
  for (const auto& [a, b] : q.zip(q.select([](auto t) { return t.number; }))) {
    ASSERT_TRUE(same(a, in_order()[i]));
    ASSERT_EQ(b, in_order()[i++].number);
  }
  EXPECT_EQ(i, in_order().size());
}

// Sums of what was sorted are those of rows side by side, to the bit.
TEST(spilled_sorts, input_of_other_verbs) {
  const spill_folder at;
  query::Session large({.threads = 2}), little({.threads = 2, .memory_limit = 4 * readers_memory, .temp_folder = at.name()});
  const auto sum = [](const query::Session& s) {
    return ordered(s).zip(query::range(0, rows)).sum([](auto p) { return p.first.number / (1.0 + p.second); });
  };
  EXPECT_TRUE(same(sum(large), sum(little)));
  const auto groups = [](const query::Session& s) {
    return ordered(s).group_by([](auto t) { return t.number % 1000; }).as_ordered().select([](auto g) {
      return std::tuple(g.key(), g.first().stock, g.sum([](auto t) { return t.stock * 0.1; }));
    }).to_vector();
  };
  EXPECT_EQ(groups(large), groups(query::Session({.threads = 2, .memory_limit = readers_memory, .temp_folder = at.name()})));
  const auto twice = [](const query::Session& s) {
    const auto half = ordered(s).where(query::opaque([](const Trade& t) { return t.number % 2 == 0; }));
    return half.order_by([](auto t) { return t.number % 100; });
  };
  EXPECT_EQ(differing(twice(large).to_vector(), twice(little).to_vector()), 0u);
}

TEST(spilled_sorts, memory_that_suffices_is_used) {
  const spill_folder at;
  query::Session enough({.threads = 2, .memory_limit = 256u << 20, .temp_folder = at.name()});
  const auto q = ordered(enough);
  EXPECT_EQ(differing(q.to_vector(), in_order()), 0u);
  EXPECT_FALSE(went_to_files(q)) << q.explain();
}

// The sort begins in memory, and others take the room before it ends.
TEST(spilled_sorts, memory_that_others_take_meanwhile) {
  const spill_folder at;
  const query::Session s({.threads = 2, .memory_limit = 80u << 20, .temp_folder = at.name()});
  const auto more = query::from(trades()).in(s);
  using columns = decltype(more.to_columns());
  std::vector<columns> taken;
  std::once_flag once;
  const auto key = query::opaque([&](const Trade& t) {
    std::call_once(once, [&] {
      for (int i = 0; i < 3; ++i) taken.push_back(more.to_columns());
    });
    return t.stock;
  });
  EXPECT_EQ(differing(query::from(trades()).in(s).order_by(key).to_vector(), in_order()), 0u);
  EXPECT_GT(s.memory_used(), 30u << 20);
}

// ---------------------------------------------------------------- what goes wrong
bool sorts(const query::Session& s) { return differing(ordered(s).to_vector(), in_order()) == 0; }
const spilling_query query_that_spills{readers_memory / 2, "order_by", sorts};
auto little(const std::string& folder) { return query_that_spills.session(folder); }

TEST(spilled_sorts, folder_that_is_gone) { expect_error_without_folder(query_that_spills); }
TEST(spilled_sorts, disk_that_is_full) {
  expect_error_of_full_disk(query_that_spills, {100'000, 3'000'000});
}
TEST(spilled_sorts, limit_of_temporary_files) { expect_error_over_limit_of_files(query_that_spills, "200K"); }
TEST(spilled_sorts, faulty_files) { expect_right_or_error_of_faulty_files(query_that_spills); }

TEST(spilled_sorts, functions_that_throw) {
  const spill_folder at;
  const auto s = little(at.name());
  const auto late = query::opaque([](const Trade& t) {
    if (t.number == rows - 5) throw std::domain_error("late");
    return t.stock;
  });
  EXPECT_THROW(query::from(trades()).in(s).where([](auto t) { return t.number >= 0; }).order_by(late).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(ordered(s).for_each([&](const Trade&) {
    if (++n == rows / 2) throw std::domain_error("in the reader");
  }), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(sorts(s));
}

TEST(spilled_sorts, stop_while_rows_are_put_apart_and_while_they_are_read) {
  const spill_folder at;
  const auto s = little(at.name());
  std::stop_source early, later;
  const auto key = query::opaque([&](const Trade& t) {
    if (t.number == rows - 5) early.request_stop();
    return t.stock;
  });
  const auto all = query::from(trades()).in(s).where([](auto t) { return t.number >= 0; });
  EXPECT_THROW(all.order_by(key).stop_on(early.get_token()).to_vector(), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(for (const Trade& t : ordered(s).stop_on(later.get_token())) if (++n == rows / 2 && t.number >= 0) later.request_stop(),
               query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(sorts(s));
}

}  // namespace
}  // namespace query::tests
