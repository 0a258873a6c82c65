// More rows than any memory holds, aggregated on one GPU: numbers are made there block by block, and one table of groups stays. What it
// takes of memory does not depend on how many rows there are. Without a GPU it runs on the CPU. What comes out is compared with what is
// known of such numbers.
//
//   ./run accelerated_stream [gigabytes of rows, 0.1 by default]
#include <chrono>
#include <iostream>

#include <query/query.hpp>

#include "same_rows.hpp"

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

// Times an odd number, the lowest 22 bits of consecutive numbers come in another order, each once: ten bits of sensor, twelve of value.
constexpr std::uint64_t period = std::uint64_t{1} << 22, sensors_there = 1024, values = 4096;

int main(int argc, char** argv) {
  const double gigabytes = argc > 1 ? std::stod(argv[1]) : 0.1;
  const std::uint64_t rows = (static_cast<std::uint64_t>(gigabytes * 1e9 / sizeof(Reading)) + period - 1) / period * period;
  query::Session session({.gpu_memory = std::size_t{2} << 30});  // of the device's memory, at most
  const auto sensors =
      query::range(std::uint64_t{0}, rows)
          .as_accelerated()
          .in(session)
          .select([](auto i) {
            const auto x = i * 0x9E3779B97F4A7C15u;
            return query::make<Reading>(x & (sensors_there - 1), query::cast<double>(x >> 10u & (values - 1)) * 0.25);
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
  const double made = static_cast<double>(rows) * sizeof(Reading) / 1e9;
  std::cout << "\n" << rows << " rows, " << made << " GB, of " << found.size() << " sensors in " << seconds << " s, " << made / seconds
            << " GB/s; host memory at most " << session.memory_peak() / 1024 << " KiB\n";
  const auto by_id = query::from(found).order_by([](auto s) { return s.id; });
  by_id.take(3).print();

  // Every sensor has each of the values as often.
  std::vector<Sensor> wanted;
  for (std::uint64_t id = 0; id < sensors_there; ++id)
    wanted.push_back({id, static_cast<std::int64_t>(rows / sensors_there), (values - 1) * 0.25 / 2, (values - 1) * 0.25});
  const bool same = same_rows(by_id.to_vector(), wanted);
  if (!same) std::cout << "These are not the sensors' figures.\n";
  // Of few rows, the plan says that compiling for the GPU would take longer than the CPU does with them.
  const std::string plan = sensors.explain();
  std::cout << plan;
  const bool few = plan.find(" to compile it, ") != std::string::npos;
  const bool left = session.gpu_status().empty() && steps_on_gpu(plan) == 0 && !few;
  if (left) std::cout << "There is a GPU, and nothing ran on it.\n";
  if (few) std::cout << "These rows are too few for a GPU: run it with more gigabytes.\n";
  return same && !left ? 0 : 1;
}
