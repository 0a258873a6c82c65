// Joins over columns whose build side has no room in memory: rows of the probe side are known by their numbers in its source, and what the
// result has of them is read there.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/alike_in_little_memory.hpp"
#include "cpu_engine/spill_cases.hpp"

namespace query::tests {

struct SoldOnce {
  std::int32_t key, id;
  double price;
  std::optional<std::int32_t> shop;
  std::string note;
};
QUERY_RECORD(SoldOnce, key, id, price, shop, note);

struct MatchedSales {
  std::int32_t id, other;
  double price, other_price;
  std::string note, other_note;
  friend bool operator==(const MatchedSales&, const MatchedSales&) = default;
};
QUERY_RECORD(MatchedSales, id, other, price, other_price, note, other_note);

namespace {

constexpr std::int32_t rows = 120'000;
constexpr std::size_t memory = 3u << 20;

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}

struct table {
  std::vector<std::int32_t> key, id;
  std::vector<double> price;
  std::vector<std::optional<std::int32_t>> shop;
  std::vector<std::string> note;

  // Key: of a number that is drawn.
  template <class Key> table(std::int32_t n, std::uint64_t seed, Key key_of) {
    for (std::int32_t i = 0; i < n; ++i) {
      const std::uint64_t x = drawn(static_cast<std::uint64_t>(i) + seed);
      key.push_back(key_of(x));
      id.push_back(i);
      price.push_back(static_cast<double>(x % 100'000) / 128.0);
      shop.push_back(x % 6 ? std::optional(static_cast<std::int32_t>(x % 70'000)) : std::nullopt);
      note.push_back(x % 2 ? "a note that is not short " + std::to_string(x % 80'000) : std::to_string(x % 80'000));
    }
  }
  auto source() const { return query::from(query::columns<SoldOnce>(key, id, price, shop, note)); }
};

std::int32_t scattered(std::uint64_t x) { return static_cast<std::int32_t>(x % 100'000) * 20'011; }
const table& sales() {
  static const table all(rows, 0, scattered);
  return all;
}
const table& others() {
  static const table all(rows, 1u << 30, scattered);
  return all;
}

const auto key = [](auto s) { return s.key; };
const auto shop = [](auto s) { return s.shop; };
const auto note = [](auto s) { return s.note; };
const auto composite = [](auto s) { return std::tuple(s.key % 5'000, s.id % 20); };
const auto computed = [](auto s) { return s.key / 3 + 1; };
const auto matched = [](auto l, auto r) { return make<MatchedSales>(l.id, r.id, l.price, r.price, l.note, r.note); };
const auto numbers = [](auto l, auto r) { return std::tuple(l.id, l.price, r.price, l.key); };
const auto number = [](const SoldOnce& s) { return s.id; };

template <class Make> void expect_columns_alike(const std::string& what, const table& left, Make make, bool written = true) {
  expect_alike(what, memory, [&](const Session& s) { return left.source().in(s); }, make, written);
}
template <class Key> void expect_kinds_alike(const std::string& what, const table& l, const table& r, Key by, bool written = true) {
  SCOPED_TRACE(what);
  expect_columns_alike("inner", l, [&](auto q) { return q.join(r.source(), by, by, matched); }, written);
  expect_columns_alike("numbers", l, [&](auto q) { return q.join(r.source(), by, by, numbers); }, written);
  expect_columns_alike("left", l, [&](auto q) {
    return q.left_join(r.source(), by, by, [](auto a, auto b) {
      if (!b) return make<MatchedSales>(a.id, -1, a.price, 0.5, a.note, std::string());
      return make<MatchedSales>(a.id, b->id, a.price, b->price, a.note, b->note);
    });
  }, written);
  expect_columns_alike("semi", l, [&](auto q) { return q.semi_join(r.source(), by, by).select(number); }, false);
  expect_columns_alike("anti", l, [&](auto q) { return q.anti_join(r.source(), by, by).select(number); }, false);
}

TEST(spilled_column_joins, by_numbers) {
  expect_kinds_alike("int", sales(), others(), key);
  expect_kinds_alike("computed", sales(), others(), computed);
}
TEST(spilled_column_joins, by_strings) { expect_kinds_alike("string", sales(), others(), note, false); }
TEST(spilled_column_joins, by_nulls) { expect_kinds_alike("optional", sales(), others(), shop); }
TEST(spilled_column_joins, by_several_keys) { expect_kinds_alike("tuple", sales(), others(), composite); }

TEST(spilled_column_joins, of_sides_of_different_sizes) {
  const table few(1'000, 7, scattered), none(0, 0, scattered);
  expect_kinds_alike("few and many", few, others(), key, false);
  expect_kinds_alike("many and few", sales(), few, key, false);
  expect_kinds_alike("none and many", none, others(), key, false);
  expect_kinds_alike("many and none", sales(), none, key, false);
}

// The rows of one key meet those of the other side block by block.
TEST(spilled_column_joins, of_one_key_that_most_rows_have) {
  const auto mostly_one = [](std::uint64_t x) { return x % 50 ? 5 : scattered(x); };
  const table heavy(rows, 3, mostly_one);
  const table light(rows, 4, [](std::uint64_t x) { return x % 40'000 == 7 ? 5 : scattered(x); });
  expect_kinds_alike("build side", light, heavy, key);
  expect_kinds_alike("probe side", heavy, light, key);
}

// Of some rows, in front of other verbs, and with values that are computed of the probe side.
TEST(spilled_column_joins, between_other_verbs) {
  const auto some = [](auto s) { return s.id % 3 != 1; };
  const auto r = others().source().where([](auto s) { return s.id % 7 != 0; });
  expect_columns_alike("some of each", sales(), [&](auto q) { return q.where(some).join(r, key, key, matched); });
  expect_columns_alike("some, semi", sales(), [&](auto q) { return q.where(some).semi_join(r, key, key).select(number); }, false);
  expect_columns_alike("computed", sales(), [&](auto q) {
    return q.where(some).join(r, key, key, [](auto a, auto b) { return std::tuple(a.id, a.price - b.price, b.id * 2); });
  });
  expect_columns_alike("selected", sales(), [&](auto q) {
    return q.select([](auto s) { return std::tuple(s.key, s.price * 2, s.id); })
        .join(r, [](auto t) { return std::get<0>(t); }, key,
              [](auto t, auto b) { return std::tuple(std::get<1>(t), std::get<2>(t), b.id); });
  });
  expect_columns_alike("two joins", sales(), [&](auto q) {
    return q.join(r, key, key, matched).join(r, [](auto m) { return m.id; }, [](auto s) { return s.id; },
                                             [](auto m, auto b) { return std::tuple(m.id, m.other, m.note, b.note); });
  });
  expect_columns_alike("sorted, first ones", sales(), [&](auto q) {
    return q.join(r, key, key, matched).order_by([](auto m) { return m.price; }).take(1'000);
  });
}

// What the probe side has lies in the user's vectors: files have no room for it.
TEST(spilled_column_joins, write_no_columns_of_the_probe_side) {
  const temp_folder at("spilled_column_joins");
  const Session s({.threads = 1, .memory_limit = 2u << 20, .temp_folder = at.name(), .temp_limit = 2u << 20});
  const auto q = sales().source().join(others().source(), key, key, [](auto l, auto r) {
    return std::tuple(l.id, r.id, l.price, l.key, l.shop, l.note);
  }).in(s);
  std::int64_t n = 0;
  q.for_each([&](const auto& row) { n += std::get<0>(row) >= 0; });
  EXPECT_GT(n, rows);
  EXPECT_NE(q.explain().find(" temporary file"), std::string::npos) << q.explain();
}

// ---------------------------------------------------------------- what goes wrong
auto joined(const Session& s) { return sales().source().in(s).join(others().source(), key, key, matched); }
bool joins(const Session& s) {
  static const auto wanted = joined(Session({.threads = 2})).to_vector();
  std::size_t n = 0, differing = 0;
  joined(s).for_each([&](const MatchedSales& m) { differing += n >= wanted.size() || !(m == wanted[n]), ++n; });
  return n == wanted.size() && !differing;
}
const spilling_query spilled_join{memory, "join", joins};

TEST(spilled_column_joins, folder_that_is_gone) { expect_error_without_folder(spilled_join); }
TEST(spilled_column_joins, disk_that_is_full) {
  expect_error_of_full_disk(spilled_join, {200'000});
}
TEST(spilled_column_joins, limit_of_temporary_files) { expect_error_over_limit_of_files(spilled_join, "200K"); }
TEST(spilled_column_joins, faulty_files) { expect_right_or_error_of_faulty_files(spilled_join); }

TEST(spilled_column_joins, stop_at_any_time) {
  const temp_folder at("spilled_column_joins");
  const auto s = spilled_join.session(at.name());
  for (const int wait : {0, 1, 3, 10, 30, 100}) {
    std::stop_source stop;
    std::thread other([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(wait));
      stop.request_stop();
    });
    try {
      for (const MatchedSales& m : joined(s).stop_on(stop.get_token())) EXPECT_GE(m.id, 0);
    } catch (const query::cancelled&) {
    }
    other.join();
    EXPECT_EQ(s.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
  EXPECT_TRUE(joins(s));
}

TEST(spilled_column_joins, functions_and_readers_that_throw) {
  const temp_folder at("spilled_column_joins");
  const auto s = spilled_join.session(at.name());
  const auto late = query::opaque([](const SoldOnce& l) {
    if (l.id == rows - 5) throw std::domain_error("late");
    return l.key;
  });
  EXPECT_THROW(sales().source().in(s).join(others().source(), late, key, matched).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(sales().source().in(s).join(others().source(), key, late, matched).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(joined(s).for_each([&](const MatchedSales&) {
    if (++n == 50'000) throw std::domain_error("in the reader");
  }), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(joins(s));
}

}  // namespace
}  // namespace query::tests
