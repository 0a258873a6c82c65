// Joins whose build side and hash table have no room in memory: the rows of a join in memory, in their order, to the last bit, and what
// goes wrong with temporary files.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "cpu_engine/spill_cases.hpp"
#include "sanitized.hpp"
#include "temp_folder.hpp"

namespace query::tests {

struct Lot {
  std::int64_t stock;
  double price;
  std::int32_t number;
};
QUERY_RECORD(Lot, stock, price, number);

struct Firm {
  std::string name;
  std::int32_t number;
  std::optional<std::int32_t> desk;
};
QUERY_RECORD(Firm, name, number, desk);

struct Named {
  std::string left, right;
  std::int32_t number;
};
QUERY_RECORD(Named, left, right, number);

namespace {

constexpr std::int32_t rows = 120'000;
constexpr std::size_t some_memory = 8u << 20, little_memory = 4u << 20;  // a join in memory takes 12 MiB and more

std::uint64_t drawn(std::uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15u;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9u;
  return i ^ (i >> 27);
}
// Zeros of both signs, NaNs with payloads, and others.
double price_of(std::uint64_t x) {
  switch (x % 20'000) {
    case 0: return 0.0;
    case 1: return -0.0;
    case 2: return std::bit_cast<double>(0x7ff8000000000000u | (x >> 40));
    default: return static_cast<double>(x % 90'000) / 1024.0;
  }
}
Lot lot(std::int32_t i, std::uint64_t seed) {
  const std::uint64_t x = drawn(static_cast<std::uint64_t>(i) + seed);
  return {static_cast<std::int64_t>(x % 90'000) * 1'000'000'007, price_of(x >> 20), i};
}
std::vector<Lot> make_lots(std::uint64_t seed) {
  std::vector<Lot> v;
  for (std::int32_t i = 0; i < rows; ++i) v.push_back(lot(i, seed));
  return v;
}
const std::vector<Lot>& bought() {
  static const std::vector<Lot> all = make_lots(0);
  return all;
}
const std::vector<Lot>& sold() {
  static const std::vector<Lot> all = make_lots(1u << 30);
  return all;
}
std::vector<Firm> make_firms(std::uint64_t seed) {
  std::vector<Firm> v;
  for (std::int32_t i = 0; i < rows; ++i) {
    const std::uint64_t x = drawn(static_cast<std::uint64_t>(i) + seed);
    v.push_back({x % 3 ? "a firm of number " + std::to_string(x % 70'000) : "f" + std::to_string(x % 70'000), i,
                 x % 5 ? std::optional(static_cast<std::int32_t>(x % 60'000)) : std::nullopt});
  }
  return v;
}
const std::vector<Firm>& firms() {
  static const std::vector<Firm> all = make_firms(0);
  return all;
}
const std::vector<Firm>& others() {
  static const std::vector<Firm> all = make_firms(1u << 30);
  return all;
}

bool same(double a, double b) { return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b); }
bool same(const Lot& a, const Lot& b) { return a.stock == b.stock && a.number == b.number && same(a.price, b.price); }
bool same(const Firm& a, const Firm& b) { return a.name == b.name && a.number == b.number && a.desk == b.desk; }
bool same(const Named& a, const Named& b) { return a.left == b.left && a.right == b.right && a.number == b.number; }
template <class... T> bool same(const std::tuple<T...>& a, const std::tuple<T...>& b) { return a == b; }
template <class T> std::size_t differing(const std::vector<T>& a, const std::vector<T>& b) {
  if (a.size() != b.size()) return std::max(a.size(), b.size());
  std::size_t n = 0;
  for (std::size_t i = 0; i < a.size(); ++i) n += !same(a[i], b[i]);
  return n;
}

struct spill_folder : temp_folder {
  spill_folder() : temp_folder("spilled_joins_test") {}
};
template <class Q> bool went_to_files(const Q& q) { return q.explain().find(" temporary file") != std::string::npos; }

// The same query in enough memory and in little. larger: times the memory of others, as more than the join wants some.
// compiled: not interpreted, which takes longer.
template <class Make> void expect_alike(const char* what, Make make, bool spills = true, std::size_t larger = 1, bool compiled = false) {
  for (const bool interpret : {false, true}) {
    if (interpret && compiled) continue;
    SCOPED_TRACE(std::string(what) + (interpret ? ", interpreted" : ""));
    const spill_folder at;
    const auto in_memory = make(query::Session({.threads = 2, .interpret = interpret}));
    const auto wanted = in_memory.to_vector();
    EXPECT_FALSE(went_to_files(in_memory));
    for (const std::size_t some : {some_memory, little_memory})
      for (const int threads : {1, 2, 7}) {
        if ((threads == 7) != (some == some_memory)) continue;  // each thread has buffers of its own
        if ((interpret || sanitized) && threads != 2) continue;
        const std::size_t memory = some * larger;
        SCOPED_TRACE(std::to_string(threads) + " threads, " + std::to_string(memory) + " bytes");
        query::Session little({.threads = threads, .memory_limit = memory, .temp_folder = at.name(), .interpret = interpret});
        const auto q = make(little);
        EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
        EXPECT_LE(little.memory_peak(), memory);
        EXPECT_EQ(little.memory_used(), 0u);
        EXPECT_TRUE(!spills || some != little_memory || threads != 1 || went_to_files(q)) << q.explain();
        EXPECT_TRUE(at.empty());
      }
  }
}

const auto stock = [](auto l) { return l.stock; };
const auto price = [](auto l) { return l.price; };
const auto name = [](auto f) { return f.name; };
const auto desk = [](auto f) { return f.desk; };
const auto both = [](auto l, auto r) { return make<Lot>(l.stock, l.price - r.price, l.number * 7 + r.number); };
using maybe_lot = std::optional<Lot>;
const auto left_or_none = query::opaque([](const Lot& l, const maybe_lot& r) {
  return Lot{l.stock, r ? r->price : -1.0, r ? r->number : l.number};
});
const auto right_or_none = query::opaque([](const maybe_lot& l, const Lot& r) {
  return Lot{r.stock, l ? l->price : -1.0, l ? l->number : r.number};
});
const auto either = query::opaque([](const maybe_lot& l, const maybe_lot& r) {
  return Lot{l ? l->stock : r->stock, l ? l->price : r->price, (l ? l->number : -1) * 3 + (r ? r->number : -2)};
});

auto lots(const query::Session& s, const std::vector<Lot>& of) { return query::from(of).in(s); }
// Rows that are copied, as they do not stay where they are.
auto copied(const query::Session& s, const std::vector<Lot>& of) { return lots(s, of).where([](auto l) { return l.number >= 0; }); }

// Each kind of join of two sides by one key.
template <class Side, class Key>
void expect_all_kinds_alike(const char* what, Side side, const std::vector<Lot>& l, const std::vector<Lot>& r, Key key,
                            bool spills = true, bool compiled = true) {
  SCOPED_TRACE(what);
  expect_alike("inner", [&](const query::Session& s) { return side(s, l).join(side(s, r), key, key, both); }, spills, 1, compiled);
  expect_alike("left", [&](const query::Session& s) {
    return side(s, l).left_join(side(s, r), key, key, left_or_none);
  }, spills, 1, compiled);
  expect_alike("right", [&](const query::Session& s) {
    return side(s, l).right_join(side(s, r), key, key, right_or_none);
  }, spills, 1, compiled);
  expect_alike("full", [&](const query::Session& s) { return side(s, l).full_join(side(s, r), key, key, either); }, spills, 1, compiled);
  expect_alike("semi", [&](const query::Session& s) { return side(s, l).semi_join(side(s, r), key, key); }, false, 1, compiled);
  expect_alike("anti", [&](const query::Session& s) { return side(s, l).anti_join(side(s, r), key, key); }, false, 1, compiled);
}
void expect_all_kinds_alike(const char* what, const std::vector<Lot>& l, const std::vector<Lot>& r, bool spills = true) {
  expect_all_kinds_alike(what, [](auto& s, auto& of) { return copied(s, of); }, l, r, stock, spills);
}
template <class F> std::vector<Lot> changed(const std::vector<Lot>& of, F stock_of) {
  std::vector<Lot> v;
  for (const Lot& l : of) v.push_back({stock_of(l), l.price, l.number});
  return v;
}

TEST(spilled_joins, of_rows_that_stay_where_they_are) {
  expect_all_kinds_alike("int", [](auto& s, auto& of) { return lots(s, of); }, bought(), sold(), stock, false);
}

TEST(spilled_joins, of_rows_that_are_copied) {
  expect_all_kinds_alike("int", [](auto& s, auto& of) { return copied(s, of); }, bought(), sold(), stock, true, false);
}

TEST(spilled_joins, by_floating_point_and_computed_and_composite_keys) {
  const auto side = [](auto& s, auto& of) { return copied(s, of); };
  expect_all_kinds_alike("double", side, bought(), sold(), price);
  expect_all_kinds_alike("composite", side, bought(), sold(), [](auto l) { return std::tuple(l.stock % 5'000, l.number % 20); });
  expect_all_kinds_alike("opaque", side, bought(), sold(), query::opaque([](const Lot& l) { return l.number / 2 * 3; }));
}

// One key of one side has most of its rows: they meet those of the other in blocks.
TEST(spilled_joins, of_a_key_that_most_rows_have) {
  const auto heavy = changed(bought(), [](const Lot& l) { return l.number % 40 == 0 ? l.stock : 7; });
  const auto light = changed(sold(), [](const Lot& l) { return l.number == 99 || l.number == 7'777 ? 7 : l.stock; });
  expect_all_kinds_alike("on the right", light, heavy);
  expect_all_kinds_alike("on the left", heavy, light);
}

TEST(spilled_joins, of_one_key) {
  const auto some = [](const std::vector<Lot>& of, std::int32_t n) {
    return changed({of.begin(), of.begin() + n}, [](const Lot&) { return 5; });
  };
  expect_all_kinds_alike("small", some(bought(), 100), some(sold(), 200), false);
  expect_all_kinds_alike("one beside many", some(bought(), 1), some(sold(), rows), false);
  expect_all_kinds_alike("many beside one", some(bought(), rows), some(sold(), 1), false);
}

TEST(spilled_joins, of_sides_without_rows_or_matches) {
  const std::vector<Lot> none;
  expect_all_kinds_alike("no left rows", none, sold(), false);
  expect_all_kinds_alike("no right rows", bought(), none, false);
  expect_all_kinds_alike("neither", none, none, false);
  expect_all_kinds_alike("no match", changed(bought(), [](const Lot& l) { return -1 - l.number; }), sold(), false);
  const auto number = [](const Lot& l) { return l.number * 1'000'000'007L; };
  expect_all_kinds_alike("one match each", changed(bought(), number), changed(sold(), number));
}

TEST(spilled_joins, by_strings_and_nulls) {
  const auto named = [](auto l, auto r) { return make<Named>(l.name, r.name, l.number * 3 + r.number); };
  const auto one = [](const query::Session& s) { return query::from(firms()).in(s); };
  const auto two = [](const query::Session& s) { return query::from(others()).in(s); };
  for (const bool tested : {false, true}) {
    const auto l = [&](const query::Session& s) { return one(s).where([tested](auto f) { return f.number >= (tested ? 20'000 : 0); }); };
    expect_alike("strings", [&](const query::Session& s) { return l(s).join(two(s), name, name, named); }, false, 2, true);
    expect_alike("strings that only tests read", [&](const query::Session& s) {
      return l(s).semi_join(two(s), name, name);
    }, false, 2, true);
  }
  expect_alike("nulls", [&](const query::Session& s) { return one(s).join(two(s), desk, desk, named); }, false, 2, true);
  expect_alike("nulls, anti", [&](const query::Session& s) { return one(s).anti_join(two(s), desk, desk); }, false, 2);
  expect_alike("nulls, full", [&](const query::Session& s) {
    return one(s).full_join(two(s), desk, desk, [](std::optional<Firm> l, std::optional<Firm> r) {
      return std::tuple(l ? l->number : -1, r ? r->number : -1, l && r);
    });
  }, false, 4);
}

TEST(spilled_joins, of_columns) {
  static const std::vector<std::string> names = query::from(firms()).select(name).to_vector();
  static const std::vector<std::string> other_names = query::from(others()).select(name).to_vector();
  static const std::vector<std::int32_t> numbers = query::from(firms()).select([](auto f) { return f.number; }).to_vector();
  static const std::vector<std::optional<std::int32_t>> desks = query::from(firms()).select(desk).to_vector();
  const auto l = [](const query::Session& s) { return query::from(query::columns<Firm>(names, numbers, desks)).in(s); };
  const auto r = [](const query::Session& s) { return query::from(query::columns<Firm>(other_names, numbers, desks)).in(s); };
  const auto named = [](auto a, auto b) { return make<Named>(a.name, b.name, a.number * 3 + b.number); };
  expect_alike("inner", [&](const query::Session& s) { return l(s).join(r(s), name, name, named); }, false, 2, true);
  expect_alike("inner of some", [&](const query::Session& s) {
    const auto some = r(s).where([](auto f) { return f.number % 5 != 0; });
    return l(s).where([](auto f) { return f.number % 3 != 0; }).join(some, name, name, named);
  }, false, 2, true);
  expect_alike("left", [&](const query::Session& s) {
    return l(s).left_join(r(s), name, name, [](auto a, auto b) {
      if (!b) return make<Named>(a.name, std::string(), a.number);
      return make<Named>(a.name, b->name, b->number);
    });
  }, false, 2, true);
  expect_alike("semi", [&](const query::Session& s) { return l(s).semi_join(r(s), name, name); }, false, 2, true);
  expect_alike("anti", [&](const query::Session& s) { return l(s).anti_join(r(s), name, name); }, false, 2, true);
}

TEST(spilled_joins, by_the_users_own_equality) {
  const auto close = [](std::int64_t a, std::int64_t b) { return a / 10 == b / 10; };
  const auto tens = [](std::int64_t a) { return static_cast<std::size_t>(a / 10); };
  const auto number = query::opaque([](const Lot& l) { return static_cast<std::int64_t>(l.number) * 4; });
  expect_alike("inner", [&](const query::Session& s) {
    return copied(s, bought()).join(copied(s, sold()), number, number, both, close, tens);
  });
}

TEST(spilled_joins, group_join) {
  const auto counted = query::opaque([](const Lot& l, const std::vector<Lot>& own) {
    Lot sum{l.stock, 0, l.number};
    for (const Lot& o : own) sum = {sum.stock, sum.price * 0.5 + o.price, sum.number * 31 % 1'000'003 + o.number};
    return sum;
  });
  expect_alike("by stock", [&](const query::Session& s) {
    return copied(s, bought()).group_join(copied(s, sold()), stock, stock, counted);
  });
}

// ---------------------------------------------------------------- readers
TEST(spilled_joins, what_follows_gets_the_rows_in_order) {
  const spill_folder at;
  const auto exact = [](auto l, auto r) { return make<Lot>(l.stock, l.number * 0.1 - r.number * 0.7, l.number * 7 + r.number); };
  const auto joined = [&](const query::Session& s) { return copied(s, bought()).join(copied(s, sold()), stock, stock, exact); };
  const auto number = [](auto l) { return l.number; };
  const query::Session large({.threads = 2});
  const auto wanted = joined(large).to_vector();
  double first_sum = 0;
  for (const int threads : {1, 2, 7}) {
    query::Session little({.threads = threads, .memory_limit = 3 * little_memory / 2, .temp_folder = at.name()});
    const auto q = joined(little);
    std::vector<Lot> seen;
    for (const Lot& l : q) seen.push_back(l);
    EXPECT_EQ(differing(seen, wanted), 0u);
    EXPECT_TRUE(went_to_files(q)) << q.explain();
    EXPECT_EQ(q.count(), static_cast<std::int64_t>(wanted.size()));
    // Sums are added part by part, and these are parts of the result here: the same for any number of threads.
    const double sum = q.sum(price);
    EXPECT_NEAR(sum, joined(large).sum(price), 1e-3);
    if (threads == 1) first_sum = sum;
    EXPECT_TRUE(same(sum, first_sum));
    EXPECT_EQ(differing(q.take(1000).to_vector(), {wanted.begin(), wanted.begin() + 1000}), 0u);
    const auto some = [&](const auto& rows) { return rows.where([](auto l) { return l.number % 3 == 0; }).select(number).to_vector(); };
    EXPECT_EQ(some(q), some(joined(large)));
    EXPECT_EQ(differing(q.order_by(price).to_vector(), joined(large).order_by(price).to_vector()), 0u);
    const auto groups = [&](const auto& rows) {
      return rows.group_by([](auto l) { return l.number % 100; }).select([](auto g) {
        return std::tuple(g.key(), g.sum([](auto l) { return l.number; }), g.count());
      }).to_vector();
    };
    EXPECT_EQ(groups(q), groups(joined(large)));
    EXPECT_EQ(differing(q.join(lots(little, sold()), number, number, exact).to_vector(),
                        joined(large).join(lots(large, sold()), number, number, exact).to_vector()), 0u);
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
}

TEST(spilled_joins, of_joins) {
  const auto number = [](auto l) { return l.number % 50'000; };
  expect_alike("probe side", [&](const query::Session& s) {
    return copied(s, bought()).join(copied(s, sold()), stock, stock, both).join(copied(s, sold()), number, number, both);
  }, true, 2);
  expect_alike("build side", [&](const query::Session& s) {
    return copied(s, bought()).join(copied(s, sold()).join(copied(s, bought()), stock, stock, both), number, number, both);
  }, true, 2);
  expect_alike("of what was sorted and grouped", [&](const query::Session& s) {
    const auto totals = copied(s, sold()).group_by(stock).select([](auto g) {
      return std::tuple(g.key(), g.sum([](auto l) { return l.price; }));
    }).as_ordered();
    return copied(s, bought()).order_by(price).join(totals, stock, [](const auto& t) { return std::get<0>(t); },
                                                     query::opaque([](const Lot& l, const std::tuple<std::int64_t, double>& t) {
                                                       return Lot{l.stock, std::get<1>(t), l.number};
                                                     })).as_ordered();
  }, false, 4);
}

TEST(spilled_joins, of_generators) {
  const spill_folder at;
  const auto generated = [](std::uint64_t seed) {
    return query::generate([i = std::int32_t{0}, seed]() mutable -> std::optional<Lot> {
      return i == rows ? std::nullopt : std::optional(lot(i++, seed));
    });
  };
  const auto wanted = query::from(bought()).as_ordered().join(query::from(sold()), stock, stock, both).as_ordered().to_vector();
  for (const int threads : {1, 2}) {
    // A part of a generator's rows for each thread has to fit beside the chunks of both.
    query::Session little({.threads = threads, .memory_limit = little_memory / 4 * 5, .temp_folder = at.name()});
    const auto q = generated(0).in(little).join(generated(1u << 30).in(little), stock, stock, both);
    EXPECT_EQ(differing(q.to_vector(), wanted), 0u);
    EXPECT_TRUE(went_to_files(q)) << q.explain();
    EXPECT_EQ(little.memory_used(), 0u);
    EXPECT_TRUE(at.empty());
  }
}

// ---------------------------------------------------------------- what goes wrong
auto little(const std::string& folder) { return query::Session({.threads = 2, .memory_limit = little_memory, .temp_folder = folder}); }
auto joined(const query::Session& s) { return copied(s, bought()).join(copied(s, sold()), stock, stock, both); }
bool joins(const query::Session& s) {
  static const std::vector<Lot> wanted = joined(query::Session({.threads = 2})).to_vector();
  return differing(joined(s).to_vector(), wanted) == 0;
}

const spilling_query spilled_join{little_memory, "join", joins};
TEST(spilled_joins, folder_that_is_gone) { expect_error_without_folder(spilled_join); }
TEST(spilled_joins, disk_that_is_full) {
  expect_error_of_full_disk(spilled_join, {100'000, 1'000'000});
}
TEST(spilled_joins, limit_of_temporary_files) { expect_error_over_limit_of_files(spilled_join, "200K"); }
TEST(spilled_joins, faulty_files) { expect_right_or_error_of_faulty_files(spilled_join); }

TEST(spilled_joins, functions_that_throw) {
  const spill_folder at;
  const auto s = little(at.name());
  const auto late = query::opaque([](const Lot& l) {
    if (l.number == rows - 5) throw std::domain_error("late");
    return l.stock;
  });
  const auto result = query::opaque([](const Lot& l, const Lot& r) {
    if (l.number > rows / 2) throw std::domain_error("result");
    return l.number + r.number;
  });
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), late, stock, both).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), stock, late, both).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), stock, stock, result).to_vector(), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(joined(s).for_each([&](const Lot&) {
    if (++n == 50'000) throw std::domain_error("in the reader");
  }), std::domain_error);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(joins(s));
}

TEST(spilled_joins, stop_while_rows_are_put_apart_joined_and_read) {
  const spill_folder at;
  const auto s = little(at.name());
  std::stop_source early, later, last;
  const auto key = query::opaque([&](const Lot& l) {
    if (l.number == rows - 5) early.request_stop();
    return l.stock;
  });
  const auto result = query::opaque([&](const Lot& l, const Lot& r) {
    if (l.number > rows / 2) later.request_stop();
    return l.number + r.number;
  });
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), key, stock, both).stop_on(early.get_token()).to_vector(), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), stock, stock, result).stop_on(later.get_token()).to_vector(), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  int n = 0;
  EXPECT_THROW(for (const Lot& l : joined(s).stop_on(last.get_token())) if (++n == 50'000 && l.number != 1) last.request_stop(),
               query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(joins(s));
}

TEST(spilled_joins, a_deadline_ends_them) {
  const spill_folder at;
  const auto s = little(at.name());
  const auto slow = query::opaque([](const Lot& l, const Lot& r) {
    volatile double x = l.price;
    for (int i = 0; i < 20'000; ++i) x = x * 0.5 + r.price;
    return x;
  });
  EXPECT_THROW(copied(s, bought()).join(copied(s, sold()), stock, stock, slow).timeout(0.2).to_vector(), query::cancelled);
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
  EXPECT_TRUE(joins(s));
}

TEST(spilled_joins, a_reader_may_stop) {
  const spill_folder at;
  const auto s = little(at.name());
  const auto wanted = joined(query::Session({.threads = 2})).take(1000).to_vector();
  std::size_t n = 0;
  for (const Lot& l : joined(s)) {
    ASSERT_TRUE(same(l, wanted[n]));
    if (++n == 1000) break;
  }
  EXPECT_EQ(s.memory_used(), 0u);
  EXPECT_TRUE(at.empty());
}

}  // namespace
}  // namespace query::tests
