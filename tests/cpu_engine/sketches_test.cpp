// Sketches keep the error that they state, whatever the values, their order and how sketches were merged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/aggregate_kinds.hpp>
#include <query/errors.hpp>
#include <query/sketches.hpp>

namespace {

using query::distinct_sketch;
using query::frequency_sketch;
using query::quantile_sketch;

// Words that look random, the same in every run.
class noise {
 public:
  explicit noise(std::uint64_t seed) : state_(seed * 0x9e3779b97f4a7c15u + 1) {}
  std::uint64_t word() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t x = (state_ ^ (state_ >> 29)) * 0xbf58476d1ce4e5b9u;
    return x ^ (x >> 32);
  }
  double share() { return static_cast<double>(word() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

// ---------------------------------------------------------------- distinct values
distinct_sketch numbers_of(std::int64_t from, std::int64_t n) {
  distinct_sketch s;
  for (std::int64_t i = from; i < from + n; ++i) s.insert(i);
  return s;
}

TEST(distinct_sketch, is_exact_up_to_512_values) {
  EXPECT_EQ(distinct_sketch().estimate(), 0);
  for (const std::int64_t n : {1, 2, 3, 4, 5, 100, 511, 512}) {
    distinct_sketch s;
    for (int again = 0; again < 3; ++again)
      for (std::int64_t i = 0; i < n; ++i) s.insert(i * i - 7);
    EXPECT_EQ(s.estimate(), n);
  }
}

TEST(distinct_sketch, has_the_standard_error_that_it_states) {
  for (const std::int64_t n : {513, 1000, 3000, 10'000, 30'000, 200'000}) {
    constexpr int runs = 100;
    double squares = 0, sum = 0;
    for (int run = 0; run < runs; ++run) {
      const double off = static_cast<double>(numbers_of(run * 1'000'003ll, n).estimate()) / static_cast<double>(n) - 1;
      squares += off * off;
      sum += off;
      EXPECT_LT(std::abs(off), 0.08) << n;
    }
    EXPECT_LT(std::sqrt(squares / runs), 0.0163 * 1.25) << n;   // of 100 runs, one and a quarter is beyond three sigma
    EXPECT_LT(std::abs(sum / runs), 0.0163 * 0.35) << n;        // no bias
  }
}

TEST(distinct_sketch, depends_on_the_set_of_values_alone) {
  for (const std::int64_t n : {10, 400, 600, 5000}) {
    const distinct_sketch whole = numbers_of(0, n);
    for (const std::int64_t cut : {std::int64_t{0}, std::int64_t{1}, n / 2, n}) {
      distinct_sketch a = numbers_of(0, cut), b = numbers_of(cut / 2, n - cut / 2);
      distinct_sketch forth = a, back = b;
      forth.merge(b);
      back.merge(a);
      back.merge(back);
      EXPECT_EQ(forth.estimate(), whole.estimate());
      EXPECT_EQ(back.estimate(), whole.estimate());
    }
    distinct_sketch falling;
    for (std::int64_t i = n; i-- > 0;) falling.insert(i);
    EXPECT_EQ(falling.estimate(), whole.estimate());
  }
}

TEST(distinct_sketch, compares_values_as_keys) {
  distinct_sketch s;
  for (const double d : {0.0, -0.0, std::numeric_limits<double>::quiet_NaN(), -std::numeric_limits<double>::quiet_NaN()}) s.insert(d);
  EXPECT_EQ(s.estimate(), 2);
  distinct_sketch texts;
  texts.insert(std::string("a"));
  texts.insert(std::string_view("a"));
  texts.insert(std::string());
  texts.insert(std::string(100, 'x'));
  EXPECT_EQ(texts.estimate(), 3);
  distinct_sketch parts;
  parts.insert(std::tuple(1, std::optional<double>(0.0), std::string("x")));
  parts.insert(std::tuple(1, std::optional<double>(-0.0), std::string("x")));
  parts.insert(std::tuple(1, std::optional<double>(), std::string("x")));
  parts.insert(std::tuple(2, std::optional<double>(), std::string("x")));
  EXPECT_EQ(parts.estimate(), 3);
  distinct_sketch longs;
  longs.insert(1.0L);
  longs.insert(1.0L + std::numeric_limits<long double>::epsilon());
  longs.insert(std::numeric_limits<long double>::infinity());
  EXPECT_EQ(longs.estimate(), std::numeric_limits<long double>::epsilon() < std::numeric_limits<double>::epsilon() ? 3 : 2);
}

// ---------------------------------------------------------------- quantiles
double rank_error(const std::vector<double>& sorted, double q, double found) {
  const auto [less, not_more] = std::equal_range(sorted.begin(), sorted.end(), found);
  const double rank = q * static_cast<double>(sorted.size() - 1);
  const double first = static_cast<double>(less - sorted.begin()), last = static_cast<double>(not_more - sorted.begin());
  return (rank < first ? first - rank : rank > last ? rank - last : 0) / static_cast<double>(sorted.size());
}

const std::vector<double> shares = {0, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1};

// As a query does: a sketch for each run of `part` values, merged in order.
quantile_sketch in_parts(const std::vector<double>& values, std::size_t part) {
  quantile_sketch all;
  for (std::size_t from = 0; from < values.size(); from += part) {
    quantile_sketch one;
    for (std::size_t i = from; i < std::min(values.size(), from + part); ++i) one.insert(values[i]);
    all.merge(one);
  }
  return all;
}

std::map<std::string, std::vector<double>> shapes(std::size_t n, std::uint64_t seed) {
  std::map<std::string, std::vector<double>> all;
  noise random(seed);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    all["random"].push_back(random.share());
    all["rising"].push_back(at);
    all["falling"].push_back(-at);
    all["a few values"].push_back(static_cast<double>(random.word() % 5));
    all["many orders"].push_back(std::exp(40 * random.share() - 20));
    all["a saw"].push_back(static_cast<double>(i % 1000));
    all["two ends"].push_back(i % 2 ? at : -at);
    all["from far away"].push_back(1.7e9 + 1e5 * random.share());
  }
  return all;
}

TEST(quantile_sketch, is_exact_up_to_1024_values) {
  EXPECT_EQ(quantile_sketch().quantile(0.5), std::nullopt);
  for (const std::size_t n : {1, 2, 3, 100, 1023, 1024})
    for (auto& [name, values] : shapes(n, n)) {
      const quantile_sketch s = in_parts(values, 100);
      EXPECT_EQ(s.count(), n);
      for (const double q : shares) {
        std::vector<double> some = values;
        EXPECT_EQ(s.quantile(q), query::agg::quantile_of(some.data(), n, q)) << name << " " << n << " " << q;
      }
    }
}

TEST(quantile_sketch, has_the_rank_error_that_it_states) {
  int asked = 0, beyond = 0;
  double squares = 0, worst = 0;
  for (const std::size_t n : {1025, 5000, 65'536, 200'000})
    for (const std::uint64_t seed : {1, 2})
      for (auto& [name, values] : shapes(n, seed + n))
        for (const std::size_t part : {n, std::size_t{65'536}, std::size_t{1500}, std::size_t{100}}) {
          const quantile_sketch s = in_parts(values, part);
          ASSERT_EQ(s.count(), n) << name;
          std::vector<double> sorted = values;
          std::sort(sorted.begin(), sorted.end());
          EXPECT_EQ(s.quantile(0), sorted.front());
          EXPECT_EQ(s.quantile(1), sorted.back());
          for (const double q : shares) {
            const double off = rank_error(sorted, q, s.quantile(q).value());
            ++asked;
            beyond += off > 0.005;
            squares += off * off;
            worst = std::max(worst, off);
            EXPECT_LT(off, 0.01) << name << ", " << n << " in parts of " << part << ", " << q;
          }
        }
  EXPECT_LT(beyond, asked / 100) << "worst " << worst << ", rms " << std::sqrt(squares / asked);
  RecordProperty("worst", std::to_string(worst));
}

// Were their coins the same, errors of alike parts would add up.
TEST(quantile_sketch, errors_of_alike_parts_cancel_out) {
  quantile_sketch all;
  constexpr std::size_t parts = 200, n = 3000;
  std::vector<double> sorted;
  for (std::size_t p = 0; p < parts; ++p) {
    quantile_sketch one;
    noise random(p);
    for (std::size_t i = 0; i < n; ++i) {
      sorted.push_back(random.share());
      one.insert(sorted.back());
    }
    all.merge(one);
  }
  std::sort(sorted.begin(), sorted.end());
  for (const double q : shares) EXPECT_LT(rank_error(sorted, q, all.quantile(q).value()), 0.005) << q;
}

TEST(quantile_sketch, repeats) {
  for (auto& [name, values] : shapes(20'000, 7))
    for (const double q : shares) EXPECT_EQ(in_parts(values, 3000).quantile(q), in_parts(values, 3000).quantile(q)) << name;
}

TEST(quantile_sketch, puts_nans_last_and_zeros_together) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  quantile_sketch s;
  for (int i = 0; i < 10'000; ++i) {
    s.insert(i % 4 == 0 ? nan : i % 4 == 1 ? -0.0 : i % 4 == 2 ? -inf : inf);
  }
  EXPECT_EQ(s.quantile(0.1), -inf);
  EXPECT_EQ(s.quantile(0.4), 0);
  EXPECT_FALSE(std::signbit(s.quantile(0.4).value()));
  EXPECT_EQ(s.quantile(0.6), inf);
  EXPECT_TRUE(std::isnan(s.quantile(0.9).value()));
  EXPECT_THROW((void)s.quantile(1.1), query::user_error);
  EXPECT_THROW((void)s.quantile(nan), query::user_error);
}

TEST(quantile_sketch, merges_with_itself_and_with_nothing) {
  quantile_sketch s, none;
  for (int i = 0; i < 5000; ++i) s.insert(i);
  s.merge(none);
  EXPECT_EQ(s.count(), 5000u);
  none.merge(s);
  EXPECT_EQ(none.quantile(0.5), s.quantile(0.5));
  s.merge(s);
  EXPECT_EQ(s.count(), 10'000u);
  EXPECT_NEAR(s.quantile(0.5).value(), 2500, 50);
}

// ---------------------------------------------------------------- frequent values
template <class V> std::map<V, std::int64_t> counted(const std::vector<V>& values) {
  std::map<V, std::int64_t> all;
  for (const V& v : values) ++all[v];
  return all;
}
// Every count is at most too small by error(), which is within its bound; nothing more frequent is missing.
template <class V> void expect_bounds(const frequency_sketch<V>& s, const std::vector<V>& values) {
  const auto n = static_cast<std::int64_t>(values.size());
  EXPECT_LE(s.error(), n / static_cast<std::int64_t>(s.capacity() + 1));
  auto exact = counted(values);
  const auto top = s.top(values.size());
  EXPECT_LE(top.size(), 2 * s.capacity());
  for (std::size_t i = 0; i < top.size(); ++i) {
    const auto& [v, times] = top[i];
    EXPECT_LE(times, exact[v]);
    EXPECT_GE(times, exact[v] - s.error());
    EXPECT_LE(times, top[i ? i - 1 : 0].second);
    exact.erase(v);
  }
  for (const auto& [v, times] : exact) EXPECT_LE(times, s.error());
}

std::vector<std::int64_t> skewed(std::size_t n, std::uint64_t seed) {
  noise random(seed);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < n; ++i) values.push_back(static_cast<std::int64_t>(1 / (random.share() + 1e-6)));
  return values;
}

TEST(frequency_sketch, is_exact_up_to_twice_its_capacity) {
  frequency_sketch<std::int64_t> s(10);
  EXPECT_TRUE(s.top(5).empty());
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < 20; ++i)
    for (std::int64_t j = 0; j <= i; ++j) values.push_back(i);
  for (const std::int64_t v : values) s.insert(v);
  EXPECT_EQ(s.error(), 0);
  EXPECT_EQ(s.top(2), (std::vector<std::pair<std::int64_t, std::int64_t>>{{19, 20}, {18, 19}}));
  EXPECT_EQ(s.top(100).size(), 20u);
}

TEST(frequency_sketch, equal_counts_stand_in_the_order_in_which_values_came) {
  frequency_sketch<std::string> s;
  for (const char* v : {"b", "a", "c", "a", "b", "d"}) s.insert(std::string_view(v));
  using counts = std::vector<std::pair<std::string, std::int64_t>>;
  EXPECT_EQ(s.top(4), (counts{{"b", 2}, {"a", 2}, {"c", 1}, {"d", 1}}));
}

TEST(frequency_sketch, keeps_its_bounds) {
  for (const std::size_t capacity : {1, 2, 10, 100})
    for (const std::uint64_t seed : {1, 2, 3}) {
      const std::vector<std::int64_t> values = skewed(20'000, seed);
      frequency_sketch<std::int64_t> whole(capacity), merged(capacity);
      for (const std::int64_t v : values) whole.insert(v);
      expect_bounds(whole, values);
      for (std::size_t from = 0; from < values.size(); from += 1777) {
        frequency_sketch<std::int64_t> part(capacity);
        for (std::size_t i = from; i < std::min(values.size(), from + 1777); ++i) part.insert(values[i]);
        merged.merge(part);
      }
      expect_bounds(merged, values);
      merged.merge(merged);
      EXPECT_EQ(merged.capacity(), capacity);
    }
}

TEST(frequency_sketch, forgets_values_that_are_all_alike) {
  std::vector<std::int64_t> values;
  frequency_sketch<std::int64_t> s(10);
  for (std::int64_t i = 0; i < 10'000; ++i) {
    values.push_back(i);
    s.insert(i);
  }
  expect_bounds(s, values);
}

}  // namespace
