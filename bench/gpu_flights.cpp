// The questions of examples/flights by the library's choice and by the CPU, in one process, runs in turn: medians, and how far they
// spread. Rows of the choice are cached(), those of the CPU lie in a vector.
//
//   gpu_flights FOLDER [times that the year is repeated, 10] [seconds in all, 50]     FOLDER: flights.csv and the others, unpacked
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "flights/flights_queries.hpp"

namespace {

using namespace flights;

double ms_of(const auto& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

struct spread {
  std::vector<double> ms;
  double at(double part) {
    std::sort(ms.begin(), ms.end());
    return ms[static_cast<std::size_t>(part * static_cast<double>(ms.size() - 1))];
  }
};

// `ask(q)` is the question, asked of the flights there and of those here.
template <class Ask>
void compare(const char* title, const query::Query<Flight>& there, const query::Query<Flight>& here, double seconds, const Ask& ask) {
  const auto chosen = ask(there), cpu = ask(here);
  std::size_t rows = 0, rows_here = 0;
  const double first = ms_of([&] { rows = chosen.to_vector().size(); });
  // The choice may change while kernels become worth compiling.
  double spent = first;
  for (int i = 0; i < 6 && spent < seconds * 300; ++i) spent += ms_of([&] { (void)chosen.to_vector(); });
  spent += ms_of([&] { rows_here = cpu.to_vector().size(); });
  spread a, b;
  while (a.ms.size() < 3 || (a.ms.size() < 21 && spent < seconds * 1e3)) {
    a.ms.push_back(ms_of([&] { (void)chosen.to_vector(); }));
    b.ms.push_back(ms_of([&] { (void)cpu.to_vector(); }));
    spent += a.ms.back() + b.ms.back();
  }
  std::size_t steps = 0;
  const std::string plan = chosen.explain();
  for (std::size_t at = 0; (at = plan.find("  gpu: ", at)) != std::string::npos; ++at) ++steps;
  std::printf("%-32s %9.1f %9.2f (%.2f - %.2f) %9.2f (%.2f - %.2f) %7.2f %5zu %7zu %6zu%s\n", title, first, a.at(0.5), a.at(0), a.at(1),
              b.at(0.5), b.at(0), b.at(1), b.at(0.5) / a.at(0.5), a.ms.size(), rows, steps,
              rows == rows_here ? "" : "  DIFFERENT NUMBER OF ROWS");
  for (std::size_t at = 0; (at = plan.find("last run went to the cpu", at)) != std::string::npos; ++at)
    std::printf("  FELL BACK: %s\n", plan.substr(at, plan.find('\n', at) - at).c_str());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::printf("gpu_flights FOLDER [times that the year is repeated] [seconds]\n");
    return 2;
  }
  const std::string folder = std::string(argv[1]) + "/";
  const int times = argc > 2 ? std::atoi(argv[2]) : 10;
  const double seconds = (argc > 3 ? std::atof(argv[3]) : 50) / 7;
  const std::string missing = query::Session::standard().gpu_status();
  if (!missing.empty()) std::printf("NO GPU, BOTH RUN ON THE CPU: %s\n", missing.c_str());
  const std::vector<Flight> year = query::read_csv<Flight>(folder + "flights.csv").to_vector();
  std::vector<Flight> rows;
  rows.reserve(year.size() * static_cast<std::size_t>(times));
  for (int i = 0; i < times; ++i) rows.insert(rows.end(), year.begin(), year.end());
  const std::vector<Airline> airlines = query::read_csv<Airline>(folder + "airlines.csv").to_vector();
  const std::vector<Airport> airports = query::read_csv<Airport>(folder + "airports.csv").to_vector();
  const std::vector<Plane> fleet = query::read_csv<Plane>(folder + "planes.csv").to_vector();
  const std::vector<Weather> hours = query::read_csv<Weather>(folder + "weather.csv").to_vector();

  const query::Query<Flight> here = query::from(rows), there = here.as_accelerated().cached();
  std::printf("%zu flights, %d threads; cached in %.0f ms\n", rows.size(), query::Session::standard().threads(),
              ms_of([&] { (void)there.count(); }));
  std::printf(
      "milliseconds                     first run    chosen (least - most)       CPU (least - most) CPU / chosen, runs, rows, steps on the "
      "GPU\n");
  const auto ask = [&](const char* title, const auto& question) { compare(title, there, here, seconds, question); };
  ask("(a) airlines by mean delay", [&](const auto& all) { return carriers(all, query::from(airlines)); });
  ask("(b) routes", [&](const auto& all) { return routes(all, query::from(airports)); });
  ask("(c) planes by miles", [&](const auto& all) { return planes(all, query::from(fleet)); });
  ask("(d) JFK, delay over seven days", [&](const auto& all) { return moving_average(all, "JFK"); });
  ask("(e) delay by wind", [&](const auto& all) { return wind(all, query::from(hours)); });
  ask("(f) median and 90th percentile", [&](const auto& all) { return quantiles(all); });
  ask("(g) busiest airline of each month", [&](const auto& all) { return busiest(all); });
}
