// The smallest query: numbers in, a filter, a function, a sum out.
#include <iostream>

#include <query/query.hpp>

int main() {
  const auto squares = query::range(1, 1000)
                           .where([](auto n) { return n % 3 == 0; })
                           .select([](auto n) { return n * n; });
  std::cout << squares.count() << " squares, sum " << squares.sum() << "\n";
}
