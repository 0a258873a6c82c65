// Copies between the memories of two devices: directly where the machine has a way (NVLink, a common switch), staged by the
// driver where it has none.
//
//   allow_peers(devices);                                        // once
//   peer_copy(to.on(), at, from.on(), what, bytes, s);            // s: a stream of `to`
#pragma once

#include <memory>
#include <vector>

#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

// Opens each device's memory pool to the devices that can reach it. Where that fails the driver stages copies.
void allow_peers(const std::vector<const device*>& devices);

// Gives the copy to a stream of the device `to`. What was given to other streams of `from` has ended; `from` keeps the bytes until
// the stream is done.
void peer_copy(const device& to, device_address at, const device& from, device_address what, std::size_t bytes, const stream& s);

// The rows on another device, one part behind the other; null where that is not to be had by copies (rows that own memory, parts
// of different columns). Returns when they are there. Throws out_of_memory.
std::shared_ptr<device_rows> brought_together(const std::vector<std::shared_ptr<device_rows>>& parts,
                                              const std::shared_ptr<gpu_session>& to, runtime::run_context& context);

}  // namespace query::gpu_engine
