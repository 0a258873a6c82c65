// Page-locked host memory, which the device's copy engines reach at the bus's speed.
//
// Under transfer: a slot is one staging buffer and the event after the last copy that uses it.
//
//   staging_slot slot(device, 8 << 20);
//   slot.wait(cancel);                      // until the copy before has ended
//   std::memcpy(slot.data(), from, n);
//   slot.send({{{to, 0, n}}}, stream);
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "gpu_engine/device.hpp"

namespace query::gpu_engine {

class staging_slot {
 public:
  staging_slot(const device& d, std::size_t bytes);  // throws resource_error if the system has no memory to lock
  ~staging_slot();                                   // waits a few seconds for a copy under way, then gives the memory up
  staging_slot(staging_slot&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_), copied_(std::move(other.copied_)) {}
  staging_slot& operator=(staging_slot&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    std::swap(copied_, other.copied_);
    return *this;
  }

  std::byte* data() const { return data_; }
  std::size_t size() const { return bytes_; }

  struct piece {
    device_address to;
    std::size_t first, n;  // bytes of the slot
  };
  void send(std::span<const piece> pieces, const stream& s);          // gives copies of them to the stream
  void receive(device_address from, std::size_t n, const stream& s);  // the other way, to the first n bytes
  bool idle() const { return copied_.done(); }                        // no copy uses the slot
  void wait(const runtime::cancel_flag& cancel) const { copied_.wait(cancel); }

 private:
  const device* device_;
  std::byte* data_ = nullptr;
  std::size_t bytes_;
  event copied_;
};

}  // namespace query::gpu_engine
