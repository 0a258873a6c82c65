// Owns the characters of the strings and the lists of strings that a batch computes, and frees them together. Bytes beyond the first
// chunk are charged to the session whose query this thread works for.
//
//   char* p = heap.take(n);   // n bytes, valid until clear()
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
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
  // The list, valid until clear(). Throws as take does.
  const std::vector<std::string>* keep(std::vector<std::string> list) {
    std::size_t bytes = sizeof list + list.capacity() * sizeof(std::string);
    for (const std::string& s : list) bytes += s.size();
    count(bytes);
    return &lists_.emplace_back(std::move(list));
  }
  // Keeps the first chunk, so that batches of short strings take no memory from the system.
  void clear() noexcept {
    more_.clear();
    lists_.clear();
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
    count(size);
    more_.push_back(std::make_unique_for_overwrite<char[]>(size));
    at_ = more_.back().get();
    left_ = size;
  }

  void count(std::size_t bytes) {
    if (const runtime::buffer_pool* const memory = runtime::cancel_flag::here().memory()) counted_.grow(*memory, bytes);
  }

  static constexpr std::size_t chunk_size = 64 * 1024;
  std::unique_ptr<char[]> first_;
  std::vector<std::unique_ptr<char[]>> more_;
  std::deque<std::vector<std::string>> lists_;  // they stay where they are
  runtime::charge counted_;
  char* at_ = nullptr;
  std::size_t left_ = 0;
};

}  // namespace query::interpreter
