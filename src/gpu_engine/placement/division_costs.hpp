// What the GPU and the CPU of one machine would need for work whose rows may be divided among them.
#pragma once

#include <string>

#include "gpu_engine/placement/costs.hpp"

namespace query::gpu_engine {

// `on_cpu`: the same work as the CPU does it.
runtime::part_costs division_costs(const rates& r, const work& w, const work& on_cpu, const std::string& device);

}  // namespace query::gpu_engine
