// One GPU: what it is, its context, and the streams and events that order work on it.
//
// Everything asynchronous in this folder takes a stream. Nothing waits without a way out: waits poll the device and the
// query's cancel flag.
//
//   const device* d = device::first();            // or device::why_not()
//   stream s(*d);
//   launch(kernel, {.grid = n}, s, arguments);
//   s.synchronize(cancel);
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "gpu_engine/driver.hpp"
#include "runtime/cancellation.hpp"

namespace query::gpu_engine {

// Retains the GPU's primary context, which this process shares with all other users of it. Immutable, thread-safe.
class device {
 public:
  // The GPU of this ordinal, opened once a process and kept to its end; null if there is none. `copy`: one GPU may be opened
  // as if it were several, which share its context and memory.
  static const device* find(int ordinal, int copy = 0);
  static const device* first() { return find(0); }
  static std::string why_not(int ordinal = 0);  // "" if there is one
  static int count();                           // GPUs of this machine that the driver shows; 0 without a driver

  // Kernels are made for this capability (80 is 8.0, Ampere) and later ones: sums over a warp by one instruction, asynchronous copies.
  static constexpr int oldest_capability = 80;

  // Throws what driver::check throws, resource_error for a GPU that is older; for test doubles: use find.
  device(const driver& d, int ordinal);
  ~device();
  device(const device&) = delete;
  device& operator=(const device&) = delete;

  const driver& calls() const { return driver_; }
  context_handle context() const { return context_; }
  int handle() const { return handle_; }  // CUdevice
  int ordinal() const { return ordinal_; }
  const std::string& name() const { return name_; }                           // "NVIDIA H200"
  int compute_capability() const { return compute_capability_; }              // 90
  int multiprocessors() const { return multiprocessors_; }                    // 132
  int threads_per_multiprocessor() const { return threads_per_multiprocessor_; }
  std::size_t shared_memory_per_block() const { return shared_memory_; }      // bytes a kernel may opt in to; static included
  std::size_t total_memory() const { return total_memory_; }                  // bytes
  std::size_t free_memory() const;                                            // bytes, asked of the driver now
  std::size_t l2_bytes() const { return l2_bytes_; }
  bool has_memory_pools() const { return has_memory_pools_; }                 // cuMemAllocAsync works

 private:
  int attribute(int which) const;

  const driver& driver_;
  int ordinal_, handle_ = 0;
  context_handle context_ = nullptr;
  std::string name_;
  int compute_capability_ = 0, multiprocessors_ = 0, threads_per_multiprocessor_ = 0;
  std::size_t shared_memory_ = 0, total_memory_ = 0, l2_bytes_ = 0;
  bool has_memory_pools_ = false;
};

// Makes the device's context current on this thread and restores the one before. Cheap if it is current already. Everything
// in this folder does this by itself; only direct calls of the driver need it.
class scoped_context {
 public:
  explicit scoped_context(const device& d) : scoped_context(d.calls(), d.context()) {}
  scoped_context(const driver& d, context_handle context);
  ~scoped_context();
  scoped_context(const scoped_context&) = delete;
  scoped_context& operator=(const scoped_context&) = delete;

 private:
  const driver& driver_;
  context_handle before_ = nullptr;
  bool changed_ = false;
};

class stream;

// A point in a stream's work. Empty until recorded: an event that was never recorded is done.
class event {
 public:
  enum class timing : bool { off, on };
  explicit event(const device& d, timing t = timing::off);
  ~event();
  event(event&&) noexcept;
  event& operator=(event&&) noexcept;

  event_handle handle() const { return handle_; }
  void record(const stream& s);  // marks the end of what s was given so far
  bool done() const;             // throws if the device failed
  // Polls until done: a few microseconds of spinning, then short sleeps. Throws cancelled as soon as `cancel` says so.
  void wait(const runtime::cancel_flag& cancel) const;
  // Seconds on the device from `from` to this event; both made with timing::on and done.
  double seconds_since(const event& from) const;

 private:
  const device* device_ = nullptr;
  event_handle handle_ = nullptr;
};

// Work in order on one device. Thread-safe; does not wait for the default stream. The driver's stream lives until the
// object and everything that keeps() it are gone.
class stream {
 public:
  explicit stream(const device& d);
  stream(stream&&) noexcept = default;
  stream& operator=(stream&&) noexcept = default;

  const device& on() const;
  stream_handle handle() const;
  std::shared_ptr<const struct stream_state> keep() const { return state_; }

  bool done() const;               // everything given so far has ended; throws if the device failed
  void wait(const event& e) const;  // what is given from now on starts after the event
  // Polls until everything given so far has ended. Cancelled, it still waits for the device to finish what was launched,
  // for at most drain_seconds, and then throws `cancelled`: memory that the work uses may be freed after that. Throws
  // resource_error for a device that is lost, or that does not finish in that time.
  void synchronize(const runtime::cancel_flag& cancel) const;
  static constexpr double drain_seconds = 60;
  // The same for where something has failed already: returns when the work has ended, the device is lost, or that time is over; of
  // several who wait for work that never ends only the first takes it.
  void drain() const noexcept;
  bool hangs() const;  // as a wait that was in vain has found

 private:
  std::shared_ptr<const stream_state> state_;
};

// Drains a stream however a scope is left: memory of other streams that its work uses may be released after that.
class drained {
 public:
  explicit drained(const stream& s) : stream_(s) {}
  ~drained() { stream_.drain(); }
  drained(const drained&) = delete;
  drained& operator=(const drained&) = delete;

 private:
  const stream& stream_;
};

// The driver's stream itself, shared by the stream and by buffers that are still to be freed on it.
struct stream_state {
  explicit stream_state(const device& d);
  ~stream_state();
  stream_state(const stream_state&) = delete;
  stream_state& operator=(const stream_state&) = delete;

  const device& on;
  const std::uint64_t id;  // of this stream alone, in this process
  stream_handle handle = nullptr;
  mutable std::atomic<bool> waited_in_vain = false;  // its work had not ended when the longest wait for it had
};

}  // namespace query::gpu_engine
