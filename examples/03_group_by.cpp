// One row a group. `auto g` records which aggregates are wanted; they are kept up incrementally, no group is materialised.
#include <vector>

#include <query/query.hpp>

struct Trade {
  std::int32_t symbol;
  double price;
  std::int32_t qty;
};
QUERY_RECORD(Trade, symbol, price, qty);

struct Vwap {
  std::int32_t symbol;
  double vwap, dearest;
  std::int64_t trades;
};
QUERY_RECORD(Vwap, symbol, vwap, dearest, trades);

struct Spread {
  std::int32_t symbol;
  double first, last;
};
QUERY_RECORD(Spread, symbol, first, last);

int main() {
  const std::vector<Trade> trades{{7, 10.0, 100}, {3, 20.5, 50}, {7, 11.0, 300}, {3, 21.5, 150}, {5, 5.25, 10}};

  query::from(trades)
      .group_by([](auto t) { return t.symbol; })
      .select([](auto g) {
        return query::make<Vwap>(g.key(), g.sum([](auto t) { return t.price * t.qty; }) / g.sum([](auto t) { return t.qty; }),
                                 g.max([](auto t) { return t.price; }), g.count());
      })
      .order_by([](auto v) { return v.symbol; })
      .print();

  // A function that names query::Group gets the rows of each group, in order.
  query::from(trades)
      .group_by([](auto t) { return t.symbol; })
      .select([](const query::Group<std::int32_t, Trade>& g) {
        return Spread{g.key(), g.rows().front().price, g.rows().back().price};
      })
      .as_ordered()  // groups in the order in which they first appear
      .print();
}
