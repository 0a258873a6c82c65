// Seven questions about all flights that left New York City in 2013, read from CSV: group, join, top-k, window, quantiles.
//
//   ./run flights
#include <chrono>
#include <iomanip>
#include <iostream>

#include "../example_data.hpp"
#include "flights_queries.hpp"

namespace {

template <class T> void show(const char* title, const query::Query<T>& q, std::size_t rows = 10) {
  const auto start = std::chrono::steady_clock::now();
  const std::string table = query::from(q.to_vector()).table(rows);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << "\n" << title << " (" << took.count() << " ms)\n" << table;
}

}  // namespace

int main() {
  std::cout << std::fixed << std::setprecision(1);
  using namespace flights;

  // The first query parses the file; `rows` keeps the flights, the other queries read them.
  const auto start = std::chrono::steady_clock::now();
  const std::vector<Flight> rows = query::read_csv<Flight>(example_data("flights.csv")).to_vector();
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  std::cout << rows.size() << " flights read in " << took.count() << " ms\n";

  const query::Query<Flight> all = query::from(rows);
  const auto airlines = query::read_csv<Airline>(example_data("airlines.csv"));
  const auto airports = query::read_csv<Airport>(example_data("airports.csv"));
  const auto fleet = query::read_csv<Plane>(example_data("planes.csv"));
  const auto weather = query::read_csv<Weather>(example_data("weather.csv"));

  show("(a) airlines by mean delay at arrival", carriers(all, airlines), 16);
  const query::Query<RouteRow> by_route = routes(all, airports);
  show<RouteRow>("(b) the ten routes with the most flights", by_route.take(10));
  show<RouteRow>("    routes to airports that the list lacks", by_route.where([](auto r) { return !r.dest_name.has_value(); }));
  show<PlaneRow>("(c) the five planes that flew farthest", planes(all, fleet).take(5));
  show("(d) JFK: mean delay at departure over seven days", moving_average(all, "JFK"), 7);
  show("(e) delay at departure by wind speed, bands of 5 mph", wind(all, weather));
  show("(f) median and 90th percentile of the delay at departure", quantiles(all));
  show("(g) the busiest airline of each month", busiest(all), 12);

  // The same query straight from the file: only the columns that it uses are parsed.
  std::cout << "\nThe plan of (c), read from the file:\n"
            << planes(query::read_csv<Flight>(example_data("flights.csv")), fleet).take(5).explain();
}
