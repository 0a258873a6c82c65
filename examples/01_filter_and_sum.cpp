// A query is a description: nothing runs until a terminal verb asks for a result, and it may be asked again.
#include <iostream>
#include <vector>

#include <query/query.hpp>

int main() {
  std::vector<double> prices{9.5, 20, 3.25, 14, 7};

  // The vector is not copied: it must live as long as the query, which sees it as it is when it runs.
  const auto cheap = query::from(prices).where([](auto p) { return p < 10; });
  std::cout << cheap.count() << " below 10, together " << cheap.sum() << "\n";

  prices.push_back(1.75);
  std::cout << "now " << cheap.count() << ", together " << cheap.sum() << "\n";

  // Of no rows there is no smallest: min, max and average give a std::optional.
  std::cout << "smallest " << *cheap.min() << ", mean " << cheap.average().value_or(0) << "\n";
  std::cout << "any above 100: " << std::boolalpha << cheap.any([](auto p) { return p > 100; }) << "\n";

  // Rows in order, as they are computed.
  for (const double p : cheap.select([](auto p) { return p * 1.2; })) std::cout << p << " ";
  std::cout << "\n";
}
