// How a vertex's rows are divided over devices: contiguous ranges of rows in host memory, one a device; or the parts of rows
// that several devices have already.
//
//   const std::vector<share> shares = cut(v.inputs.front(), fields, gpus, context);   // empty: one device is enough
#pragma once

#include <utility>
#include <vector>

#include "gpu_engine/out_of_core/host_blocks.hpp"
#include "gpu_engine/several/gpu_set.hpp"
#include "gpu_engine/several/parted_rows.hpp"

namespace query::gpu_engine {

struct share {
  std::shared_ptr<gpu_session> gpu;
  host_block rows;                     // in host memory; rows.first is the number of the first in the source
  std::shared_ptr<device_rows> there;  // or where they lie: on this device
  std::uint64_t first = 0;
  // What it reads of other vertices in place of all of their rows.
  std::vector<std::pair<const planner::vertex*, std::shared_ptr<device_rows>>> instead{};
};

// What goes over the bus in less time than it takes to start a device's share and to put the results together.
inline constexpr std::size_t fewest_bytes_of_share = std::size_t{8} << 20;

// Over how many of `gpus` devices n rows are divided, of which so many bytes each are brought over.
std::size_t devices_for(std::uint64_t n, std::size_t bytes_a_row, std::size_t gpus, std::size_t share_rows);
// Bytes of the source's row that go over the bus where these fields are read.
std::size_t bytes_of_row(const ir::type* row, const std::vector<bool>& fields, bool columnar);

// How many of n rows each device gets whose rate is this: equal shares where rates are within a twentieth of each other, as those of one
// model are. Of unlike devices none waits for the slowest.
std::vector<std::size_t> rows_by_rate(std::size_t n, std::vector<double> rates);
// Rates of devices beside each other, from what the driver says of their memory and their multiprocessors.
std::vector<double> rates_of(const std::vector<std::shared_ptr<gpu_session>>& gpus);

// Always the same shares of the same rows over the same devices.
std::vector<share> cut(const planner::branch& b, const std::vector<bool>& fields, gpu_set& gpus, runtime::run_context& context);
// The same of a loop's vertex that reads rows in host memory: each device brings its share once, for all rounds. Empty where the devices
// have no room for them.
std::vector<share> cut_for_rounds(const planner::branch& b, const std::vector<bool>& fields, gpu_set& gpus,
                                  runtime::run_context& context);

}  // namespace query::gpu_engine
