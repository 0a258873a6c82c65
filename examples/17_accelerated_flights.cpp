// as_accelerated() permits a GPU: the queries of examples/flights, unchanged, over rows that stay in device memory. Without a GPU
// they run on the CPU. Each query is run several times: the first runs may compile kernels, or be left to the CPU until compiling pays.
// The rows of each are compared with the CPU's.
//
//   ./run accelerated_flights [times that the year is repeated, 1 by default]
#include <algorithm>
#include <chrono>
#include <iomanip>
#include <iostream>

#include "example_data.hpp"
#include "flights/flights_queries.hpp"
#include "same_rows.hpp"

namespace {

using namespace flights;

template <class F> double milliseconds(F f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

// What becomes of all questions.
bool same = true;
int steps_there = 0;

// `ask(q)` is the question, asked of the flights there and of those here.
template <class Ask> void compare(const char* title, const query::Query<Flight>& there, const query::Query<Flight>& here, Ask ask) {
  const auto q = ask(there);
  decltype(q.to_vector()) rows, wanted;
  const double first = milliseconds([&] { rows = q.to_vector(); });
  double again = first;
  for (int i = 0; i < 3; ++i) again = std::min(again, milliseconds([&] { rows = q.to_vector(); }));
  const int steps = steps_on_gpu(q.explain());
  const double cpu = milliseconds([&] { wanted = ask(here).to_vector(); });
  const bool equal = same_rows(rows, wanted);
  std::cout << std::setw(44) << std::left << title << std::right << std::setw(10) << first << std::setw(10) << again << std::setw(10) << cpu
            << std::setw(8) << rows.size() << std::setw(8) << steps << (equal ? "" : "  NOT THE CPU'S ROWS") << std::endl;
  same = same && equal;
  steps_there += steps;
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
  compare("(a) airlines by mean delay", there, here, [&](const auto& all) { return carriers(all, query::from(airlines)); });
  compare("(b) routes", there, here, [&](const auto& all) { return routes(all, query::from(airports)); });
  compare("(c) planes by miles", there, here, [&](const auto& all) { return planes(all, query::from(fleet)); });
  compare("(d) JFK, delay over seven days", there, here, [&](const auto& all) { return moving_average(all, "JFK"); });
  compare("(e) delay by wind", there, here, [&](const auto& all) { return wind(all, query::from(hours)); });
  compare("(f) median and 90th percentile", there, here, [&](const auto& all) { return quantiles(all); });
  compare("(g) busiest airline of each month", there, here, [&](const auto& all) { return busiest(all); });
  std::cout << "\nThe first three of (c):\n";
  planes(there, query::from(fleet)).take(3).print();
  std::cout << "\nWhere (c) runs:\n" << planes(there, query::from(fleet)).explain();
  if (missing.empty() && steps_there == 0) std::cout << "There is a GPU, and nothing ran on it.\n";
  return same && (!missing.empty() || steps_there > 0) ? 0 : 1;
}
