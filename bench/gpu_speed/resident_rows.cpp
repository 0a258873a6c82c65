// One pass over rows that lie on the device: folded, projected, compacted.
#include <cmath>

#include "gpu_speed/materialised.hpp"

namespace bench::speed {

namespace {

// The same for the device's rows and for the host's check.
template <class I> auto number_of(I i) {
  const auto a = (i + std::uint64_t{1}) * std::uint64_t{0x9E3779B97F4A7C15u};
  const auto b = (a ^ (a >> 30u)) * std::uint64_t{0xBF58476D1CE4E5B9u};
  const auto c = (b ^ (b >> 27u)) * std::uint64_t{0x94D049BB133111EBu};
  return query::cast<double>((c ^ (c >> 31u)) >> 11u) * 0x1p-53;
}

struct Option {
  float spot, strike, years;
};
QUERY_RECORD(Option, spot, strike, years);
struct Prices {
  float call, put;
};
QUERY_RECORD(Prices, call, put);

constexpr float rate = 0.02f, volatility = 0.30f;

// Abramowitz and Stegun 26.2.17, with an exact quotient and exponential.
template <class X> auto normal(X d) {
  const auto k = 1.0f / (1.0f + 0.2316419f * query::abs(d));
  const auto c = 0.39894228f * query::exp(-0.5f * d * d) *
                 (k * (0.31938153f + k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
  return 0.5f + query::copysign(0.5f - c, d);
}
// Without a polynomial of ours: as exact as single precision is.
template <class X> auto normal_by_erfc(X d) {
  return 0.5f * query::erfc(-0.70710678f * d);
}
constexpr auto by_polynomial = [](auto d) { return normal(d); };
constexpr auto by_erfc = [](auto d) { return normal_by_erfc(d); };
template <class X> struct priced { X call, put; };
template <class O, class N> auto price(const O& o, const N& below) {
  const auto vs = volatility * query::sqrt(o.years);
  const auto d1 = (query::log(o.spot / o.strike) + (rate + 0.5f * volatility * volatility) * o.years) / vs;
  const auto n1 = below(d1), n2 = below(d1 - vs);
  const auto strike = o.strike * query::exp(-rate * o.years);
  const auto call = o.spot * n1 - strike * n2, put = strike * (1.0f - n2) - o.spot * (1.0f - n1);
  return priced<std::remove_const_t<decltype(call)>>{call, put};
}

void doubles(const machine& m) {
  const std::size_t n = m.rows(28);
  const double bytes = 8.0 * static_cast<double>(n);
  own_session s(m);
  const auto there = materialised([&] { return s.on_gpu(query::range(std::uint64_t{0}, n)).select([](auto i) { return number_of(i); }); });
  if (m.wants("one row fetched"))
    m.line({.name = "one row fetched", .ms = median_ms([&] { (void)there.take(1).to_vector(); }), .note = s.fell_back()});
  if (m.wants("filter+map+sum, 2^28 f64")) {
    double answer = 0;
    const double ms =
        median_ms([&] { answer = there.where([](auto v) { return v > 0.25; }).select([](auto v) { return v * 0.5 + 1.0; }).sum(); });
    const double wanted = parallel_sum(n, [](std::size_t i) {
      const double v = number_of(std::uint64_t{i});
      return v > 0.25 ? v * 0.5 + 1.0 : 0;
    });
    m.line({"filter+map+sum, 2^28 f64", ms, bytes, "GB/s", m.rates().copy, 0.9 * m.rates().copy, near(answer, wanted), s.fell_back()});
  }
  const auto output = [&](const char* name, double below, double cub) {
    if (!m.wants(name)) return;
    const auto make = [&] { return there.where([below](auto v) { return v < below; }); };
    const double ms = materialised_ms(make);
    const auto kept = materialised(make);
    const auto rows = static_cast<double>(kept.count());
    const double passing = parallel_sum(n, [&](std::size_t i) { return number_of(std::uint64_t{i}) < below ? 1 : 0; });
    const double sum = parallel_sum(n, [&](std::size_t i) {
      const double v = number_of(std::uint64_t{i});
      return v < below ? v : 0;
    });
    const bool right = rows == passing && near(kept.sum(), sum);
    m.line({name, ms, bytes + 8 * passing, "GB/s", m.rates().copy, cub * m.scale(), right, s.fell_back()});
  };
  output("where with output, 10 %, 2^28 f64", 0.1, 2967);
  output("where with output, 50 %, 2^28 f64", 0.5, 3199);
}

void black_scholes(const machine& m) {
  const std::size_t n = m.rows(28), period = std::min<std::size_t>(n, std::size_t{1} << 20);
  const auto option = [&](std::size_t i) {
    const std::uint64_t a = random_of(i % period), b = mix(a);
    return Option{static_cast<float>(5 + 25 * unit_of(a)), static_cast<float>(1 + 99 * unit_of(b)),
                  static_cast<float>(0.25 + 9.75 * unit_of(mix(b)))};
  };
  std::vector<float> spots, strikes, years;
  std::vector<float>* all[] = {&spots, &strikes, &years};
  parallel(3, [&](std::size_t from, std::size_t to) {
    for (std::size_t c = from; c < to; ++c) all[c]->resize(n);
  });
  parallel(n, [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      const Option o = option(i);
      spots[i] = o.spot, strikes[i] = o.strike, years[i] = o.years;
    }
  });
  own_session s(m);
  const auto there = s.on_gpu(query::from(query::columns<Option>(spots, strikes, years)).as_query()).cached();
  (void)there.count();
  const double times = static_cast<double>(n) / static_cast<double>(period), rows = static_cast<double>(n);
  // IEEE's arithmetic, and what fast_math() permits instead.
  const auto ieee = [](const auto& q) { return q; };
  const auto fast = [](const auto& q) { return q.fast_math(); };
  const auto with_normal = [&](const std::string& formula, auto below) {
    using N = decltype(below);
    if (!m.concerns(formula + ", ")) return;
    const double wanted = times * parallel_sum(period, [&](std::size_t i) {
                            const auto p = price(option(i), N{});
                            return static_cast<double>(p.call + p.put);
                          });
    const auto sum = [&](const char* what, const auto& as_asked, double nearer) {
      const std::string name = formula + ", sum of prices, " + what;
      if (!m.wants(name)) return;
      double answer = 0;
      const double ms = median_ms([&] {
        answer = as_asked(there.select([](auto o) {
                   const auto p = price(o, N{});
                   return p.call + p.put;
                 })).sum();
      });
      m.line({name, ms, 12 * rows, "GB/s", m.rates().copy, 3000 * m.scale(), near(answer, wanted, nearer), s.fell_back()});
    };
    sum("2^28", ieee, 1e-5);
    sum("fast_math()", fast, 1e-4);
    const auto collected = [&](const char* what, const auto& as_asked, double nearer) {
      const std::string name = formula + ", prices collected, " + what;
      if (!m.wants(name)) return;
      const auto make = [&] {
        return as_asked(there.select([](auto o) {
          const auto p = price(o, N{});
          return query::make<Prices>(p.call, p.put);
        }));
      };
      const double ms = materialised_ms(make);
      const auto kept = materialised(make);
      const double total = kept.select([](auto p) { return p.call + p.put; }).sum();
      m.line({name, ms, 20 * rows, "GB/s", m.rates().copy, 3000 * m.scale(),
              kept.count() == static_cast<std::int64_t>(n) && near(total, wanted, nearer), s.fell_back()});
    };
    collected("2^28", ieee, 1e-5);
    collected("fast_math()", fast, 1e-4);
  };
  with_normal("Black-Scholes", by_polynomial);
  with_normal("Black-Scholes by erfc", by_erfc);
}

}  // namespace

void resident_rows(const machine& m) {
  const bool options = m.concerns("Black-Scholes");
  const bool numbers = m.concerns("one row fetched") || m.concerns("filter+map+sum") || m.concerns("where with output");
  if (!options && !numbers) return;
  m.heading("rows that lie on the device: one pass");
  if (numbers) doubles(m);
  if (options) black_scholes(m);
}

}  // namespace bench::speed
