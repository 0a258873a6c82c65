// count, sum, min, max, average: of numbers, nulls, floats; sums do not depend on the number of threads.
#include <cstring>

#include "conformance/engines.hpp"
#include "conformance/naive.hpp"
#include "conformance/rows.hpp"
#include "runtime/session_state.hpp"

namespace conformance {
namespace {

template <class T> std::optional<T> least_of(const std::vector<T>& v, bool most) {
  std::optional<T> r;
  for (const T x : v)
    if (!r || *r != *r || (most ? x > *r : x < *r)) r = x;
  return r;
}

CONFORMS(numbers, products_are_rounded_before_they_are_added, "select") {
  const auto& rows = many_ticks();
  EXPECT_ROWS(source(e, rows).select([](auto t) { return t.price * 0.1 + query::cast<double>(t.amount) * 0.3; }).to_vector(),
              selected(rows, [](const tick& t) {
                const volatile double a = t.price * 0.1, b = static_cast<double>(t.amount) * 0.3;  // no compiler fuses these
                return a + b;
              }));
}

CONFORMS(numbers, integers, "count", "sum", "min", "max", "average", "mean") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    const auto p = [](auto t) { return t.key != 1; };
    const auto rows = selected(kept(d.rows, p), [](const tick& t) { return t.amount; });
    std::int64_t sum = 0;
    for (const auto x : rows) sum += x;
    const auto average = rows.empty() ? std::nullopt : std::optional(static_cast<double>(sum) / static_cast<double>(rows.size()));
    const auto amount = [](auto t) { return t.amount; };
    const auto q = source(e, d.rows).where(p);
    EXPECT_EQ(q.count(), std::ssize(rows));
    EXPECT_EQ(q.sum(amount), sum);
    EXPECT_EQ(q.select(amount).sum(), sum);
    EXPECT_EQ(q.min(amount), least_of(rows, false));
    EXPECT_EQ(q.max(amount), least_of(rows, true));
    EXPECT_EQ(q.average(amount), average);
    EXPECT_EQ(q.select(amount).mean(), average);
    EXPECT_EQ(q.mean(amount), average);
  }
}

CONFORMS(numbers, integer_sums_wrap_in_64_bits, "sum") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::uint64_t amounts = 0;
    std::int64_t keys = 0, hot = 0;
    for (const trade& t : d.rows) {
      amounts += static_cast<std::uint64_t>(t.amount);
      keys += t.key;
      hot += t.hot;
    }
    EXPECT_EQ(source(e, d.rows).sum([](auto t) { return t.amount; }), static_cast<std::int64_t>(amounts));
    EXPECT_EQ(source(e, d.rows).sum([](auto t) { return t.key; }), keys);
    EXPECT_EQ(source(e, d.rows).sum([](auto t) { return t.hot; }), hot);
    EXPECT_EQ(source(e, d.rows).sum([](auto t) { return query::cast<std::uint64_t>(t.amount); }), amounts);
  }
}

CONFORMS(numbers, nulls_are_passed_over, "sum", "min", "max", "average", "values") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::vector<std::int32_t> lots;
    std::int64_t sum = 0;
    for (const trade& t : d.rows)
      if (t.lot) {
        lots.push_back(*t.lot);
        sum += *t.lot;
      }
    const auto lot = [](auto t) { return t.lot; };
    EXPECT_EQ(source(e, d.rows).sum(lot), sum);
    EXPECT_EQ(source(e, d.rows).average(lot),
              lots.empty() ? std::nullopt : std::optional(static_cast<double>(sum) / static_cast<double>(lots.size())));
    EXPECT_EQ(source(e, d.rows).select(lot).values().min(), least_of(lots, false));
    EXPECT_EQ(source(e, d.rows).select(lot).values().max(), least_of(lots, true));
  }
}

CONFORMS(numbers, nans_lose_against_numbers, "min", "max") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    const auto prices = selected(d.rows, [](const trade& t) { return t.price; });
    const auto q = source(e, d.rows).select([](auto t) { return t.price; });
    EXPECT_EQ(key_text(q.min()), key_text(least_of(prices, false)));
    EXPECT_EQ(key_text(q.max()), key_text(least_of(prices, true)));
    EXPECT_EQ(key_text(q.where([](auto x) { return x != x; }).max()),
              key_text(least_of(kept(prices, [](double x) { return x != x; }), true)));
  }
}

CONFORMS(numbers, strings_and_arrays_have_extremes_too, "min", "max") {
  for (const auto& d : trades()) {
    SCOPED_TRACE(d.name);
    std::optional<std::string> least, most;
    for (const trade& t : d.rows) {
      if (!least || t.name < *least) least = t.name;
      if (!most || t.name > *most) most = t.name;
    }
    EXPECT_EQ(source(e, d.rows).min([](auto t) { return t.name; }), least);
    EXPECT_EQ(source(e, d.rows).max([](auto t) { return t.name; }), most);
  }
}

CONFORMS(numbers, own_aggregates_of_all_rows, "aggregate") {
  for (const auto& d : ticks()) {
    SCOPED_TRACE(d.name);
    std::uint64_t bits = 0;
    for (const tick& t : d.rows) bits ^= static_cast<std::uint64_t>(t.amount) * 0x9e3779b97f4a7c15u;
    const auto got = source(e, d.rows).aggregate(
        std::uint64_t{0}, [](std::uint64_t s, const tick& t) { return s ^ static_cast<std::uint64_t>(t.amount) * 0x9e3779b97f4a7c15u; },
        [](std::uint64_t a, std::uint64_t b) { return a ^ b; }, [](std::uint64_t s) { return s + 1; });
    EXPECT_EQ(got, bits + 1);
  }
}

// Numbers whose sum depends on the order of additions.
std::vector<double> rough(std::size_t n) {
  std::mt19937_64 g(seed());
  std::vector<double> v(n);
  for (double& x : v) x = std::ldexp(static_cast<double>(g() >> 11), static_cast<int>(g() % 40) - 60) - 0.1;
  return v;
}

CONFORMS(numbers, float_sums_do_not_depend_on_the_number_of_threads, "sum", "average", "group_by.select", "aggregate") {
  const std::vector<double> rows = rough(300001);
  double exact = 0;
  {
    long double s = 0;
    for (const double x : rows) s += x > 0.3 ? x : 0;
    exact = static_cast<double>(s);
  }
  const auto p = [](auto x) { return x > 0.3; };
  const bool interpret = std::string(e.column) == "interpreter";
  // Nothing is weighed: whether the GPU pays depends on the number of threads, and it adds in another order than the CPU.
  query::Session one({.threads = 1, .interpret = interpret, .gpu_min_rows = 0}),
      three({.threads = 3, .interpret = interpret, .gpu_min_rows = 0});
  for (query::Session* s : {&one, &three}) s->state()->partitions = e.session.state()->partitions;
  const auto bits = [](double x) {
    std::uint64_t u;
    std::memcpy(&u, &x, sizeof u);
    return u;
  };
  const auto all = [&](auto q) {
    std::vector<std::uint64_t> r{bits(q.where(p).sum()), bits(*q.where(p).average()),
                                 bits(q.aggregate([](auto g) { return g.sum(); }).to_vector()[0])};
    if (e.accelerate) return r;  // on the GPU, sums of groups may differ in their last bits
    const auto groups = q.group_by([](auto x) { return x > 10; })
                            .aggregate([](auto g) { return g.sum(); }, [](auto g) { return g.variance(); })
                            .as_ordered()
                            .to_vector();
    for (const auto& g : groups) {
      r.push_back(bits(std::get<1>(g)));
      r.push_back(bits(*std::get<2>(g)));
    }
    return r;
  };
  const auto got = all(source(e, rows));
  EXPECT_NEAR(source(e, rows).where(p).sum(), exact, 1e-9 * exact);
  EXPECT_EQ(got, all(source(e, rows)));
  if (in_partitions(e) || (e.accelerate && std::string_view(e.name) != "gpu"))
    return;  // the order of additions depends on the number of partitions or devices, and those sessions have one
  EXPECT_EQ(got, all(source(e, rows).in(one)));
  EXPECT_EQ(got, all(source(e, rows).in(three)));
}

}  // namespace
}  // namespace conformance
