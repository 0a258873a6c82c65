// Numbers that queries learned of rows which stay on the device, by a hash of what they asked: how many groups a key makes of them.
// They make a later query of the same kind faster and its results no different: who acts upon one notices where it does not hold.
//
// Beside rows (device_rows.hpp).
//
//   if (const auto groups = rows.hints().find(question)) plan_for(*groups); else rows.hints().keep(question, count());
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>

#include "gpu_engine/disk_cache.hpp"

namespace query::gpu_engine {

// Thread-safe. The latest few.
class row_hints {
 public:
  std::optional<std::uint64_t> find(const hash128& question) const {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < size_; ++i)
      if (known_[i].question == question) return known_[i].answer;
    return std::nullopt;
  }
  void keep(const hash128& question, std::uint64_t answer) {
    const std::lock_guard hold(lock_);
    for (std::size_t i = 0; i < size_; ++i) {
      if (known_[i].question != question) continue;
      known_[i].answer = answer;
      return;
    }
    known_[next_] = {question, answer};
    next_ = (next_ + 1) % known_.size();
    if (size_ < known_.size()) ++size_;
  }

 private:
  struct hint {
    hash128 question;
    std::uint64_t answer = 0;
  };
  mutable std::mutex lock_;
  std::array<hint, 8> known_{};
  std::size_t size_ = 0, next_ = 0;
};

}  // namespace query::gpu_engine
