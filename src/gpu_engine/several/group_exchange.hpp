// The groups of several devices put together: each device has groups of its own rows, and one key's may be on all of them.
//
//   runs.each([&](share_run& r) { ...take its rows...; ready_to_exchange(*streams[r.place()], runs.size()); }, gpus);
//   block_results groups = exchanged_groups(row, streams, runs, context);
#pragma once

#include <memory>
#include <vector>

#include "gpu_engine/out_of_core/group_stream.hpp"
#include "gpu_engine/out_of_core/out_of_core.hpp"
#include "gpu_engine/several/share_runs.hpp"

namespace query::gpu_engine {

// By the thread of the share, as soon as it has its groups: (key, state) pairs, put apart by device where they are many.
void ready_to_exchange(group_stream& groups, std::size_t shares);

// Few groups go to the first device, by copies between the devices. Of many each device gets those whose keys' hash says so, and
// keeps them: the result is in parts. Where a table of groups had to be spilled they meet in host memory. States are combined in
// the order of the shares.
block_results exchanged_groups(const ir::type* row, std::vector<std::unique_ptr<group_stream>>& streams, share_runs& runs,
                               runtime::run_context& context);

inline constexpr std::uint64_t most_groups_of_one = std::uint64_t{1} << 17;  // of all devices together

}  // namespace query::gpu_engine
