#include "gpu_engine/out_of_core/host_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <query/errors.hpp>

namespace query::gpu_engine {

host_block slice(const host_block& b, const ir::type* row, std::size_t first, std::size_t n) {
  host_block part = b;
  part.rows.n = n;
  part.rows.first = b.rows.first + first;
  if (!b.rows.columns) {
    part.rows.rows = static_cast<std::byte*>(b.rows.rows) + first * row->size;
    return part;
  }
  struct bases {
    std::vector<const void*> columns;
    std::shared_ptr<const void> below;
  };
  auto kept = std::make_shared<bases>();
  kept->below = b.owner;
  const std::size_t fields = row->k == ir::kind::record ? row->field_list.size() : 1;
  for (std::size_t i = 0; i < fields; ++i) {
    const std::size_t size = row->k == ir::kind::record ? row->field_list[i].of->size : row->size;
    kept->columns.push_back(b.rows.columns[i] ? static_cast<const std::byte*>(b.rows.columns[i]) + first * size : nullptr);
  }
  part.rows.columns = kept->columns.data();
  part.owner = std::move(kept);
  return part;
}

bool whole_rows::next(std::size_t most, host_block& b) {
  if (at_ == all_.rows.n) return false;
  const std::size_t n = std::min(most, all_.rows.n - at_);
  b = slice(all_, row_, at_, n);
  at_ += n;
  return true;
}

streamed_rows::streamed_rows(const planner::branch& source, const ir::type* row, runtime::run_context& context)
    : row_(row), context_(context) {
  if (!context.local) throw internal_error("gpu: a stream has nobody who reads it");
  source_.source = source.source;
  source_.row = row;
  cursor_ = context.local->open(source_, {}, context);
}

bool streamed_rows::next(std::size_t most, host_block& b) {
  const auto more = [&] {
    while (!left_.n) {
      context_.cancel.check();
      left_ = {};
      if (!cursor_->next(left_)) return false;
    }
    return true;
  };
  if (!more()) return false;
  if (left_.columns) throw internal_error("gpu: a stream of columns");
  // Rows that own memory stay where they are: as many as there are now.
  if (!row_->trivial) {
    const std::size_t n = std::min(most, left_.n);
    const host_block batch{left_, nullptr};
    b = slice(batch, row_, 0, n);
    left_ = slice(batch, row_, n, left_.n - n).rows;
    return true;
  }
  auto memory = std::make_shared<runtime::buffer>(context_.pool.allocate(runtime::buffer_pool::checked_bytes(most, row_->size)));
  std::size_t have = 0;
  while (have < most && more()) {
    const std::size_t n = std::min(most - have, left_.n);
    std::memcpy(memory->as<std::byte>() + have * row_->size, left_.rows, n * row_->size);
    left_.rows = static_cast<std::byte*>(left_.rows) + n * row_->size;
    left_.n -= n;
    have += n;
  }
  b.rows.rows = memory->data();
  b.rows.n = have;
  b.owner = std::move(memory);
  return true;
}

}  // namespace query::gpu_engine
