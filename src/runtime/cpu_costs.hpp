// What the CPU engine expects work to take: its rates, and what it tells apart in expressions.
//
//   const host_rates r = measured_host(threads);
//   session.cpu->expects([r] { return &r; });
//   const double seconds = session.cpu->costs()->seconds(w);
#pragma once

#include <array>
#include <optional>

#include "planner/machine_graph.hpp"
#include "runtime/placement/work.hpp"

namespace query::runtime {

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
// Nothing where a function is opaque, or repeats its body: nobody knows how often.
std::optional<row_expressions> row_expressions_of(const planner::branch& b);
double seconds_a_row(const host_rates& r, const row_expressions& e);

}  // namespace query::runtime
