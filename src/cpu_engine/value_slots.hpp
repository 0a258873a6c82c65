// Places for values of a run-time type, each empty or filled. What they own on the heap counts in the session's memory.
#pragma once

#include <cstring>
#include <optional>

#include "cpu_engine/heap_charge.hpp"
#include "cpu_engine/padding.hpp"
#include "cpu_engine/state_array.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

class value_slots {
 public:
  value_slots(const ir::type* t, runtime::buffer_pool& pool)
      : type_(t), pool_(&pool), filled_(pool), counted_(heap_charge::counts(*t, pool)) {}
  value_slots(const value_slots&) = delete;
  value_slots& operator=(const value_slots&) = delete;
  ~value_slots() {
    for (std::size_t i = 0; i < filled_.size(); ++i)
      if (filled_[i]) destroy_rows(type_, at(i), 1);
  }

  bool has(std::size_t i) { return filled_[i]; }
  std::byte* at(std::size_t i) const { return memory_.as<std::byte>() + i * type_->size; }

  void grow_to(std::size_t n) {
    if (n > capacity_) {
      const std::size_t next = std::max<std::size_t>({n, capacity_ * 2, first_states(type_->size)});
      runtime::buffer larger = pool_->allocate(runtime::buffer_pool::checked_bytes(next, type_->size));
      for (std::size_t i = 0; i < filled_.size(); ++i)
        if (filled_[i]) relocate_rows(type_, larger.as<std::byte>() + i * type_->size, at(i), 1);
      memory_ = std::move(larger);
      capacity_ = next;
    }
    filled_.grow_to(n, false);
  }
  // A copy of the value, in the place of what was there.
  void put(std::size_t i, const void* value) {
    empty(i);
    copy_rows(type_, at(i), value, 1);
    fill(i);
  }
  // The value moves in; `value` stays alive.
  void take(std::size_t i, void* value) {
    empty(i);
    move_rows(type_, at(i), value, 1);
    fill(i);
  }
  // The value moves to raw memory; what stays owns nothing.
  void give(std::size_t i, void* to) {
    uncount(i);
    move_rows(type_, to, at(i), 1);
  }
  std::size_t heap_bytes() const { return heap_bytes_; }
  // A place of trivial values as bytes.
  std::size_t state_bytes() const { return 1 + type_->size; }
  void save(std::size_t i, std::byte* to) {
    *to = std::byte{filled_[i]};
    if (!filled_[i]) {
      std::memset(to + 1, 0, type_->size);
      return;
    }
    if (!unused_) unused_.emplace(*type_);
    std::memcpy(to + 1, at(i), type_->size);
    if (*unused_) unused_->clear(to + 1, 1);
  }
  void load(std::size_t i, const std::byte* from) {
    filled_[i] = *from != std::byte{0};
    if (filled_[i]) std::memcpy(at(i), from + 1, type_->size);
  }

 private:
  static constexpr std::size_t charge_step = std::size_t{64} << 10;

  void empty(std::size_t i) {
    if (!filled_[i]) return;
    uncount(i);  // which may throw, as it looks at the query's limits
    filled_[i] = false;
    destroy_rows(type_, at(i), 1);
  }
  void fill(std::size_t i) {
    filled_[i] = true;
    if (!counted_) return;
    heap_bytes_ += cpu::heap_bytes(*type_, at(i), 1);
    if (heap_bytes_ > charged_.bytes() + charge_step) charged_.grow(*pool_, heap_bytes_ - charged_.bytes());
  }
  void uncount(std::size_t i) {
    if (!counted_) return;
    heap_bytes_ -= std::min(heap_bytes_, cpu::heap_bytes(*type_, at(i), 1));
    if (charged_.bytes() > heap_bytes_ + charge_step) charged_.shrink(charged_.bytes() - heap_bytes_);
  }

  const ir::type* type_;
  runtime::buffer_pool* pool_;
  runtime::buffer memory_;
  state_array<bool> filled_;
  bool counted_;
  std::size_t heap_bytes_ = 0;
  runtime::charge charged_;  // in steps, so that a few values never ask the pool
  std::optional<padding> unused_;  // once values are saved
  std::size_t capacity_ = 0;
};

}  // namespace query::cpu
