// Bytes on the heap that count in the memory of the session whose query this thread works for, while the object lives: of states that
// compiled code keeps. Outside of queries nobody counts them.
//
//   counted_heap heap;
//   heap.count(sketch.heap_bytes());   // after each change; throws resource_error
#pragma once

#include <cstddef>
#include <utility>

namespace query::detail {

class counted_heap {
 public:
  counted_heap() = default;
  counted_heap(const counted_heap& o) { count(o.bytes_); }
  counted_heap(counted_heap&& o) noexcept : charge_(std::exchange(o.charge_, nullptr)), bytes_(std::exchange(o.bytes_, 0)) {}
  counted_heap& operator=(counted_heap o) noexcept {
    std::swap(charge_, o.charge_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~counted_heap() {
    if (charge_) give_back();
  }

  // In steps, as the session's memory has a lock.
  void count(std::size_t bytes) {
    if (bytes >= bytes_ + step || bytes + step <= bytes_) [[unlikely]] change(bytes);
  }

 private:
  static constexpr std::size_t step = 1024;
  void change(std::size_t bytes);
  void give_back() noexcept;

  void* charge_ = nullptr;  // null: nobody counts
  std::size_t bytes_ = 0;
};

}  // namespace query::detail
