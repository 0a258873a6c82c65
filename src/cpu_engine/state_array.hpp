// States of one C++ type in memory of the session's pool, by group.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include <query/cpu/segment_form.hpp>

#include "runtime/buffer_pool.hpp"

namespace query::cpu {

// For how many states of a size memory begins: a state may hold a large row, and each thread has one array at least.
constexpr std::size_t first_states(std::size_t size) { return std::min<std::size_t>(64, rows_a_batch(size)); }

template <class S> class state_array {
 public:
  explicit state_array(runtime::buffer_pool& pool) : pool_(&pool) {}
  state_array(const state_array&) = delete;
  state_array& operator=(const state_array&) = delete;
  ~state_array() { std::destroy_n(memory_.template as<S>(), n_); }

  std::size_t size() const { return n_; }
  S& operator[](std::size_t i) { return memory_.template as<S>()[i]; }
  // A state of plain values as bytes.
  static constexpr std::size_t state_bytes = sizeof(S);
  void save(std::size_t i, std::byte* to) {
    static_assert(std::is_trivially_copyable_v<S>);
    std::memcpy(to, static_cast<const void*>(&(*this)[i]), sizeof(S));
  }
  void load(std::size_t i, const std::byte* from) { std::memcpy(static_cast<void*>(&(*this)[i]), from, sizeof(S)); }

  // Copies of `fresh` up to n.
  void grow_to(std::size_t n, const S& fresh = S{}) {
    if (n <= n_) return;
    if (n > capacity_) {
      const std::size_t next = std::max<std::size_t>({n, capacity_ * 2, first_states(sizeof(S))});
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
