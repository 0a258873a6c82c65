// Rows that several devices have, each sent to the device of its part: by the hash of a join's key, or by ranges of what order_by sorts by.
//
//   of[i] = apart_by_hash(...);                        // on each device, in a thread of its own
//   auto mine = part_of_all(of, j, gpu, context);      // then on each device: part j of all, in the order of the devices
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/several/share_runs.hpp"

namespace query::gpu_engine {

// Copied from the other devices. `of` keeps its rows until then. Throws out_of_memory.
std::shared_ptr<device_rows> part_of_all(const std::vector<rows_apart>& of, std::size_t part, const std::shared_ptr<gpu_session>& to,
                                         runtime::run_context& context);

// Are both sides of the branch's first join so large that to exchange them costs less than to copy the build side to all devices?
bool exchanges_join(const planner::branch& b, const std::vector<share>& shares, const gpu_set& gpus, const runtime::run_context& context);
// The shares with the rows whose keys' hash says so, and the build side's rows of these keys beside them. Throws out_of_memory.
std::vector<share> exchanged_for_join(const planner::branch& b, std::vector<share> shares, gpu_set& gpus, runtime::run_context& context);

// order_by, all of it: each device gets a range of the keys, and sorts it. Nothing, and nothing was done, where the devices have no room
// for the copies that this takes.
std::optional<std::vector<block_results>> sort_by_ranges(const planner::vertex& w, const std::vector<bool>& fields, share_runs& runs,
                                                         gpu_set& gpus, runtime::run_context& context);

}  // namespace query::gpu_engine
