// The cost of each trade compared with the middle of the latest quote, if that quote is at most 10 seconds old.
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Trade {
  std::string symbol;
  std::int64_t time;  // in seconds
  double price;
  std::int64_t qty;
};
QUERY_RECORD(Trade, symbol, time, price, qty);

struct Quote {
  std::string symbol;
  std::int64_t time;
  double bid, ask;
};
QUERY_RECORD(Quote, symbol, time, bid, ask);

struct Cost {
  std::string symbol;
  std::int64_t time;
  double price, middle, cost;
};
QUERY_RECORD(Cost, symbol, time, price, middle, cost);

int main() {
  const std::vector<Trade> trades{{"IBM", 10, 12.5, 100}, {"SUN", 11, 4.25, 10}, {"IBM", 14, 12.75, 200},
                                  {"IBM", 40, 13, 10},    {"NEW", 12, 1, 1}};
  const std::vector<Quote> quotes{{"IBM", 14, 12.5, 12.75}, {"IBM", 9, 12.25, 12.5}, {"SUN", 12, 4, 4.5},
                                  {"SUN", 2, 4.25, 4.75}, {"IBM", 15, 9, 9}};
  const auto symbol = [](auto x) { return x.symbol; };
  const auto time = [](auto x) { return x.time; };

  const auto costs = query::from(trades)
      .asof_join(quotes, symbol, symbol, time, time, {.tolerance = 10})
      .where([](auto p) { return p.second.has_value(); })
      .select([](auto p) {
        const auto middle = (p.second->bid + p.second->ask) / 2;
        const auto cost = (p.first.price - middle) * query::cast<double>(p.first.qty);
        return query::make<Cost>(p.first.symbol, p.first.time, p.first.price, middle, cost);
      });

  return answer<Cost>(costs, {{"IBM", 10, 12.5, 12.375, 12.5}, {"SUN", 11, 4.25, 4.5, -2.5}, {"IBM", 14, 12.75, 12.625, 25}});
}
