// Functions of groups by their expressions alone give what the compiled ones give, for every kind of aggregate and type.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <query/query.hpp>

namespace interpreted_groups_test {

struct Fill {
  std::int32_t symbol = 0;
  double price = 0;
  std::int64_t qty = 0;
  std::uint32_t flags = 0;
  std::optional<double> fee;
  std::array<float, 3> at{};
  std::string note;
  std::optional<std::string> desk;
  bool bought = false;
};
QUERY_RECORD(Fill, symbol, price, qty, flags, fee, at, note, desk, bought);
struct Geometric {
  double logs = 0;
  std::int64_t n = 0;
};
QUERY_RECORD(Geometric, logs, n);

std::vector<Fill> make_fills(std::size_t n, std::uint64_t groups) {
  std::vector<Fill> fills;
  std::uint64_t x = 88172645463325252ull;  // xorshift: the same rows on every machine
  for (std::size_t i = 0; i < n; ++i) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    Fill f;
    f.symbol = static_cast<std::int32_t>(x % groups);
    f.price = (x >> 9) % 50 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1.0 + static_cast<double>((x >> 8) & 1023) / 8;
    f.qty = static_cast<std::int64_t>((x >> 20) & 255) - 128;
    f.flags = static_cast<std::uint32_t>(x >> 30);
    if ((x >> 12) % 3) f.fee = static_cast<double>((x >> 13) & 63);
    f.at = {static_cast<float>(x & 7), 1, 2.5f};
    f.note = std::string(1 + (x >> 40) % 20, static_cast<char>('a' + (x >> 50) % 26));
    if ((x >> 14) % 4) f.desk = std::string(1, static_cast<char>('a' + (x >> 52) % 5));
    f.bought = (x >> 17) & 1;
    fills.push_back(std::move(f));
  }
  return fills;
}
const std::vector<Fill> few = make_fills(3000, 40);
const std::vector<Fill> many = make_fills(120000, 70000);  // more groups than a table a task pays for

const query::Session compiled({.threads = 4});
const query::Session interpreted({.threads = 4, .interpret = true});

const auto symbol = [](auto t) { return t.symbol; };

template <class E, std::size_t N> bool same(const std::array<E, N>& a, const std::array<E, N>& b);
template <class E> bool same(const std::optional<E>& a, const std::optional<E>& b);
template <class E> bool same(const std::vector<E>& a, const std::vector<E>& b);
template <class... E> bool same(const std::tuple<E...>& a, const std::tuple<E...>& b);
bool same(double a, double b) { return a == b || (a != a && b != b) || std::abs(a - b) <= 1e-9 * std::abs(a); }
bool same(std::int64_t a, std::int64_t b) { return a == b; }
bool same(std::int32_t a, std::int32_t b) { return a == b; }
bool same(std::uint64_t a, std::uint64_t b) { return a == b; }
bool same(bool a, bool b) { return a == b; }
bool same(const std::string& a, const std::string& b) { return a == b; }
bool same(const Fill& a, const Fill& b) {
  return a.symbol == b.symbol && same(a.price, b.price) && a.qty == b.qty && a.note == b.note && a.desk == b.desk;
}
template <class E, std::size_t N> bool same(const std::array<E, N>& a, const std::array<E, N>& b) { return a == b; }
template <class E> bool same(const std::optional<E>& a, const std::optional<E>& b) {
  return a.has_value() == b.has_value() && (!a || same(*a, *b));
}
template <class E> bool same(const std::vector<E>& a, const std::vector<E>& b) {
  bool all = a.size() == b.size();
  for (std::size_t i = 0; all && i < a.size(); ++i) all = same(a[i], b[i]);
  return all;
}
template <class... E> bool same(const std::tuple<E...>& a, const std::tuple<E...>& b) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) { return (same(std::get<I>(a), std::get<I>(b)) && ...); }
  (std::index_sequence_for<E...>{});
}

template <class F> void expect_same(const F& f, std::initializer_list<const std::vector<Fill>*> of = {&few}) {
  for (const std::vector<Fill>* rows : of) {
    const auto grouped = query::from(*rows).group_by(symbol).select(f).as_ordered();
    const auto a = grouped.in(compiled).to_vector(), b = grouped.in(interpreted).to_vector();
    EXPECT_NE(grouped.in(interpreted).explain().find("aggregates interpreted:"), std::string::npos) << grouped.in(interpreted).explain();
    ASSERT_EQ(a.size(), b.size());
    std::size_t apart = 0;
    for (std::size_t i = 0; i < a.size(); ++i) apart += !same(a[i], b[i]);
    EXPECT_EQ(apart, 0u) << "of " << a.size() << " groups";
    EXPECT_TRUE(
        same(query::from(*rows).aggregate(f).in(compiled).to_vector(), query::from(*rows).aggregate(f).in(interpreted).to_vector()));
  }
}

TEST(interpreted_groups, numbers) {
  const auto price = [](auto t) { return t.price; };
  const auto fee = [](auto t) { return t.fee; };
  const auto qty = [](auto t) { return t.qty; };
  expect_same(
      [=](auto g) {
        return std::tuple(g.count(), g.sum(price), g.sum(qty), g.sum([](auto t) { return t.flags; }), g.sum(fee), g.mean(qty), g.mean(fee));
      },
      {&few, &many});
  expect_same([=](auto g) {
    return std::tuple(g.min(price), g.max(price), g.min(fee), g.max(fee), g.min(qty), g.max([](auto t) { return t.bought; }));
  });
  expect_same([=](auto g) {
    return std::tuple(g.variance(price), g.stddev(fee), g.variance(qty), g.median(qty), g.median(fee), g.quantile(qty, 0.9));
  });
  expect_same([=](auto g) { return std::tuple(g.sum([](auto t) { return t.at; }), g.mean([](auto t) { return t.at; })); });
  expect_same([=](auto g) {
    return g.sum([](auto t) { return t.price * query::cast<double>(t.qty); }) / query::cast<double>(g.count()) + g.max(price);
  });
}

TEST(interpreted_groups, tests_and_counts) {
  const auto bought = [](auto t) { return t.bought; };
  expect_same([=](auto g) { return std::tuple(g.count(bought), g.count([](auto t) { return t.fee; }), g.any(bought), g.all(bought)); });
  expect_same([=](auto g) {
    return std::tuple(g.count_distinct([](auto t) { return t.qty; }), g.count_distinct([](auto t) { return t.desk; }),
                      g.count_distinct([](auto t) { return t.note; }));
  });
}

TEST(interpreted_groups, values_and_rows) {
  const auto note = [](auto t) { return t.note; };
  const auto desk = [](auto t) { return t.desk; };
  expect_same(
      [=](auto g) { return std::tuple(g.first(note), g.last(desk), g.first([](auto t) { return t.fee; }), g.min(note), g.max(desk)); },
      {&few, &many});
  expect_same([=](auto g) {
    return std::tuple(g.arg_min([](auto t) { return t.price; }), g.arg_max([](auto t) { return t.fee; }), g.arg_max(note));
  });
  expect_same([=](auto g) { return std::tuple(g.collect(note), g.collect([](auto t) { return t.fee; })); });
}

TEST(interpreted_groups, a_users_own_aggregate) {
  expect_same(
      [](auto g) {
        return g.aggregate(
            Geometric{},
            [](auto s, auto t) { return query::make<Geometric>(s.logs + query::log(query::iff(t.price > 0, t.price, 1.0)), s.n + 1); },
            [](auto x, auto y) { return query::make<Geometric>(x.logs + y.logs, x.n + y.n); },
            [](auto s) { return query::exp(s.logs / query::cast<double>(s.n)); });
      },
      {&few, &many});
  expect_same([](auto g) {
    return g.aggregate(
        std::int64_t{0}, [](auto s, auto t) { return query::iff(t.qty > s, t.qty, s); },
        [](auto x, auto y) { return query::iff(x > y, x, y); });
  });
}

TEST(interpreted_groups, composite_keys_and_no_rows) {
  const auto q = query::from(few).group_by([](auto t) { return std::pair(t.symbol, t.note); }).select([](auto g) {
    const auto [s, n] = g.key();
    return std::tuple(s, n, g.count());
  });
  const auto a = q.as_ordered().in(compiled).to_vector(), b = q.as_ordered().in(interpreted).to_vector();
  EXPECT_TRUE(same(a, b));
  const auto none = query::from(std::vector<Fill>{}).aggregate([](auto g) {
    return std::tuple(g.count(), g.sum([](auto t) { return t.price; }), g.mean([](auto t) { return t.fee; }));
  });
  EXPECT_TRUE(same(none.in(compiled).to_vector(), none.in(interpreted).to_vector()));
  EXPECT_THROW(
      query::from(std::vector<Fill>{}).aggregate([](auto g) { return g.first([](auto t) { return t.qty; }); }).in(interpreted).to_vector(),
      query::user_error);
}

// Native code gives the value, the trace gives another.
const auto traced_plus_one = [](auto t) {
  if constexpr (std::is_arithmetic_v<std::remove_cvref_t<decltype(t.qty)>>) return t.qty;
  else return t.qty + std::int64_t{1};
};

TEST(interpreted_groups, it_is_the_expression_that_runs) {
  const std::vector<Fill> rows(5);
  const auto q = query::from(rows).aggregate([](auto g) { return g.sum(traced_plus_one); });
  EXPECT_EQ(q.in(compiled).single(), 0);
  EXPECT_EQ(q.in(interpreted).single(), 5);
}

TEST(interpreted_groups, the_plan_says_why_compiled_code_runs) {
  const auto why = [](const auto& q) { return q.in(interpreted).explain(); };
  const auto grouped = query::from(few).group_by(symbol);
  EXPECT_NE(why(grouped.select([](auto g) {
              return g.sum([](const Fill& t) { return t.qty; });
            })).find("aggregates run natively: sum(f): the parameter of f is not generic"),
            std::string::npos);
  EXPECT_NE(why(grouped.select([](const query::Group<std::int32_t, Fill>& g) {
              return g.count();
            })).find("aggregates run natively: groups are materialised"),
            std::string::npos);
  EXPECT_NE(
      why(grouped.select([](auto g) { return g.min([](auto t) { return std::pair(t.qty, t.symbol); }); })).find("operator < of their own"),
      std::string::npos);
  EXPECT_EQ(query::from(few).group_by(symbol).count().in(compiled).explain().find("aggregates interpreted"), std::string::npos);
}

}  // namespace interpreted_groups_test
