// States of one C++ type in memory of the session's pool, by group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>
#include <utility>

#include "runtime/buffer_pool.hpp"

namespace query::cpu {

template <class S> class state_array {
 public:
  explicit state_array(runtime::buffer_pool& pool) : pool_(&pool) {}
  state_array(const state_array&) = delete;
  state_array& operator=(const state_array&) = delete;
  ~state_array() { std::destroy_n(memory_.template as<S>(), n_); }

  std::size_t size() const { return n_; }
  S& operator[](std::size_t i) { return memory_.template as<S>()[i]; }

  // Copies of `fresh` up to n.
  void grow_to(std::size_t n, const S& fresh = S{}) {
    if (n <= n_) return;
    if (n > capacity_) {
      const std::size_t next = std::max<std::size_t>({n, capacity_ * 2, 64});
      runtime::buffer larger = pool_->allocate_array<S>(next);
      std::uninitialized_move_n(memory_.template as<S>(), n_, larger.template as<S>());
      std::destroy_n(memory_.template as<S>(), n_);
      memory_ = std::move(larger);
      capacity_ = next;
    }
    for (; n_ < n; ++n_) ::new (static_cast<void*>(memory_.template as<S>() + n_)) S(fresh);
  }

 private:
  runtime::buffer_pool* pool_;
  runtime::buffer memory_;
  std::size_t n_ = 0, capacity_ = 0;
};

}  // namespace query::cpu
