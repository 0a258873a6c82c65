// Memory of one session on one GPU: buffers come from here and go back for the next kernel.
//
// Asking the driver costs hundreds of microseconds and may wait for the device; so blocks are kept by size class and
// reused, and a query that ran before asks for nothing. Allocation and release are in the order of a stream, with no wait
// on the host; a block that changes streams makes the new one wait for the old one's work, on the device.
//
//   device_memory memory(*device, 8ull << 30);
//   device_buffer keys = memory.allocate(n * 8, s);   // usable by what s is given from now on; back when destroyed
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "gpu_engine/device.hpp"

namespace query::gpu_engine {

// Owns one allocation; empty by default. It may outlive its stream's and its pool's objects. Released in the order of its
// stream: work given to that stream before may still use it.
class device_buffer {
 public:
  device_buffer() = default;
  device_buffer(device_buffer&& other) noexcept { swap(other); }
  device_buffer& operator=(device_buffer&& other) noexcept {
    device_buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~device_buffer() { reset(); }

  device_address address() const { return address_; }  // a multiple of 256; 0 if empty
  std::size_t size() const { return size_; }           // bytes asked for
  std::size_t capacity() const { return capacity_; }   // bytes accounted for
  explicit operator bool() const { return address_ != 0; }

  // Moves the buffer to another stream of its device: what `to` is given from now on starts after what the stream before
  // was given, and the buffer will be released in the order of `to`.
  void hand_over(const stream& to);
  void reset() noexcept;  // releases now
  void swap(device_buffer& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(stream_, other.stream_);
    std::swap(address_, other.address_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  friend class device_memory_state;
  std::shared_ptr<class device_memory_state> owner_;
  std::shared_ptr<const stream_state> stream_;
  device_address address_ = 0;
  std::size_t size_ = 0, capacity_ = 0;
};

struct device_memory_counters {
  std::size_t used = 0;                   // bytes in living buffers, rounded up to their size classes
  std::size_t peak = 0;                   // the largest `used` so far
  std::size_t cached = 0;                 // bytes kept for reuse
  std::uint64_t allocations = 0;          // buffers given out
  std::uint64_t driver_allocations = 0;   // those for which the driver was asked
  std::uint64_t stream_waits = 0;         // reuses that made a stream wait for another
};

// Thread-safe.
class device_memory {
 public:
  // budget_bytes bounds what is used and kept for reuse together; 0: 90% of what is free on the device now or kept for reuse by others.
  explicit device_memory(const device& d, std::size_t budget_bytes = 0);
  ~device_memory();
  device_memory(const device_memory&) = delete;
  device_memory& operator=(const device_memory&) = delete;

  // Returns `bytes` uninitialised bytes, usable by what `s` is given from now on. Zero bytes give an empty buffer. Throws
  // out_of_memory over the budget, or when the driver has no memory even after this pool and all others of the process on this device
  // gave back what they keep, cancelled where the query that this thread works for stops while it waits for that.
  device_buffer allocate(std::size_t bytes, const stream& s);

  const device& on() const;
  std::size_t budget() const;
  std::size_t available() const;  // budget less what is used: what one may hope for
  device_memory_counters counters() const;
  void reset_peak();  // peak = used
  // Gives memory kept for reuse back to the driver, largest blocks first, until `keep_bytes` are left. Waits on the host
  // (at most a few seconds) for work that still uses it.
  void trim(std::size_t keep_bytes = 0);

  // For tests: the n-th allocate() from now (1: the next) fails as if the driver had no memory; 0: none does.
  // `and_all_later`: so do those after it.
  void fail_allocation(std::uint64_t n, bool and_all_later = false);

 private:
  std::shared_ptr<class device_memory_state> state_;
};

}  // namespace query::gpu_engine
