// What work is, as all engines count it, and what the CPU engine expects it to take: the measure that other engines are held against.
//
// Between an engine that judges how much work a vertex is, and the planner's choice of where it runs.
//
//   const host_rates r = measured_host(threads);
//   work w = {.on_host = 8e8, .steps = {{operation::row_wise, 1e8, 8e8, 5}}};
//   const double seconds = cpu_seconds(r, w);
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/machine_graph.hpp"

namespace query::runtime {

// What costs differently on the CPU. `row_wise` counts operations of expressions, `nearest` coordinates that are compared (rows times
// elements times dimensions), `collect` bytes of the result, the others rows; `group_few` where groups are known to be so few that they
// stay in caches.
enum class operation : std::uint8_t { row_wise, collect, group, sort, join, distinct, nearest, group_few };
inline constexpr std::size_t operation_count = 8;

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

// What one host does with a number of threads.
struct host_rates {
  double host_memory = 0;      // bytes a second that all threads read
  double plain_operation = 0;  // seconds of a sum or product in a loop of many, all threads at work
  double call = 0;             // seconds of a logarithm there
  double start = 0;            // seconds of a query of few rows
  double threads = 1;          // that shared the rows whose rates these are
  std::array<double, operation_count> row{};  // seconds with all threads at work: of an operation, of a row
};

// What the functions of a branch compute for a row, told apart by what the CPU takes for them: the compiler's vector loops do a dozen
// products in the time of a quotient, and a hundred in that of a logarithm.
struct row_expressions {
  double plain = 0;      // sums, products, comparisons, conversions
  double quotients = 0;  // and remainders
  double roots = 0;
  double calls = 0;      // of exp, log, sin and the like
};

// Defined by src/cpu_engine.
host_rates measured_host(int threads);  // takes a second or two
double cpu_seconds(const host_rates& r, const work& w);  // of rows in host memory
// Nothing where a function is opaque, or repeats its body: nobody knows how often.
std::optional<row_expressions> row_expressions_of(const planner::branch& b);
double seconds_a_row(const host_rates& r, const row_expressions& e);
// The same work with these expressions in place of the operations counted alike.
work with_expressions(const host_rates& r, work w, const row_expressions& e);

}  // namespace query::runtime
