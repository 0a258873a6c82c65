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

#include "runtime/part_costs.hpp"

namespace query::gpu_engine {

// What costs differently on the CPU. `row_wise` counts operations of expressions, `nearest` coordinates that are compared (rows times
// elements times dimensions), `collect` bytes of the result, the others rows; `group_few` where groups are known to be so few that they
// stay in caches.
enum class operation : std::uint8_t { row_wise, collect, group, sort, join, distinct, nearest, group_few };
inline constexpr std::size_t operation_count = 8;
std::string_view name_of(operation o);

// Of one device, one host and a number of threads; calibration.hpp measures them.
struct rates {
  double up = 0, down = 0;       // bytes a second over the bus, from and to the host's plain memory
  double up_thread = 0;          // bytes a second to the device that one thread of the host feeds
  double device_memory = 0;      // bytes a second that kernels read and write
  double device_operations = 0;  // of expressions, a second
  double launch = 0;             // seconds from giving a kernel to the host's knowing that it ended
  double host_memory = 0;        // bytes a second that all threads read
  double plain_operation = 0;    // seconds of a sum or product in a loop of many, on the CPU, all threads at work
  double call = 0;               // seconds of a logarithm there
  double start = 0;              // seconds of a query of few rows on the CPU
  double threads = 1;            // of the CPU, that shared the rows whose rates these are
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
  double result = 0;      // bytes, of collect
  double parts = 0;       // rows that threads of the CPU share, if these are others than `rows`
};
struct work {
  double up = 0;           // bytes that must cross to the device
  double on_host = 0;      // bytes of the host's rows that these are picked from
  double down = 0;         // bytes of the result that the host reads
  double on_device = 0;    // bytes that lie on the device: the CPU would fetch them
  std::vector<step> steps;
  double for_device = 0;   // bytes of tables that the CPU would not make for itself, and writes or reads once more
  double one_thread = 0;   // bytes that a function of the user's reads and writes, on the CPU in one thread
};

// `waits`: the part of the usual waits between kernels that is left, where they are launched as one graph. `devices`: so many have equal
// shares of the rows, each on a bus of its own.
double gpu_seconds(const rates& r, const work& w, double waits = 1, std::size_t devices = 1);
double cpu_seconds(const rates& r, const work& w);

double operations_in(const work& w);  // of expressions and searches, on the CPU

using runtime::shown_seconds;

}  // namespace query::gpu_engine
