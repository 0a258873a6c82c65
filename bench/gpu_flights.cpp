// The questions of examples/flights by the library's choice, by the CPU, and by the GPU wherever it can (a session with gpu_min_rows = 0),
// in one process, runs in turn: medians, how far they spread, and what the choice takes beside the better of the two others. Rows of the
// choice and of the GPU are cached(), those of the CPU lie in a vector.
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

std::size_t times_in(const std::string& plan, const char* text) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = plan.find(text, at)) != std::string::npos; ++at) ++n;
  return n;
}

// The same flights, cached for the choice and for the GPU, and in a vector.
struct flights_of {
  query::Query<Flight> chosen, gpu, cpu;
};

// `ask(q)` is the question. Gives how many times as long as the better of the others the choice took.
template <class Ask> double compare(const char* title, const flights_of& all, double seconds, const Ask& ask) {
  const auto chosen = ask(all.chosen), gpu = ask(all.gpu), cpu = ask(all.cpu);
  std::size_t rows = 0, rows_there = 0, rows_here = 0;
  const double first = ms_of([&] { rows = chosen.to_vector().size(); });
  // The choice may change while kernels become worth compiling.
  double spent = first;
  for (int i = 0; i < 6 && spent < seconds * 300; ++i) spent += ms_of([&] { (void)chosen.to_vector(); });
  for (int i = 0; i < 2; ++i) spent += ms_of([&] { rows_there = gpu.to_vector().size(); });
  spent += ms_of([&] { rows_here = cpu.to_vector().size(); });
  spread of_choice, of_gpu, of_cpu;
  while (of_choice.ms.size() < 3 || (of_choice.ms.size() < 21 && spent < seconds * 1e3)) {
    of_choice.ms.push_back(ms_of([&] { (void)chosen.to_vector(); }));
    of_gpu.ms.push_back(ms_of([&] { (void)gpu.to_vector(); }));
    of_cpu.ms.push_back(ms_of([&] { (void)cpu.to_vector(); }));
    spent += of_choice.ms.back() + of_gpu.ms.back() + of_cpu.ms.back();
  }
  const double better = std::min(of_gpu.at(0.5), of_cpu.at(0.5)), ratio = of_choice.at(0.5) / better;
  const auto print = [](spread& s) { std::printf(" %9.2f (%.2f - %.2f)", s.at(0.5), s.at(0), s.at(1)); };
  std::printf("%-32s %9.1f", title, first);
  print(of_choice), print(of_gpu), print(of_cpu);
  const std::string plan = chosen.explain(), forced = gpu.explain();
  std::printf(" %7.2f %7.2f %5zu %7zu %3zu of %zu%s\n", of_cpu.at(0.5) / of_choice.at(0.5), ratio, of_choice.ms.size(), rows,
              times_in(plan, "  gpu: "), times_in(forced, "  gpu: "),
              rows == rows_here && rows == rows_there ? "" : "  DIFFERENT NUMBER OF ROWS");
  for (const std::string* p : {&plan, &forced})
    for (std::size_t at = 0; (at = p->find("last run went to the cpu", at)) != std::string::npos; ++at)
      std::printf("  FELL BACK%s: %s\n", p == &plan ? "" : ", of the GPU alone", p->substr(at, p->find('\n', at) - at).c_str());
  std::fflush(stdout);
  return ratio;
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

  query::Session forced({.gpu_min_rows = 0});
  const query::Query<Flight> here = query::from(rows);
  const flights_of all{here.as_accelerated().cached(), here.as_accelerated().in(forced).cached(), here};
  const double once = ms_of([&] { (void)all.chosen.count(); }), again = ms_of([&] { (void)all.gpu.count(); });
  std::printf("%zu flights, %d threads; cached in %.0f ms, and once more for the GPU alone in %.0f ms\n", rows.size(),
              query::Session::standard().threads(), once, again);
  std::printf("milliseconds                     first run    chosen (least - most)       GPU (least - most)       CPU (least - most) "
              "CPU / chosen, chosen / better of both, runs, rows, steps on the GPU of those that can be\n");
  double most = 0;
  int behind = 0, asked = 0;
  const auto ask = [&](const char* title, const auto& question) {
    const double ratio = compare(title, all, seconds, question);
    most = std::max(most, ratio);
    behind += ratio > 1.1;
    ++asked;
  };
  ask("(a) airlines by mean delay", [&](const auto& q) { return carriers(q, query::from(airlines)); });
  ask("(b) routes", [&](const auto& q) { return routes(q, query::from(airports)); });
  ask("(c) planes by miles", [&](const auto& q) { return planes(q, query::from(fleet)); });
  ask("(d) JFK, delay over seven days", [&](const auto& q) { return moving_average(q, "JFK"); });
  ask("(e) delay by wind", [&](const auto& q) { return wind(q, query::from(hours)); });
  ask("(f) median and 90th percentile", [&](const auto& q) { return quantiles(q); });
  ask("(g) busiest airline of each month", [&](const auto& q) { return busiest(q); });
  std::printf("the choice took more than 1.1 times as long as the better of both for %d of %d questions, %.2f times at most\n", behind,
              asked, most);
}
