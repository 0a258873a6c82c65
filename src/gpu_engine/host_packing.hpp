// Values that own memory, strings and lists, in the device's layout: views into one heap of characters and elements.
#pragma once

#include <memory>

#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

// Writes n values of type t, `stride` bytes apart on the host, to `to` on the device. Returns their heap.
std::shared_ptr<const device_buffer> upload_owning_values(gpu_session& gpu, const ir::type* t, const std::byte* values, std::size_t stride,
                                                 std::size_t n, device_address to, const stream& s, runtime::run_context& context);

}  // namespace query::gpu_engine
