#include "gpu_engine/placement/division_costs.hpp"

#include <algorithm>

namespace query::gpu_engine {

namespace {

// A thread copies less while others compute, and waits for the bus now and then.
constexpr double among_others = 1.15;
// Of the time of both together: what they lose to each other in the cores and on the way to the host's memory. 0.22 to 0.47 of passes that
// compute something, beside an H200 (bench/results).
constexpr double in_each_others_way = 0.3;

// The same for next to no rows: what is left are waits.
work hardly_any(work w) {
  constexpr double part = 1e-9;
  for (double* x : {&w.up, &w.on_host, &w.down, &w.on_device, &w.for_device}) *x *= part;
  for (step& s : w.steps)
    for (double* x : {&s.rows, &s.bytes}) *x *= part;
  return w;
}

}  // namespace

runtime::part_costs division_costs(const rates& r, const work& w, const work& on_cpu, const std::string& device) {
  const work least = hardly_any(w);
  runtime::part_costs c;
  c.on = device;
  c.here.start = gpu_seconds(r, least);
  c.here.all_rows = std::max(gpu_seconds(r, w) - c.here.start, 1e-9);
  c.cpu.start = cpu_seconds(r, least);
  c.cpu.all_rows = std::max(cpu_seconds(r, on_cpu) - c.cpu.start, 1e-9);
  // Threads write what the device reads into pinned memory. They pick fields as fast as they copy what they pick from.
  if (r.up_thread > 0) c.host_threads = among_others * std::max(w.up, w.on_host) / r.up_thread / c.here.all_rows;
  c.host_memory = w.on_host / r.host_memory;
  c.merge = w.down / r.down;
  c.hindrance = in_each_others_way;
  return c;
}

}  // namespace query::gpu_engine
