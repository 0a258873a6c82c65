// Text fields are std::string, missing values are std::optional; both keep C++'s meaning inside lambdas.
#include <iostream>
#include <string>
#include <vector>

#include <query/query.hpp>

struct Person {
  std::string name, city;
  std::optional<std::int32_t> age;
};
QUERY_RECORD(Person, name, city, age);

struct PerCity {
  std::string city;
  std::int64_t people, ages;
  std::optional<double> mean_age;
};
QUERY_RECORD(PerCity, city, people, ages, mean_age);

int main() {
  const std::vector<Person> people{{"Ada Lovelace", "London", 36},        {"Alan Turing", "London", 41},
                                   {"Grace Hopper", "New York", 85},      {"Edsger Dijkstra", "Nuenen", std::nullopt},
                                   {"Barbara Liskov", "Boston", std::nullopt}};
  const auto all = query::from(people);

  // These members and functions of strings are understood by the library; others make the lambda opaque.
  const auto names = all.where([](auto p) { return p.name.starts_with("A") || query::contains(p.city, "New"); })
                         .select([](auto p) { return query::to_upper(p.name) + " of " + p.city; });
  for (const std::string& n : names) std::cout << n << "\n";

  // Aggregates pass over nulls; count(f) counts the rows where f has a value.
  all.group_by([](auto p) { return p.city; })
      .select([](auto g) {
        const auto age = [](auto p) { return p.age; };
        return query::make<PerCity>(g.key(), g.count(), g.count(age), g.mean(age));
      })
      .order_by([](auto c) { return c.city; })
      .print();

  // A null equals a null and is less than any value, as std::optional has it; value_or says what to take instead.
  std::cout << all.count([](auto p) { return p.age < 40; }) << " below 40, nulls included\n";
  std::cout << all.count([](auto p) { return p.age.value_or(99) < 40; }) << " known to be below 40\n";
  std::cout << "mean of the known ages: " << *all.select([](auto p) { return p.age; }).average() << "\n";
}
