// Strings and lists from the device's layout back into std::string, std::vector and what holds them.
#pragma once

#include <memory>

#include "gpu_engine/codegen/kernel_source.hpp"
#include "gpu_engine/gpu_session.hpp"
#include "runtime/run_context.hpp"

namespace query::gpu_engine {

// Throws not_generated with the reason if rows of type t cannot be made on the host from what the device has of them.
void check_host_form(const ir::type* t);

// n values of type t, side by side at `values` on the device, assigned to living ones on the host, `stride` bytes apart.
void download_owning_values(gpu_session& gpu, const ir::type* t, device_address values, std::size_t n, std::byte* to, std::size_t stride,
                            const stream& s, runtime::run_context& context);

// Value-initialised rows; destroyed with the owner.
struct living_rows {
  std::shared_ptr<void> owner;
  void* rows = nullptr;
};
living_rows make_rows(const ir::type* t, std::size_t n, runtime::run_context& context);

}  // namespace query::gpu_engine
