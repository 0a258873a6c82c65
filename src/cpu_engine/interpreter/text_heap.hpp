// Owns the characters of the strings that a batch computes, and frees them together. Bytes beyond the first chunk are charged to the
// session whose query this thread works for.
//
//   char* p = heap.take(n);   // n bytes, valid until clear()
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/buffer_pool.hpp"
#include "runtime/cancellation.hpp"

namespace query::interpreter {

class text_heap {
 public:
  // Throws resource_error where the session has no more memory.
  char* take(std::size_t n) {
    if (n > left_) grow(n);
    char* p = at_;
    at_ += n;
    left_ -= n;
    return p;
  }
  // Keeps the first chunk, so that batches of short strings take no memory from the system.
  void clear() noexcept {
    more_.clear();
    counted_ = {};  // the next batch may be another session's
    at_ = first_.get();
    left_ = first_ ? chunk_size : 0;
  }

 private:
  void grow(std::size_t n) {
    if (!first_ && n <= chunk_size) {
      first_ = std::make_unique_for_overwrite<char[]>(chunk_size);
      at_ = first_.get();
      left_ = chunk_size;
      return;
    }
    const std::size_t size = n > chunk_size ? n : chunk_size;
    if (const runtime::buffer_pool* const memory = runtime::cancel_flag::here().memory()) counted_.grow(*memory, size);
    more_.push_back(std::make_unique_for_overwrite<char[]>(size));
    at_ = more_.back().get();
    left_ = size;
  }

  static constexpr std::size_t chunk_size = 64 * 1024;
  std::unique_ptr<char[]> first_;
  std::vector<std::unique_ptr<char[]>> more_;
  runtime::charge counted_;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace query::interpreter
