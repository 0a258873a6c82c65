// What rows own on the heap, such as their strings, counted against the memory of a session with a limit.
//
// The pool is asked in steps: what fits the first one is not charged at all, so that small queries never ask for it.
//
//   heap_charge heap;
//   heap.add(type, rows, n, pool);      // they came alive: makes room for what they own, or throws
//   other.take(heap);                   // they moved to where others are
#pragma once

#include <cstddef>
#include <utility>

#include <query/detail/type.hpp>

#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class heap_charge {
 public:
  heap_charge() = default;
  heap_charge(heap_charge&& o) noexcept : bytes_(std::exchange(o.bytes_, 0)), charged_(std::move(o.charged_)) {}
  heap_charge& operator=(heap_charge&& o) noexcept {
    bytes_ = std::exchange(o.bytes_, 0);
    charged_ = std::move(o.charged_);
    return *this;
  }

  // Does the session want such rows counted?
  static bool counts(const ir::type& t, const runtime::buffer_pool& pool);

  std::size_t bytes() const { return bytes_; }  // that were counted
  // Throws as buffer_pool::allocate does; the rows have been counted then.
  void add(const ir::type& t, const void* rows, std::size_t n, const runtime::buffer_pool& pool);
  void take(heap_charge& o) noexcept {
    bytes_ += std::exchange(o.bytes_, 0);
    charged_.take(std::move(o.charged_));
  }
  void charge_all(const runtime::buffer_pool& pool);  // as several charges may have left a step each
  void clear() noexcept {
    bytes_ = 0;
    charged_.shrink(charged_.bytes());
  }

 private:
  static constexpr std::size_t step = std::size_t{64} << 10;

  std::size_t bytes_ = 0;
  runtime::charge charged_;
};

// Runs [first, first + n) of rows that come alive one after the other, so short that what they own is a step or two.
class heap_steps {
 public:
  explicit heap_steps(bool counted) : counted_(counted) {}
  std::size_t next(std::size_t left) const { return counted_ && left > rows_ ? rows_ : left; }
  void made(std::size_t rows, std::size_t bytes);

 private:
  static constexpr std::size_t first_rows = 32, most_rows = 1024, most_bytes = std::size_t{512} << 10;

  bool counted_;
  std::size_t rows_ = first_rows;
};

}  // namespace query::cpu
