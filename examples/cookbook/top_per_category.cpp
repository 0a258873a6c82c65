// The three best-selling products in each category.
#include <string>
#include <tuple>
#include <vector>

#include <query/query.hpp>

#include "answer.hpp"

struct Sale {
  std::string category, product;
  double amount;
};
QUERY_RECORD(Sale, category, product, amount);

int main() {
  const std::vector<Sale> sales{{"fruit", "apple", 3}, {"fruit", "pear", 5}, {"tea", "green", 9}, {"fruit", "apple", 4},
                                {"fruit", "plum", 1},  {"fruit", "fig", 6},  {"tea", "black", 2}, {"fruit", "pear", 0.5}};
  const auto category = [](auto s) { return s.category; };
  const auto amount = [](auto s) { return s.amount; };

  const auto best = query::from(sales)
      .group_by([](auto s) { return std::tuple(s.category, s.product); })
      .select([amount](auto g) {
        const auto [of, product] = g.key();
        return query::make<Sale>(of, product, g.sum(amount));
      })
      .group_by(category).top(3, amount)
      .order_by(category).then_by_descending(amount);

  return answer<Sale>(best, {{"fruit", "apple", 7}, {"fruit", "fig", 6}, {"fruit", "pear", 5.5}, {"tea", "green", 9}, {"tea", "black", 2}});
}
