// What work costs on the GPU and on the CPU of one machine: measured rates, an amount of work, and two times to compare.
//
// Between vertex_work, which says what a vertex has to do, and the engine, which takes the vertex or leaves it to the CPU.
//
//   work w = {.up = 8e8, .steps = {{operation::row_wise, 1e8, 8e8, 5}}};
//   if (gpu_seconds(r, w) <= cpu_seconds(r, w)) ...
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace query::gpu_engine {

// What costs differently on the CPU. `row_wise` counts operations of expressions, the others rows.
enum class operation : std::uint8_t { row_wise, collect, group, sort, join, distinct };
inline constexpr std::size_t operation_count = 6;
std::string_view name_of(operation o);

// Of one device, one host and a number of threads; calibration.hpp measures them.
struct rates {
  double up = 0, down = 0;       // bytes a second over the bus, from and to the host's plain memory
  double device_memory = 0;      // bytes a second that kernels read and write
  double device_operations = 0;  // of expressions, a second
  double launch = 0;             // seconds from giving a kernel to the host's knowing that it ended
  double host_memory = 0;        // bytes a second that all threads read
  double start = 0;              // seconds of a query of few rows on the CPU
  std::array<double, operation_count> row{};  // seconds on the CPU, all threads at work: of an operation, of a row

  bool sensible() const;  // all are positive and finite
};
// As a file holds them: a name and a number a line. Nothing where one is missing or makes no sense.
std::string text_of(const rates& r);
std::optional<rates> rates_from(std::string_view text);

// One thing done to many rows.
struct step {
  operation what = operation::row_wise;
  double rows = 0;
  double bytes = 0;       // read and written once
  double operations = 0;  // of expressions, a row
};
struct work {
  double up = 0;           // bytes that must cross to the device
  double gathered = 0;     // bytes of the host's rows that these are picked from
  double down = 0;         // bytes of the result that the host reads
  double on_device = 0;    // bytes that lie on the device: the CPU would fetch them
  std::vector<step> steps;
};

// `devices`: so many have equal shares of the rows, each on a bus of its own.
double gpu_seconds(const rates& r, const work& w, std::size_t devices = 1);
double cpu_seconds(const rates& r, const work& w);

std::string shown_seconds(double s);  // "850 us", "1.2 ms", "12 ms", "3.4 s"

}  // namespace query::gpu_engine
