#include "gpu_engine/pinned_memory.hpp"

#include <string>

#include <query/errors.hpp>

#include "gpu_engine/backoff.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

staging_slot::staging_slot(const device& d, std::size_t bytes) : device_(&d), bytes_(bytes), copied_(d) {
  const scoped_context here(d);
  void* at = nullptr;
  const int result = d.calls().cuMemAllocHost(&at, bytes);
  if (result == cuda_result::out_of_memory)
    throw runtime::engine_failure("gpu: the system has no memory to lock for transfers: " + std::to_string(bytes) + " bytes");
  d.calls().check(result, "cuMemAllocHost");
  data_ = static_cast<std::byte*>(at);
}

staging_slot::~staging_slot() {
  if (data_ == nullptr) return;
  constexpr double patience_seconds = 10;
  const scoped_context here(*device_);
  const driver& calls = device_->calls();
  backoff b;
  while (calls.cuEventQuery(copied_.handle()) == cuda_result::not_ready) {
    if (b.seconds() > patience_seconds) return;  // the device may still write there: better lost than reused
    b.pause();
  }
  calls.cuMemFreeHost(data_);
}

void staging_slot::send(std::span<const piece> pieces, const stream& s) {
  const scoped_context here(*device_);
  try {
    for (const piece& p : pieces) QUERY_CUDA(device_->calls(), cuMemcpyHtoDAsync, p.to, data_ + p.first, p.n, s.handle());
  } catch (...) {
    copied_.record(s);  // the copies before the one that failed use the slot
    throw;
  }
  copied_.record(s);
}

void staging_slot::receive(device_address from, std::size_t n, const stream& s) {
  const scoped_context here(*device_);
  QUERY_CUDA(device_->calls(), cuMemcpyDtoHAsync, data_, from, n, s.handle());
  copied_.record(s);
}

}  // namespace query::gpu_engine
