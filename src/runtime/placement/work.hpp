// What work is, as it is counted for all engines: each tells what it would take of it (cost_model.hpp).
//
//   work w = {.on_host = 8e8, .steps = {{operation::row_wise, 1e8, 8e8, 5}}};
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace query::runtime {

// What costs differently. `row_wise` counts operations of expressions, `nearest` coordinates that are compared (rows times
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
  bool first_few = false;  // of an order: each row is looked at, few are sorted
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

}  // namespace query::runtime
