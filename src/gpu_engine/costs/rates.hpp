// What a GPU does with a host, and what work costs it by that.
//
//   work w = {.up = 8e8, .steps = {{operation::row_wise, 1e8, 8e8, 5}}};
//   const double seconds = gpu_seconds(r, w);
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/cpu_costs.hpp"

namespace query::gpu_engine {

using runtime::operation, runtime::operation_count, runtime::step, runtime::work;
std::string_view name_of(operation o);

// Of one device, one host and a number of threads; calibration.hpp measures them.
struct rates : runtime::host_rates {
  double up = 0, down = 0;       // bytes a second over the bus, from and to the host's plain memory
  double up_thread = 0;          // bytes a second to the device that one thread of the host feeds
  double device_memory = 0;      // bytes a second that kernels read and write
  double device_operations = 0;  // of expressions, a second
  double launch = 0;             // seconds from giving a kernel to the host's knowing that it ended

  bool sensible() const;  // all are positive and finite
};
// As a file holds them: a name and a number a line. Nothing where one is missing or makes no sense.
std::string text_of(const rates& r);
std::optional<rates> rates_from(std::string_view text);

// `waits`: the part of the usual waits between kernels that is left, where they are launched as one graph. `devices`: so many have equal
// shares of the rows, each on a bus of its own.
double gpu_seconds(const rates& r, const work& w, double waits = 1, std::size_t devices = 1);

}  // namespace query::gpu_engine
