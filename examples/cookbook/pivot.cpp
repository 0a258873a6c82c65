// A table of revenue with a row for each region and a column for each quarter.
#include <array>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Sale {
  std::string region, quarter;
  double amount;
};
QUERY_RECORD(Sale, region, quarter, amount);

struct Year {
  std::string region;
  double q1, q2, q3, total;
};
QUERY_RECORD(Year, region, q1, q2, q3, total);

int main() {
  const std::vector<Sale> sales{{"north", "q1", 10}, {"south", "q1", 4}, {"north", "q2", 20}, {"north", "q1", 2.5}, {"south", "q3", 8}};

  const auto years = query::from(sales)
      .pivot([](auto s) { return s.region; }, [](auto s) { return s.quarter; }, std::array{"q1", "q2", "q3"},
             [](auto g) { return g.sum([](auto s) { return s.amount; }); })
      .select([](auto p) {
        const auto q1 = p.values[0].value_or(0), q2 = p.values[1].value_or(0), q3 = p.values[2].value_or(0);
        return query::make<Year>(p.key, q1, q2, q3, q1 + q2 + q3);
      })
      .order_by([](auto y) { return y.region; });

  return answer<Year>(years, {{"north", 12.5, 20, 0, 32.5}, {"south", 4, 0, 8, 12}});
}
