// variance and stddev of values far from 0: as good as those of two passes over the values.
#include <cmath>
#include <random>

#include "conformance/engines.hpp"
#include "conformance/rows.hpp"

namespace conformance {
namespace {

struct measured {
  std::int32_t key;
  double value;
};
QUERY_RECORD(measured, key, value);

// `base` and up to 0.3 more.
std::vector<measured> around(double base, std::size_t n) {
  std::mt19937_64 g(seed());
  std::vector<measured> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = {static_cast<std::int32_t>(g() % 3), base + 0.3 * static_cast<double>(g() >> 11) * 0x1p-53};
  return rows;
}
double variance_of(const std::vector<measured>& rows, std::int32_t key = -1) {
  long double sum = 0, squares = 0;
  std::size_t n = 0;
  for (const measured& m : rows)
    if (key < 0 || m.key == key) sum += m.value - rows[0].value, ++n;  // exact: of about the same size
  const long double mean = sum / static_cast<long double>(n);
  for (const measured& m : rows)
    if (key < 0 || m.key == key) squares += (m.value - rows[0].value - mean) * (m.value - rows[0].value - mean);
  return static_cast<double>(squares / static_cast<long double>(n - 1));
}

const auto value_of_row = [](auto m) { return m.value; };

CONFORMS(variances, of_values_far_from_zero, "reduce", "group_by.select", "group_by") {
  for (const double base : {0.0, 1e8, -1e10, 1e12})
    for (const std::size_t n : {2u, 3u, 1000u, 100'003u}) {
      SCOPED_TRACE(std::to_string(base) + ", " + std::to_string(n));
      const std::vector<measured> rows = around(base, n);
      const double wanted = variance_of(rows), tolerance = 1e-11;
      const auto q = source(e, rows);
      EXPECT_NEAR(*q.reduce([](auto g) { return g.variance(value_of_row); }), wanted, wanted * tolerance);
      EXPECT_NEAR(*q.reduce([](auto g) { return g.stddev(value_of_row); }), std::sqrt(wanted), std::sqrt(wanted) * tolerance);
      if (n < 1000) continue;
      const auto key = [](auto m) { return m.key; };
      for (const auto& [k, v] : q.group_by(key).select([](auto g) { return std::pair(g.key(), g.variance(value_of_row)); }).to_vector())
        EXPECT_NEAR(*v, variance_of(rows, k), wanted * tolerance);
      for (const auto& [k, v] :
           q.group_by(key).groups().select([](auto g) { return std::pair(g.key(), g.stddev(value_of_row)); }).to_vector())
        EXPECT_NEAR(*v, std::sqrt(variance_of(rows, k)), wanted * tolerance);
    }
}

CONFORMS(variances, of_windows, "over") {
  for (const double base : {1e8, -1e12}) {
    SCOPED_TRACE(base);
    std::vector<measured> rows = around(base, 1000);
    const double wanted = variance_of(rows);
    const auto check = [&](const std::optional<double>& given) { EXPECT_NEAR(given.value_or(-1), wanted, wanted * 1e-11); };
    check(source(e, rows).over().select([](auto, auto w) { return w.variance(value_of_row); }).first());
    rows.insert(rows.begin(), {0, 1e17});  // what has left a rolling window leaves nothing behind
    check(source(e, rows).over().select([](auto, auto w) { return w.rolling(1000).variance(value_of_row); }).last());
  }
}

// The first value does not stand for the rest.
CONFORMS(variances, with_a_value_far_from_the_others, "reduce") {
  std::vector<measured> rows = around(1e8, 50'000);
  rows.insert(rows.begin(), {0, 0.0});
  long double sum = 0, squares = 0;
  for (const measured& m : rows) sum += m.value;
  const long double mean = sum / static_cast<long double>(rows.size());
  for (const measured& m : rows) squares += (m.value - mean) * (m.value - mean);
  const double wanted = static_cast<double>(squares / static_cast<long double>(rows.size() - 1));
  EXPECT_NEAR(*source(e, rows).reduce([](auto g) { return g.variance(value_of_row); }), wanted, wanted * 1e-12);
}

CONFORMS(variances, do_not_depend_on_the_number_of_threads, "reduce") {
  const std::vector<measured> rows = around(1e10, 300'001);
  const bool interpret = std::string(e.column) == "interpreter";
  const auto of = [&](int threads) {
    const query::Session s({.threads = threads, .interpret = interpret});
    return *query::from(rows).in(s).reduce([](auto g) { return g.variance(value_of_row); });
  };
  EXPECT_EQ(of(1), of(3));
}

}  // namespace
}  // namespace conformance
