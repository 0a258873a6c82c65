// What the functions of a branch compute for a row, told apart by what the CPU takes for them: the compiler's vector loops do a dozen
// products in the time of a quotient, and a hundred in that of a logarithm. On the GPU all that hides behind the bus.
//
//   if (const auto e = row_expressions_of(branch)) seconds = rows * seconds_a_row(rates, *e);
#pragma once

#include <optional>

#include "gpu_engine/placement/costs.hpp"
#include "planner/machine_graph.hpp"

namespace query::gpu_engine {

struct row_expressions {
  double plain = 0;      // sums, products, comparisons, conversions
  double quotients = 0;  // and remainders
  double roots = 0;
  double calls = 0;      // of exp, log, sin and the like
};

// Nothing where a function is opaque, or repeats its body: there nobody knows how often.
std::optional<row_expressions> row_expressions_of(const planner::branch& b);

// On the CPU, all threads at work.
double seconds_a_row(const rates& r, const row_expressions& e);
// The same work with these expressions in place of the operations counted alike.
work with_expressions(const rates& r, work w, const row_expressions& e);

}  // namespace query::gpu_engine
