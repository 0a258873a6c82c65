// Sorting is stable, by any number of keys. The first rows of an order are found without sorting the rest.
#include <iostream>
#include <string>
#include <vector>

#include <query/query.hpp>

struct City {
  std::string name, country;
  std::optional<double> millions;
};
QUERY_RECORD(City, name, country, millions);

int main() {
  const std::vector<City> cities{{"Lagos", "NG", 15.4}, {"Osaka", "JP", 19.0},     {"Kyoto", "JP", 1.5},
                                 {"Abuja", "NG", 3.8},  {"Kobe", "JP", std::nullopt}, {"Tokyo", "JP", 37.2}};
  const auto all = query::from(cities);

  all.order_by([](auto c) { return c.country; }).then_by_descending([](auto c) { return c.millions; }).print();  // nulls last

  const auto three = all.order_by_descending([](auto c) { return c.millions; }).take(3);  // a top-k
  for (const City& c : three) std::cout << c.name << "\n";

  // The user's own order: by the length of the name.
  all.order_by([](auto c) { return c.name; }, [](const std::string& a, const std::string& b) { return a.size() < b.size(); }).print();

  std::cout << "largest: " << all.max_by([](auto c) { return c.millions; })->name << "\n";
}
