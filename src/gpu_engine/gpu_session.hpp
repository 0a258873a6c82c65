// What one session has of one GPU: memory under its budget, the staging buffers, streams to work on. Compiled kernels are
// the process's.
//
// Under the engine and its operators.
//
//   stream_lease s = gpu.lease();
//   device_buffer out = gpu.memory().allocate(bytes, *s);
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "gpu_engine/device_memory.hpp"
#include "gpu_engine/kernel_cache.hpp"
#include "gpu_engine/transfer.hpp"

namespace query::gpu_engine {

class gpu_session;
class cached_rows;

// A stream of the session's, back in its pool when destroyed. That waits for what it was given, of which there is some where a query
// failed or was stopped: memory that this uses may be another stream's, which knows nothing of it.
class stream_lease {
 public:
  explicit stream_lease(gpu_session& of);
  ~stream_lease();
  stream_lease(const stream_lease&) = delete;
  stream_lease& operator=(const stream_lease&) = delete;

  const stream& operator*() const { return *stream_; }
  const stream* operator->() const { return stream_.get(); }

 private:
  gpu_session* of_;
  std::unique_ptr<stream> stream_;
};

// Of an order, the first of so many rows are selected before they are sorted (operators/first_in_order.hpp). Of fewer, the kernels that
// look for them and the host that waits for their number take as long as the sort.
inline constexpr std::uint64_t rows_worth_selecting = std::uint64_t{1} << 21;
// From so many rows on, the bytes beside a key travel with it through the sort (operators/sorted_pairs.hpp). Fewer lie in the L2 cache
// when they are gathered by their numbers.
inline constexpr std::uint64_t rows_worth_carrying = std::uint64_t{1} << 21;

// Thread-safe.
class gpu_session {
 public:
  gpu_session(const device& d, std::size_t memory_budget, kernel_cache& kernels, std::size_t block_rows = 0)
      : on_(d), memory_(d, memory_budget), copies_(d), kernels_(kernels), block_rows_(block_rows) {}

  const device& on() const { return on_; }
  device_memory& memory() { return memory_; }
  transfer& copies() { return copies_; }
  kernel_cache& kernels() { return kernels_; }
  std::size_t block_rows() const { return block_rows_; }  // of every block; 0: as many as fit
  // From so many rows on, the first of an order are selected before they are sorted.
  std::uint64_t least_selected() const { return least_selected_; }
  void select_from(std::uint64_t rows) { least_selected_ = rows; }  // for tests and figures, before queries run
  // From so many rows on, a sort by a number carries what is beside it.
  std::uint64_t least_carried() const { return least_carried_; }
  void carry_from(std::uint64_t rows) { least_carried_ = rows; }  // the same
  stream_lease lease() { return stream_lease(*this); }
  // Cached rows that have a copy which may go (captured_rows.hpp).
  void has_whole(std::weak_ptr<const cached_rows> rows) {
    const std::lock_guard hold(lock_);
    std::erase_if(with_whole_, [](const auto& w) { return w.expired(); });
    with_whole_.push_back(std::move(rows));
  }
  std::vector<std::weak_ptr<const cached_rows>> take_wholes() {
    const std::lock_guard hold(lock_);
    return std::exchange(with_whole_, {});
  }

 private:
  friend class stream_lease;
  const device& on_;
  device_memory memory_;
  transfer copies_;
  kernel_cache& kernels_;
  const std::size_t block_rows_;
  std::uint64_t least_selected_ = rows_worth_selecting;
  std::uint64_t least_carried_ = rows_worth_carrying;
  std::mutex lock_;
  std::vector<std::unique_ptr<stream>> idle_;
  std::vector<std::weak_ptr<const cached_rows>> with_whole_;
};

inline stream_lease::stream_lease(gpu_session& of) : of_(&of) {
  {
    const std::lock_guard hold(of.lock_);
    if (!of.idle_.empty()) {
      stream_ = std::move(of.idle_.back());
      of.idle_.pop_back();
    }
  }
  if (!stream_) stream_ = std::make_unique<stream>(of.on());
}
inline stream_lease::~stream_lease() {
  stream_->drain();
  if (stream_->hangs()) return;  // nobody else is to wait for it
  const std::lock_guard hold(of_->lock_);
  of_->idle_.push_back(std::move(stream_));
}

}  // namespace query::gpu_engine
