// The states of one table of groups: state i belongs to group i.
#pragma once

#include <cstddef>

#include <query/detail/plan.hpp>

#include "runtime/buffer_pool.hpp"

namespace query::cpu {

class group_states {
 public:
  group_states(const detail::aggregate_calls& calls, const void* self, runtime::buffer_pool& pool) : calls_(&calls), self_(self), pool_(&pool) {}
  group_states(group_states&& o) noexcept
      : calls_(o.calls_), self_(o.self_), pool_(o.pool_), memory_(std::move(o.memory_)), n_(std::exchange(o.n_, 0)), capacity_(std::exchange(o.capacity_, 0)) {}
  ~group_states() { clear(); }

  std::size_t size() const { return n_; }
  void* data() const { return memory_.data(); }
  void* at(std::size_t i) const { return memory_.as<std::byte>() + i * calls_->state_size; }

  // Fresh states up to n.
  void grow_to(std::size_t n) {
    if (n <= n_) return;
    if (n > capacity_) {
      std::size_t next = capacity_ * 2 > n ? capacity_ * 2 : n;
      if (next < 64) next = 64;
      runtime::buffer larger = pool_->allocate(runtime::buffer_pool::checked_bytes(next, calls_->state_size));
      if (n_) calls_->relocate(larger.data(), memory_.data(), n_);
      memory_ = std::move(larger);
      capacity_ = next;
    }
    calls_->init(self_, at(n_), n - n_);
    n_ = n;
  }
  void clear() {
    if (n_) calls_->destroy(memory_.data(), n_);
    n_ = 0;
  }

 private:
  const detail::aggregate_calls* calls_;
  const void* self_;
  runtime::buffer_pool* pool_;
  runtime::buffer memory_;
  std::size_t n_ = 0, capacity_ = 0;
};

}  // namespace query::cpu
