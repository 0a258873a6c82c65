// Rows that cached() keeps a column a field, and the same rows whole, which are made of the columns when a function first captures
// them. Both stay as long as the rows do; the whole ones go before others lack memory.
//
//   const auto cached = std::dynamic_pointer_cast<const cached_rows>(kept);
//   if (const auto whole = cached->whole_rows()) read(*whole); else cached->keep_whole(rows_together(*cached, s, context));
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "gpu_engine/device_rows.hpp"

namespace query::gpu_engine {

class cached_rows final : public device_rows {
 public:
  explicit cached_rows(const device_rows& columns) : device_rows(columns.gpu(), columns.layout().row, columns.size()) {
    for (std::size_t i = 0; i < columns.layout().columns.size(); ++i) add(columns.layout().columns[i], columns.column(i));
    for (const auto& owner : columns.owners()) keep(owner);
    for (const auto& heap : columns.heaps()) keep_heap(heap);
  }

  // Thread-safe: queries of several threads read the same rows.
  std::shared_ptr<const device_rows> whole_rows() const {  // null: nobody has kept them
    const std::lock_guard hold(lock_);
    return whole_;
  }
  void keep_whole(std::shared_ptr<const device_rows> rows) const {
    const std::lock_guard hold(lock_);
    whole_ = std::move(rows);
  }
  // False: there were none, or somebody reads them, whose kernels know nothing of the stream that their memory is of.
  bool forget_whole() const noexcept {
    const std::lock_guard hold(lock_);
    if (whole_.use_count() != 1) return false;
    whole_.reset();
    return true;
  }

 private:
  mutable std::mutex lock_;
  mutable std::shared_ptr<const device_rows> whole_;
};

}  // namespace query::gpu_engine
