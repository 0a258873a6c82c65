// slice, shuffle, of_type, to_set, try_count, sequence: verbs and a source that are made of others.
#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <set>
#include <variant>

#include "conformance/engines.hpp"
#include "conformance/expect_message.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"

namespace conformance::composed {

// As Python slices a list: [from, to) of places that count from the end where they are negative.
template <class T> std::vector<T> sliced(const std::vector<T>& rows, std::int64_t from, std::int64_t to) {
  const auto n = static_cast<std::int64_t>(rows.size());
  const auto place = [&](std::int64_t p) { return std::clamp(p < 0 ? p + n : p, std::int64_t{0}, n); };
  std::vector<T> some;
  for (std::int64_t i = place(from); i < place(to); ++i) some.push_back(rows[static_cast<std::size_t>(i)]);
  return some;
}

CONFORMS(composed, slices, "slice") {
  for (const auto& d : trades()) {
    const auto q = source(e, d.rows);
    const auto all = static_cast<std::int64_t>(d.rows.size());
    for (const std::int64_t from : {0, 1, 700, 2000, -1, -3, -800, -3000}) {
      for (const std::int64_t to : {0, 2, 900, 3000, -1, -2, -700, -2500}) {
        SCOPED_TRACE(d.name + ": " + std::to_string(from) + " to " + std::to_string(to));
        EXPECT_ROWS(q.slice(from, to).to_vector(), sliced(d.rows, from, to));
      }
      SCOPED_TRACE(d.name + ": " + std::to_string(from));
      EXPECT_ROWS(q.slice(from).to_vector(), sliced(d.rows, from, all));
    }
    const auto some = [](const auto& t) { return t.amount % 2 == 0; };
    EXPECT_ROWS(q.where(some).slice(-9, 50).to_vector(), sliced(kept(d.rows, some), -9, 50));
    EXPECT_ROWS(q.slice(1u, ~std::uint64_t{0}).to_vector(), sliced(d.rows, 1, all));
    EXPECT_ROWS(q.slice(std::numeric_limits<std::int64_t>::min()).to_vector(), d.rows);
  }
}

CONFORMS(composed, slices_of_an_endless_stream, "slice") {
  const auto q = on(e, query::generate([i = std::int64_t{0}]() mutable { return std::optional(i++); }));
  EXPECT_ROWS(q.slice(3, 6).to_vector(), std::vector<std::int64_t>({3, 4, 5}));
}

CONFORMS(composed, shuffles, "shuffle") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto q = source(e, d.rows);
    const std::vector<trade> once = q.shuffle(7).to_vector();
    EXPECT_SAME_ROWS(once, d.rows);
    EXPECT_ROWS(q.shuffle(7).to_vector(), once);
    EXPECT_ROWS(query::from(d.rows).shuffle(7).to_vector(), once);  // whatever runs it
  }
  const auto numbers = on(e, query::range(std::int64_t{0}, 20000));
  const std::vector<std::int64_t> mixed = numbers.shuffle(1).to_vector();
  EXPECT_NE(mixed, numbers.to_vector());
  EXPECT_NE(mixed, numbers.shuffle(2).to_vector());
  EXPECT_EQ(mixed, numbers.shuffle().to_vector());
  // Each row may come anywhere: the mean place of the first half of the rows is about the middle, within six standard deviations.
  double places = 0;
  for (std::size_t i = 0; i < mixed.size(); ++i)
    if (mixed[i] < 10000) places += static_cast<double>(i);
  EXPECT_NEAR(places / 10000, 9999.5, 6 * 20000 / std::sqrt(12.0 * 10000));
  // Rows without a description.
  struct plain { std::set<int> held; };
  const std::vector<plain> rows{{{1}}, {{2}}, {{3}}, {{4}}};
  std::multiset<int> seen;
  for (const plain& p : source(e, rows).shuffle(3).to_vector()) seen.insert(*p.held.begin());
  EXPECT_EQ(seen, (std::multiset<int>{1, 2, 3, 4}));
}

CONFORMS(composed, variants, "of_type") {
  using either = std::variant<std::int64_t, std::string, std::monostate>;
  std::vector<either> rows;
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
  for (const trade& t : few_trades()) {
    if (t.id % 3 == 0) rows.emplace_back(numbers.emplace_back(t.amount));
    else if (t.id % 3 == 1) rows.emplace_back(names.emplace_back(t.name + " long enough for memory of its own"));
    else rows.emplace_back(std::monostate());
  }
  EXPECT_ROWS(source(e, rows).of_type<std::int64_t>().to_vector(), numbers);
  EXPECT_ROWS(source(e, rows).of_type<std::string>().to_vector(), names);
  EXPECT_ROWS(source(e, std::vector<either>()).of_type<std::string>().to_vector(), std::vector<std::string>());
}

CONFORMS(composed, sets, "to_set") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto check = [&](auto f) {
      const auto set = source(e, d.rows).select(f).to_set();
      const auto values = selected(d.rows, f);
      const auto itself = [](const auto& v) { return v; };
      EXPECT_EQ(set.size(), first_of_each(values, itself).size());
      EXPECT_EQ(set.empty(), values.empty());
      EXPECT_EQ(static_cast<std::size_t>(std::distance(set.begin(), set.end())), set.size());
      for (const auto& v : values) EXPECT_TRUE(set.contains(v)) << text(v);
    };
    check([](const auto& t) { return t.amount; });
    check([](const auto& t) { return t.price; });
    check([](const auto& t) { return t.name; });
    check([](const auto& t) { return t.note; });
    check([](const auto& t) { return std::tuple(t.lot, t.hot); });
  }
  const double nan = std::nan("");
  const auto odd = source(e, std::vector<double>{nan, 0.0, 3, -nan, -0.0, 1}).to_set();
  EXPECT_EQ(odd.size(), 4u);
  EXPECT_TRUE(odd.contains(nan) && odd.contains(-0.0) && odd.contains(0.0) && !odd.contains(2));
  EXPECT_EQ(*odd.begin(), 0.0);
  EXPECT_EQ(source(e, std::vector<bool>{true, true}).to_set().contains(false), false);
}

CONFORMS(composed, counts_that_are_known, "try_count") {
  const std::vector<tick>& rows = many_ticks();
  const auto n = static_cast<std::int64_t>(rows.size());
  const auto q = source(e, rows);
  const auto key = [](const auto& t) { return t.key; };
  const auto never = [](const tick& t) -> std::int64_t { throw std::runtime_error("called " + std::to_string(t.id)); };
  // With a number, it is that of count().
  const auto known = [](const auto& some, std::int64_t wanted) {
    EXPECT_EQ(some.try_count(), std::optional(wanted));
    EXPECT_EQ(some.count(), wanted);
  };
  known(q, n);
  known(source(e, std::vector<tick>()), 0);
  known(q.select(key).order_descending().reverse(), n);
  known(q.skip(7).take(9), 9);
  known(q.take(7).skip(9), 0);
  known(q.skip_last(3).take_last(n), n - 3);
  known(q.sample(11, 3), 11);
  known(q.take(5).concat(q).append(rows[0]), n + 6);
  known(q.take(0).default_if_empty(), 1);
  known(q.take(3).default_if_empty(), 3);
  known(q.zip(q.skip(5)), n - 5);
  known(q.take(30).cross_join(q.take(20)), 600);
  known(q.chunk(10), (n + 9) / 10);
  known(q.take(25).window(4), 22);
  known(q.take(3).window(4), 0);
  known(q.hash_partitioned_by(key, 3), n);
  known(q.cached(), n);
  known(on(e, query::range(0, 40)), 40);
  known(on(e, query::Query<int>()), 0);
  known(on(e, query::repeat(1.5, 12)).index(), 12);
  known(q.where([](auto t) { return t.id > 0; }).aggregate([](auto g) { return g.count(); }), 1);
  EXPECT_EQ(q.select(never).try_count(), std::optional(n));
  EXPECT_EQ(q.where([](auto t) { return t.id > 0; }).try_count(), std::nullopt);
  EXPECT_EQ(q.group_by(key).count().try_count(), std::nullopt);
  EXPECT_EQ(q.distinct().concat(q).try_count(), std::nullopt);
  EXPECT_EQ(q.take_while([](auto t) { return t.id < 3; }).try_count(), std::nullopt);
  const std::list<int> linked{1, 2, 3};
  EXPECT_EQ(source(e, linked).try_count(), std::nullopt);
}

CONFORMS(composed, sequences_of_integers, "sequence") {
  const auto check = [&](auto first, auto last, auto step) {
    using T = decltype(first);
    SCOPED_TRACE(std::to_string(first) + ", " + std::to_string(last) + ", " + std::to_string(step));
    std::vector<T> wanted;
    const bool down = step < 0;
    const auto wide = [](auto x) { return static_cast<std::uint64_t>(x); };
    if (down ? static_cast<T>(last) <= first : first <= static_cast<T>(last)) wanted.push_back(first);
    // As long as a whole step is left: distances fit an unsigned number where the numbers' own type may not hold them.
    const std::uint64_t stride = down ? std::uint64_t{0} - wide(step) : wide(step);
    while (!wanted.empty() && (down ? wide(wanted.back()) - wide(last) : wide(last) - wide(wanted.back())) >= stride)
      wanted.push_back(static_cast<T>(wide(wanted.back()) + wide(step)));
    EXPECT_ROWS(on(e, query::sequence(first, last, step)).to_vector(), wanted);
  };
  check(0, 10, 1);
  check(0, 10, 3);
  check(10, 0, -3);
  check(5, 5, -1);
  check(5, 4, 1);
  check(4, 5, -1);
  check(std::int8_t{-128}, 127, 1);
  check(std::uint8_t{255}, 0, -5);
  check(std::uint32_t{1}, 4000000000u, std::int64_t{999999999});
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(), most = std::numeric_limits<std::int64_t>::max();
  check(least, most, most / 3);
  check(most, least, least);
  check(std::uint64_t{0}, ~std::uint64_t{0}, std::uint64_t{1} << 63);
  check(0, 100000, 7);
  EXPECT_ROWS(on(e, query::sequence(3, 6)).to_vector(), std::vector<int>({3, 4, 5, 6}));
}

CONFORMS(composed, sequences_of_fractions, "sequence") {
  const auto ten = on(e, query::sequence(0.0, 1.0, 0.1)).to_vector();
  ASSERT_EQ(ten.size(), 11u);
  for (std::size_t i = 0; i < 10; ++i) EXPECT_EQ(ten[i], static_cast<double>(i) * 0.1);
  EXPECT_EQ(ten.back(), 1.0);
  // Three times 0.1 is more than 0.3.
  EXPECT_ROWS(on(e, query::sequence(0.0, 0.3, 0.1)).to_vector(), std::vector<double>({0, 0.1, 0.2, 0.3}));
  EXPECT_ROWS(on(e, query::sequence(1.0, -0.2, -0.5)).to_vector(), std::vector<double>({1, 0.5, 0}));
  EXPECT_ROWS(on(e, query::sequence(0, 1, 0.25)).to_vector(), std::vector<double>({0, 0.25, 0.5, 0.75, 1}));
  EXPECT_ROWS(on(e, query::sequence(0.0f, 0.3f, 0.1f)).to_vector(), std::vector<float>({0, 0.1f, 0.2f, 0.3f}));
  EXPECT_ROWS(on(e, query::sequence(2.5, 2.5, -1)).to_vector(), std::vector<double>({2.5}));
  EXPECT_ROWS(on(e, query::sequence(2.5, 2, 1)).to_vector(), std::vector<double>());
  EXPECT_EQ(on(e, query::sequence(-1.7e308, 1.7e308, 1e308)).count(), 4);
  // A last number that lies a third of a step further is not met, however coarse numbers of its size are.
  std::vector<float> coarse;
  for (int i = 0; i < 4; ++i) coarse.push_back(static_cast<float>(1e6 + i * static_cast<double>(0.3f)));
  EXPECT_ROWS(on(e, query::sequence(1e6f, 1e6f + 1, 0.3f)).to_vector(), coarse);
  EXPECT_EQ(on(e, query::sequence(1e15, 1e15 + 1, 0.3)).count(), 4);
  // No error adds up: the 1000000th number is as near as the second.
  const auto many = on(e, query::sequence(0.0, 1e5, 0.1)).take_last(3).to_vector();
  EXPECT_ROWS(many, std::vector<double>({999998 * 0.1, 999999 * 0.1, 1e5}));
}

CONFORMS(composed, sequences_that_are_refused, "sequence") {
  (void)e;
  EXPECT_MESSAGE("sequence: the step must not be 0", query::sequence(0, 5, 0));
  EXPECT_MESSAGE("sequence: the step must not be 0", query::sequence(0.0, 5, 0));
  EXPECT_MESSAGE("sequence: the last number is 300, and their type, that of the first, goes from 0 to 255",
                 query::sequence(std::uint8_t{0}, 300));
  EXPECT_MESSAGE("sequence: the last number is -1, ", query::sequence(5u, -1, -1));
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  EXPECT_MESSAGE("sequence: there are more than 2^63 - 1 numbers", query::sequence(std::int64_t{-2}, most));
  EXPECT_MESSAGE("sequence: the numbers must be finite", query::sequence(0.0, std::numeric_limits<double>::infinity(), 1));
  EXPECT_MESSAGE("sequence: the numbers must be finite", query::sequence(std::nan(""), 1, 1));
  EXPECT_MESSAGE("sequence: the step is too small", query::sequence(0.0, 1.0, 1e-300));
}

}  // namespace conformance::composed
