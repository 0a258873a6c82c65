// as_accelerated() permits a GPU: the queries of examples/flights, unchanged, over rows that stay in device memory. Without a GPU
// they run on the CPU. Each query is run several times: the first runs may compile kernels, or be left to the CPU until compiling pays.
//
//   ./run accelerated_flights [times that the year is repeated, 1 by default]
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>

#include "example_data.hpp"
#include "flights/flights_queries.hpp"

namespace {

using namespace flights;

template <class F> double milliseconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// `ask(q)` is the question, asked of the flights there and of those here. False if the answers have not as many rows.
template <class Ask> bool compare(const char* title, const query::Query<Flight>& there, const query::Query<Flight>& here, Ask ask) {
  const auto q = ask(there);
  const double first = milliseconds([&] { (void)q.to_vector(); });
  std::size_t rows = 0;
  double again = first;
  for (int i = 0; i < 3; ++i) again = std::min(again, milliseconds([&] { rows = q.to_vector().size(); }));
  std::size_t steps = 0;
  const std::string plan = q.explain();
  for (std::size_t at = 0; (at = plan.find("  gpu: ", at)) != std::string::npos; ++at) ++steps;
  std::size_t rows_here = 0;
  const double cpu = milliseconds([&] { rows_here = ask(here).to_vector().size(); });
  std::cout << std::setw(44) << std::left << title << std::right << std::setw(10) << first << std::setw(10) << again << std::setw(10) << cpu
            << std::setw(8) << rows << std::setw(8) << steps << (rows == rows_here ? "" : "  DIFFERENT NUMBER OF ROWS") << std::endl;
  return rows == rows_here;
}

}  // namespace

int main(int argc, char** argv) {
  std::cout << std::fixed << std::setprecision(1);
  const int times = argc > 1 ? std::stoi(argv[1]) : 1;
  const std::vector<Flight> year = query::read_csv<Flight>(example_data("flights.csv")).to_vector();
  std::vector<Flight> rows;
  rows.reserve(year.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) rows.insert(rows.end(), year.begin(), year.end());
  const std::vector<Airline> airlines = query::read_csv<Airline>(example_data("airlines.csv")).to_vector();
  const std::vector<Airport> airports = query::read_csv<Airport>(example_data("airports.csv")).to_vector();
  const std::vector<Plane> fleet = query::read_csv<Plane>(example_data("planes.csv")).to_vector();
  const std::vector<Weather> hours = query::read_csv<Weather>(example_data("weather.csv")).to_vector();

  const query::Query<Flight> here = query::from(rows), there = here.as_accelerated().cached();
  const std::string missing = query::Session::standard().gpu_status();
  std::cout << rows.size() << " flights; " << (missing.empty() ? "a GPU" : missing)
            << "; cached in " << milliseconds([&] { (void)there.count(); }) << " ms\n"
            << "milliseconds                                   first run      best       CPU    rows  steps on the GPU\n";
  bool same = true;
  same &= compare("(a) airlines by mean delay", there, here, [&](const auto& all) { return carriers(all, query::from(airlines)); });
  same &= compare("(b) routes", there, here, [&](const auto& all) { return routes(all, query::from(airports)); });
  same &= compare("(c) planes by miles", there, here, [&](const auto& all) { return planes(all, query::from(fleet)); });
  same &= compare("(d) JFK, delay over seven days", there, here, [&](const auto& all) { return moving_average(all, "JFK"); });
  same &= compare("(e) delay by wind", there, here, [&](const auto& all) { return wind(all, query::from(hours)); });
  same &= compare("(f) median and 90th percentile", there, here, [&](const auto& all) { return quantiles(all); });
  same &= compare("(g) busiest airline of each month", there, here, [&](const auto& all) { return busiest(all); });
  std::cout << "\nThe first three of (c):\n";
  planes(there, query::from(fleet)).take(3).print();
  std::cout << "\nWhere (c) runs:\n" << planes(there, query::from(fleet)).explain();
  return same ? 0 : 1;
}
