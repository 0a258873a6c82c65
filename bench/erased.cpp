// What erasing the type of a chain costs (Query<T> instead of auto): where and select, then a terminal verb, as one compiled loop;
// erased once, at the end of the chain; erased after every verb, so that rows go through memory between them. The same rows, the
// same answers; each form's speed is given against the loop that is not erased.
//
//   erased [rows] [rounds]
#include <random>

#include <query/query.hpp>

#include "timing.hpp"

struct Trade {
  std::int32_t symbol;
  double price;
  std::int32_t qty;
};
QUERY_RECORD(Trade, symbol, price, qty);

namespace {

const auto large = [](auto t) { return t.qty > 50; };
const auto value = [](auto t) { return t.price * t.qty; };

template <class Source> void race_of_forms(const std::string& source, const Source& q, int rounds) {
  const auto fused = q.where(large).select(value);
  const query::Query<double> erased = fused;
  const query::Query<Trade> passing = q.where(large);
  const query::Query<double> twice = passing.select(value);
  const auto race = [&](const char* terminal, const auto& run) {
    bench::race r(source + ": where(qty > 50).select(price * qty)." + terminal);
    r.add("one compiled loop", [&] { return run(fused); });
    r.add("erased at the end", [&] { return run(erased); });
    r.add("erased after every verb", [&] { return run(twice); });
    r.run(rounds);
  };
  race("sum()", [](const auto& c) { return c.sum(); });
  race("count()", [](const auto& c) { return static_cast<double>(c.count()); });
  race("min()", [](const auto& c) { return *c.min(); });
  race("max()", [](const auto& c) { return *c.max(); });
  race("average()", [](const auto& c) { return *c.average(); });
  race("to_vector()", [](const auto& c) {
    const std::vector<double> v = c.to_vector();
    return static_cast<double>(v.size()) + v.back();
  });
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t n = argc > 1 ? std::stoull(argv[1]) : 20'000'000;
  const int rounds = argc > 2 ? std::stoi(argv[2]) : 9;
  std::vector<std::int32_t> symbol(n), qty(n);
  std::vector<double> price(n);
  std::mt19937 g(1);
  for (std::size_t i = 0; i < n; ++i)
    symbol[i] = static_cast<std::int32_t>(g() % 1000), price[i] = static_cast<double>(g()) * 1e-6,
    qty[i] = static_cast<std::int32_t>(g() % 100);
  std::vector<Trade> rows(n);
  for (std::size_t i = 0; i < n; ++i) rows[i] = {symbol[i], price[i], qty[i]};
  race_of_forms("rows", query::from(rows), rounds);
  race_of_forms("columns", query::from(query::columns<Trade>(symbol, price, qty)), rounds);
}
