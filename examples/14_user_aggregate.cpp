// An aggregate of your own: a seed, how a row changes it, how two of them combine, what becomes of it at the end.
#include <cmath>
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Trade {
  std::int32_t symbol;
  double price;
};
QUERY_RECORD(Trade, symbol, price);

struct Geometric {
  double logs = 0;
  std::int64_t n = 0;
};

struct Row {
  std::int32_t symbol;
  double geometric_mean;
};
QUERY_RECORD(Row, symbol, geometric_mean);

int main() {
  const std::vector<Trade> trades{{1, 2}, {1, 8}, {2, 5}, {2, 5}, {2, 40}};
  const auto rows = query::from(trades);

  // The seed must be the identity of `combine`: every part of the rows starts from it.
  const auto update = [](Geometric g, const Trade& t) { return Geometric{g.logs + std::log(t.price), g.n + 1}; };
  const auto combine = [](Geometric a, Geometric b) { return Geometric{a.logs + b.logs, a.n + b.n}; };
  const auto result = [](Geometric g) { return std::exp(g.logs / static_cast<double>(g.n)); };

  std::cout << rows.aggregate(Geometric{}, update, combine, result) << " over all\n";

  rows.group_by([](auto t) { return t.symbol; })
      .select([=](auto g) { return query::make<Row>(g.key(), g.aggregate(Geometric{}, update, combine, result)); })
      .order_by([](auto r) { return r.symbol; })
      .print();
}
