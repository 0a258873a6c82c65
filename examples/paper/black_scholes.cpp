// The prices of European options by the formula of Black and Scholes.
#include <cmath>
#include <cstdint>
#include <vector>

#include "program.hpp"

struct Option {
  float spot, strike, years;
};
QUERY_RECORD(Option, spot, strike, years);

struct Price {
  float call, put;
};
QUERY_RECORD(Price, call, put);

constexpr float rate = 0.02f, volatility = 0.3f;

// query:begin
query::Query<Price> black_scholes(const query::Query<Option>& options) {
  return options.select([](auto o) {
    const auto normal = [](auto x) { return 0.5f * query::erfc(x * -0.70710678f); };
    const auto deviation = volatility * query::sqrt(o.years);
    const auto d1 = (query::log(o.spot / o.strike) + (rate + 0.5f * volatility * volatility) * o.years) / deviation;
    const auto d2 = d1 - deviation;
    const auto discounted = o.strike * query::exp(-rate * o.years);
    return query::make<Price>(o.spot * normal(d1) - discounted * normal(d2),
                              discounted * normal(-d2) - o.spot * normal(-d1));
  });
}
// query:end

// loop:begin
float normal(float x) { return 0.5f * std::erfc(x * -0.70710678f); }

std::vector<Price> black_scholes_by_hand(const std::vector<Option>& options) {
  std::vector<Price> prices(options.size());
  for (std::size_t i = 0; i < options.size(); ++i) {
    const Option& o = options[i];
    const float deviation = volatility * std::sqrt(o.years);
    const float d1 = (std::log(o.spot / o.strike) + (rate + 0.5f * volatility * volatility) * o.years) / deviation;
    const float d2 = d1 - deviation;
    const float discounted = o.strike * std::exp(-rate * o.years);
    prices[i] = {o.spot * normal(d1) - discounted * normal(d2), discounted * normal(-d2) - o.spot * normal(-d1)};
  }
  return prices;
}
// loop:end

int main(int argc, char** argv) {
  const paper::options o = paper::read("black_scholes", std::span(argv, static_cast<std::size_t>(argc)),
                                       {{"test", 20'000},
                                        {"small", 1'000'000},
                                        {"middle", 10'000'000},
                                        {"large", std::int64_t{1} << 28}});
  paper::random random(4);
  std::vector<Option> options(static_cast<std::size_t>(o.rows));
  for (Option& x : options) {
    x.spot = static_cast<float>(5 + 25 * random.uniform());
    x.strike = static_cast<float>(1 + 99 * random.uniform());
    x.years = static_cast<float>(0.25 + 9.75 * random.uniform());
  }
  o.write("options", options);
  return paper::run(
      o, [&] { return black_scholes_by_hand(options); },
      [&](const paper::way& on) { return black_scholes(on.rows(options)); },
      [](const auto& a, const auto& b) {
        return std::ranges::equal(a, b, [](const Price& x, const Price& y) {
          return std::abs(x.call - y.call) <= 1e-4f && std::abs(x.put - y.put) <= 1e-4f;
        });
      });
}
