#include "gpu_engine/out_of_core/host_blocks.hpp"

#include <algorithm>
#include <vector>

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
    kept->columns.push_back(b.rows.columns[i] ? static_cast<const std::byte*>(b.rows.columns[i]) + first * size
                                              : nullptr);
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

namespace {

constexpr std::size_t rows_a_call = 1 << 16;  // between two looks at the cancel flag

// What a stream's length may cost the host's memory, so that the CPU can go on where the device fails early.
std::size_t most_kept_bytes(const runtime::run_context& context) {
  constexpr std::size_t most = std::size_t{64} << 20, part_of_limit = 16;
  const std::size_t limit = context.pool.limit();
  return limit ? std::min(most, limit / part_of_limit) : most;
}

struct made_rows {
  const ir::type* type;
  runtime::buffer memory;
  std::size_t n = 0;
  ~made_rows() {
    if (!type->trivial && n) type->life.destroy(memory.data(), n);
  }
};

}  // namespace

streamed_rows::streamed_rows(const planner::branch& b, keep which, runtime::run_context& context)
    : row_(b.source->row),
      which_(which),
      context_(context),
      begun_(context.begun.open(b.number, *b.source)),
      stream_(context.begun, b.number, *b.source, most_kept_bytes(context)) {}

void streamed_rows::put_away(std::uint64_t end) {
  std::vector<host_block> gone;  // outside of the lock
  const std::lock_guard hold(mutex_);
  while (!under_way_.empty() && under_way_.front().rows.first < end) {
    host_block& b = under_way_.front();
    const std::uint64_t behind = b.rows.first + b.rows.n;
    if (behind > end) {
      b = slice(b, row_, end - b.rows.first, behind - end);
      return;
    }
    gone.push_back(std::move(b));
    under_way_.pop_front();
  }
}

bool streamed_rows::give_back(std::vector<runtime::begun_streams::rows> instead) {
  const std::lock_guard hold(mutex_);
  if (begun_->kept == begun_->taken || (!row_->trivial && !row_->life.copy)) return false;
  for (const host_block& b : under_way_) instead.push_back({b.owner, b.rows.rows, b.rows.n});
  begun_->pieces = std::move(instead);
  begun_->kept = begun_->taken;
  return true;
}

bool streamed_rows::next(std::size_t most, host_block& b) {
  auto made = std::make_shared<made_rows>();
  made->type = row_;
  made->memory = context_.pool.allocate(runtime::buffer_pool::checked_bytes(most, row_->size));
  while (made->n < most) {
    context_.cancel.check();
    const std::size_t n =
        stream_.next(made->memory.as<std::byte>() + made->n * row_->size, std::min(most - made->n, rows_a_call));
    if (!n) break;
    made->n += n;
  }
  if (!made->n) return false;
  b = {};
  b.rows.rows = made->memory.data();
  b.rows.n = made->n;
  b.owner = std::move(made);
  const std::lock_guard hold(mutex_);
  b.rows.first = given_;
  given_ += b.rows.n;
  stream_.keep({b.owner, b.rows.rows, b.rows.n});
  if (which_ == keep::until_put_away) under_way_.push_back(b);
  return true;
}

}  // namespace query::gpu_engine
