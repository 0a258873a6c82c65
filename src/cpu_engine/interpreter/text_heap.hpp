// Owns the characters of strings that a batch computes; all are freed together when the next batch starts.
//
//   char* p = heap.take(n);   // n bytes, valid until clear()
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace query::interpreter {

class text_heap {
 public:
  char* take(std::size_t n) {
    if (n > left_) grow(n);
    char* p = at_;
    at_ += n;
    left_ -= n;
    return p;
  }
  // Keeps one chunk, so that batches of short strings take no memory from the system.
  void clear() {
    if (chunks_.size() > 1) chunks_.resize(1);
    at_ = chunks_.empty() ? nullptr : chunks_[0].get();
    left_ = chunks_.empty() ? 0 : first_size_;
  }

 private:
  void grow(std::size_t n) {
    const std::size_t size = n > chunk_size ? n : chunk_size;
    chunks_.push_back(std::make_unique<char[]>(size));
    if (chunks_.size() == 1) first_size_ = size;
    at_ = chunks_.back().get();
    left_ = size;
  }

  static constexpr std::size_t chunk_size = 64 * 1024;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::size_t first_size_ = 0;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace query::interpreter
