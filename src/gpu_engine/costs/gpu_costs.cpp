#include "gpu_engine/costs/gpu_costs.hpp"

#include <algorithm>

#include "gpu_engine/codegen/nearest_search.hpp"
#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

namespace {

// From the third round on kernels are launched as one graph: what is left of the waits between them.
constexpr double waits_of_a_graph = 0.15;
// A thread copies less while others compute, and waits for the bus now and then.
constexpr double among_others = 1.15;
// Of the time of both together: what they lose to each other in the cores and on the way to the host's memory. 0.22 to 0.47 of passes that
// compute something, beside an H200 (bench/results).
constexpr double in_each_others_way = 0.3;

double waits_left(bool repeated) { return repeated ? waits_of_a_graph : 1; }

}  // namespace

double gpu_costs::seconds(const work& w, const runtime::work_terms& terms) const {
  return gpu_seconds(*rates_(), w, waits_left(terms.repeated), terms.devices);
}

double gpu_costs::wait(bool repeated) const { return rates_()->launch * waits_left(repeated); }

runtime::missing_code gpu_costs::to_compile(const planner::vertex& v, const work& w) const {
  return kernels_.missing(&v, seconds_to_compile(w));
}

void gpu_costs::beside_cpu(const work& w, runtime::part_costs& c) const {
  const rates& r = *rates_();
  // Threads write what the device reads into pinned memory. They pick fields as fast as they copy what they pick from.
  if (r.up_thread > 0) c.host_threads = among_others * std::max(w.up, w.on_host) / r.up_thread / c.here.all_rows;
  c.host_memory = w.on_host / r.host_memory;
  c.merge = w.down / r.down;
  c.hindrance = in_each_others_way;
}

std::optional<runtime::nearest_work> gpu_costs::search(const planner::branch& b, const detail::logical* keyed) const {
  try {
    kernel_source k;
    const ir::type* row = source_row(b);
    const auto found = find_nearest(k, b, {row, field_columns(row)}, keyed);
    if (!found) return std::nullopt;
    return runtime::nearest_work{found->search.slot, static_cast<double>(found->search.dims), found->function, found->arg_min};
  } catch (const not_generated&) {
    return std::nullopt;  // a field that nobody reads may have no form on the device
  }
}

}  // namespace query::gpu_engine
