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

streamed_rows::streamed_rows(const planner::branch& b, runtime::run_context& context)
    : row_(b.source->row), context_(context), stream_(context.begun, b.number, *b.source, most_kept_bytes(context)) {}

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
  b.rows.first = given_;
  given_ += made->n;
  b.rows.rows = made->memory.data();
  b.rows.n = made->n;
  b.owner = std::move(made);
  stream_.keep({b.owner, b.rows.rows, b.rows.n});
  return true;
}

}  // namespace query::gpu_engine
