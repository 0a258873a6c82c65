// One vertex on several devices at once: each works on its share of the rows, in a thread of its own, and what they
// give is put together in the order of the shares.
//
//   row-wise work, cached   parts that stay where they are (parted_rows), or tables in host memory
//   joins                   the probe side in shares; the build side is copied to each device
//   folds                   a state a device, in order
//   group_by                a table of groups a device; its groups go to one device, or each device gets those of its keys
//   order_by, top           a sorted run a device, merged in host memory
//
// A device that fails or is full loses its share to another.
//
//   if (auto r = run_on_several(v, gpus, context)) give(std::move(r->results));
#pragma once

#include <optional>
#include <string>

#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/several/shares.hpp"

namespace query::gpu_engine {

// Has the vertex a form over shares of its rows, as far as the plan says?
bool divides(const planner::vertex& v);
// Over how many devices its rows are expected to be divided: 1 where it does not, or where they are few.
std::size_t planned_devices(const planner::vertex& v, const gpu_set& gpus);
// Why one device runs it, for explain(); "" where there is no other. Called with what runs on the GPU.
std::string why_on_one(const planner::vertex& v, const gpu_set& gpus);

struct several_results {
  block_results results;
  std::vector<hash128> compiled;  // programs of the first share
};
// Do several devices run this vertex of a loop, in each of its rounds? Rounds are then not repeated as one device's.
bool shares_rounds(const planner::vertex& v, gpu_set& gpus, const runtime::run_context& context);

// Nothing where one device is to run it: nothing was done then. Throws what a row throws; resource_error where the shares' results
// could not be put together.
std::optional<several_results> run_on_several(const planner::vertex& v, gpu_set& gpus, runtime::run_context& context);

// The verb that stands for a branch, or for a vertex, in what is remembered of its runs.
const detail::logical* verb_of(const planner::branch& b);
inline const detail::logical* verb_of(const planner::vertex& v) {
  return v.node || v.inputs.empty() ? v.node : verb_of(v.inputs.front());
}

}  // namespace query::gpu_engine
