// A struct of arrays: only the columns that a query names are read. to_vectors gives the result the same way.
#include <iostream>
#include <vector>

#include <query/query.hpp>

struct Reading {
  std::int32_t station;
  double temperature;
  double pressure;
};
QUERY_RECORD(Reading, station, temperature, pressure);

int main() {
  std::vector<std::int32_t> station;
  std::vector<double> temperature, pressure;
  for (int i = 0; i < 100'000; ++i) {
    station.push_back(i % 50);
    temperature.push_back(15 + i % 7);
    pressure.push_back(1000 + i % 30);
  }

  // The vectors are not copied. Lambdas see them as rows.
  const auto readings = query::from(query::columns<Reading>(station, temperature, pressure));
  const auto warm = readings.where([](auto r) { return r.temperature > 18; });
  std::cout << "warm: " << warm.count() << ", mean pressure then: " << *warm.average([](auto r) { return r.pressure; }) << "\n";

  const query::columns_of<Reading> kept = warm.to_vectors();
  std::cout << kept.size() << " rows kept; the first is of station " << kept.get<0>().front() << "\n";

  // Which columns a query reads is in its plan.
  std::cout << warm.select([](auto r) { return r.pressure; }).explain();
}
