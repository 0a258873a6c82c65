#include <iostream>
#include <vector>

#include <query/query.hpp>

int main() {
  std::vector<int> v{1, 2, 3};
  const auto sum = query::from(v).where([](auto x) { return x > 1; }).sum();
  std::cout << "sum: " << sum << '\n';
  return sum == 5 ? 0 : 1;
}
