// Turns ticks into bars: the open, high, low and close prices of each minute, and its volume.
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Tick {
  std::string symbol;
  std::int64_t time;  // in seconds
  double price;
  std::int64_t qty;
};
QUERY_RECORD(Tick, symbol, time, price, qty);

struct Bar {
  std::string symbol;
  std::int64_t minute;
  double open, high, low, close;
  std::int64_t volume;
};
QUERY_RECORD(Bar, symbol, minute, open, high, low, close, volume);

int main() {
  const std::vector<Tick> ticks{{"IBM", 61, 12.5, 100}, {"IBM", 3, 12.0, 50},  {"SUN", 10, 4.25, 900}, {"IBM", 30, 12.75, 10},
                                {"IBM", 59, 11.5, 20},  {"SUN", 50, 4.5, 100}, {"IBM", 65, 12.25, 30}};
  const auto price = [](auto t) { return t.price; };

  const auto bars = query::from(ticks)
      .order_by([](auto t) { return t.time; })
      .group_by([](auto t) { return std::tuple(t.symbol, t.time / 60); })
      .select([price](auto g) {
        const auto [symbol, minute] = g.key();
        return query::make<Bar>(symbol, minute, g.first(price), g.max(price), g.min(price), g.last(price),
                                g.sum([](auto t) { return t.qty; }));
      })
      .order_by([](auto b) { return std::tuple(b.symbol, b.minute); });

  return answer<Bar>(bars, {{"IBM", 0, 12.0, 12.75, 11.5, 11.5, 80}, {"IBM", 1, 12.5, 12.5, 12.25, 12.25, 130},
                            {"SUN", 0, 4.25, 4.5, 4.25, 4.5, 1000}});
}
