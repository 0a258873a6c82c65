// What several devices gave, put together in the order of their shares.
//
//   std::vector<block_results> of(runs.size());
//   runs.each([&](share_run& r) { of[r.place()] = ...; }, gpus);
//   return results_in_order(row, std::move(of), context);
#pragma once

#include <vector>

#include "gpu_engine/out_of_core/out_of_core.hpp"

namespace query::gpu_engine {

// Parts on their devices, or, where some did not fit, tables.
block_results results_in_order(const ir::type* row, std::vector<block_results> of_shares, runtime::run_context& context);

}  // namespace query::gpu_engine
