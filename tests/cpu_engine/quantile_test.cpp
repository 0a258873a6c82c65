// The value at a rank, of values in every order, with equal ones and NaNs: as sorting them would find it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <query/detail/aggregate_kinds.hpp>

namespace {

double by_sorting(std::vector<double> v, double q) {
  std::sort(v.begin(), v.end(), [](double a, double b) { return std::isnan(b) ? !std::isnan(a) : a < b; });
  const double rank = q * static_cast<double>(v.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const double part = rank - static_cast<double>(below);
  if (part == 0 || below + 1 == v.size() || v[below] == v[below + 1]) return v[below];
  return v[below] + part * (v[below + 1] - v[below]);
}

void expect_found(const std::vector<double>& v) {
  for (const double q : {0.0, 0.01, 0.25, 0.5, 0.75, 0.999, 1.0}) {
    std::vector<double> some = v;
    const double found = query::agg::quantile_of(some.data(), some.size(), q), wanted = by_sorting(v, q);
    const bool close = std::abs(found - wanted) <= 1e-12 * std::abs(wanted);  // the last bit is the compiler's, where it fuses operations
    EXPECT_TRUE(close || (std::isnan(found) && std::isnan(wanted))) << v.size() << " values, " << q << ": " << found << ", " << wanted;
  }
}

TEST(quantile, is_that_of_sorted_values) {
  for (const std::size_t n : {1, 2, 3, 31, 32, 33, 100, 1000, 20'000})
    for (const std::uint64_t different : {1, 2, 5, 1'000'000}) {
      std::vector<double> random, rising, falling, pipe, with_nans;
      std::uint64_t x = n + different;
      for (std::size_t i = 0; i < n; ++i) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        random.push_back(static_cast<double>((x >> 33) % different) - 0.5);
        rising.push_back(static_cast<double>(i % different));
        falling.push_back(-static_cast<double>(i));
        pipe.push_back(static_cast<double>(std::min(i, n - i)));
        with_nans.push_back(x >> 62 ? random.back() : std::numeric_limits<double>::quiet_NaN());
      }
      for (const auto& v : {random, rising, falling, pipe, with_nans}) expect_found(v);
    }
}

}  // namespace
