// More rows than any memory holds, aggregated on one GPU: numbers are made there block by block, and one table of groups stays. What it
// takes of memory does not depend on how many rows there are. Without a GPU it runs on the CPU.
//
//   ./run accelerated_stream [gigabytes of rows, 0.1 by default]
#include <chrono>
#include <iostream>

#include <query/query.hpp>

struct Reading {
  std::uint64_t sensor;
  double value;
};
struct Sensor {
  std::uint64_t id;
  std::int64_t readings;
  double mean, highest;
};
QUERY_RECORD(Reading, sensor, value);
QUERY_RECORD(Sensor, id, readings, mean, highest);

int main(int argc, char** argv) {
  const double gigabytes = argc > 1 ? std::stod(argv[1]) : 0.1;
  const auto rows = static_cast<std::uint64_t>(gigabytes * 1e9 / sizeof(Reading));
  query::Session session({.gpu_memory = std::size_t{2} << 30});  // of the device's memory, at most
  const auto sensors =
      query::range(std::uint64_t{0}, rows)
          .as_accelerated()
          .in(session)
          .select([](auto i) {
            const auto x = i * 0x9E3779B97F4A7C15u;
            return query::make<Reading>(x >> 54u, query::cast<double>(x >> 20u & 0xFFFFu) * 0.01);
          })
          .group_by([](auto r) { return r.sensor; })
          .select([](auto g) {
            const auto value = [](auto r) { return r.value; };
            return query::make<Sensor>(g.key(), g.count(), g.mean(value), g.max(value));
          });
  const auto start = std::chrono::steady_clock::now();
  const auto show = [](double fraction) { std::cerr << "\r" << static_cast<int>(100 * fraction) << " %"; };
  const auto found = sensors.on_progress(show).to_vector();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::int64_t counted = 0;
  for (const Sensor& s : found) counted += s.readings;
  std::cout << "\n" << counted << " rows, " << gigabytes << " GB, of " << found.size() << " sensors in " << seconds << " s, "
            << gigabytes / seconds << " GB/s; host memory at most " << session.memory_peak() / 1024 << " KiB\n";
  query::from(found).order_by([](auto s) { return s.id; }).take(3).print();
  std::cout << sensors.explain();
  return counted == static_cast<std::int64_t>(rows) ? 0 : 1;
}
