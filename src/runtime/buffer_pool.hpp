// Memory of one session: blocks, tables, partitions and results come from here and go back for the next query.
//
// Fresh pages from the system are the largest single cost of a group-by or a join (3x to 4.5x, measured), so big
// buffers are huge pages that are kept and reused by size class, and given back when the session's limit is near. What nobody has needed
// for a while goes back, too, but for a little (unneeded_memory), which a pool without living buffers keeps only while it is one of the
// few that were in use last: programs may have hundreds of sessions. Where a buffer does not fit any more, those who hold memory that can
// go to a file (pool_evictor) are asked for it first.
//
//   buffer_pool pool(8ull << 30);
//   buffer rows = pool.allocate(n * sizeof(Row));   // 64-byte aligned, uninitialised; back in the pool when destroyed
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace query::runtime {

class buffer_pool;

// Owns one allocation of a pool; empty by default. It may outlive the pool's object.
class buffer {
 public:
  buffer() = default;
  buffer(buffer&& other) noexcept { swap(other); }
  buffer& operator=(buffer&& other) noexcept {
    buffer(std::move(other)).swap(*this);
    return *this;
  }
  ~buffer() { reset(); }

  void* data() const { return data_; }
  std::size_t size() const { return size_; }          // bytes asked for
  std::size_t capacity() const { return capacity_; }  // bytes accounted for; do not touch those beyond size()
  explicit operator bool() const { return data_ != nullptr; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }
  template <class T>
  std::span<T> span() const {
    return {static_cast<T*>(data_), size_ / sizeof(T)};
  }

  void reset() noexcept;  // gives the memory back now
  void swap(buffer& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(capacity_, other.capacity_);
  }

 private:
  friend class buffer_pool;
  friend class pool_state;
  std::shared_ptr<class pool_state> owner_;
  void* data_ = nullptr;
  std::size_t size_ = 0, capacity_ = 0;
};

// Bytes that a session has outside of buffers, such as those of strings in its rows: they count in used(). Empty by default. It may outlive
// the pool's object. One thread at a time.
class charge {
 public:
  charge() = default;
  charge(charge&& other) noexcept : owner_(std::move(other.owner_)), bytes_(std::exchange(other.bytes_, 0)) {}
  charge& operator=(charge&& other) noexcept {
    charge(std::move(other)).swap(*this);
    return *this;
  }
  ~charge() { shrink(bytes_); }

  std::size_t bytes() const { return bytes_; }
  // Makes room for more as allocate() does, and throws what that throws; then nothing has changed.
  void grow(const buffer_pool& pool, std::size_t bytes);
  void shrink(std::size_t bytes) noexcept;
  void take(charge&& other) noexcept;  // of the same pool: other is empty then
  void swap(charge& other) noexcept {
    std::swap(owner_, other.owner_);
    std::swap(bytes_, other.bytes_);
  }

 private:
  std::shared_ptr<class pool_state> owner_;
  std::size_t bytes_ = 0;
};

// Who holds buffers that it can do without for a while.
class pool_evictor {
 public:
  virtual ~pool_evictor() = default;
  // Gives buffers back, of about so many bytes or all that it can, and returns how many bytes they had. Several threads
  // may call it at once; it must not allocate from the pool. What it throws ends the allocation.
  virtual std::size_t evict(std::size_t bytes) = 0;
};

// Thread-safe.
class buffer_pool {
 public:
  // limit_bytes bounds used() + cached(); 0: no limit.
  explicit buffer_pool(std::size_t limit_bytes = 0);
  ~buffer_pool();
  buffer_pool(const buffer_pool&) = delete;
  buffer_pool& operator=(const buffer_pool&) = delete;

  // Returns `bytes` uninitialised bytes at a multiple of 64 (of 2 MiB from 2 MiB on). Zero bytes give an empty buffer.
  // Throws resource_error over the limit or when the system has no memory, and what an evictor throws.
  buffer allocate(std::size_t bytes);
  template <class T>
  buffer allocate_array(std::size_t n) {
    return allocate(checked_bytes(n, sizeof(T)));
  }

  std::size_t limit() const;
  std::size_t used() const;    // bytes in living buffers, rounded up to their size classes, and in charges
  std::size_t peak() const;    // the largest used() so far
  std::size_t cached() const;  // bytes kept for reuse
  void reset_peak();           // peak() = used()
  // The largest used() since the last call, for who follows a run; of several at once, since the first of them began.
  void follow(int runs);       // 1: one begins, -1: one ends
  std::size_t take_recent_peak();
  void trim(std::size_t keep_bytes = 0);  // gives cached memory back to the system, largest buffers first

  // Asked, in this order, where a buffer does not fit. remove() waits for calls that are running.
  void add(pool_evictor& e);
  void remove(pool_evictor& e);

  static constexpr std::size_t idle_pools = 8;  // of a process that keep memory

  static std::size_t checked_bytes(std::size_t n, std::size_t size);  // n * size, or resource_error on overflow

 private:
  friend class charge;
  std::shared_ptr<class pool_state> state_;
};

}  // namespace query::runtime
