#include "gpu_engine/out_of_core/block_feed.hpp"

#include <algorithm>

#include "gpu_engine/upload.hpp"

namespace query::gpu_engine {

std::shared_ptr<const device_rows> slice(const std::shared_ptr<gpu_session>& gpu,
                                         const std::shared_ptr<const device_rows>& rows, std::uint64_t first,
                                         std::uint64_t n) {
  const input_layout& in = rows->layout();
  auto part = std::make_shared<device_rows>(gpu, in.row, n);
  for (std::size_t c = 0; c < in.columns.size(); ++c)
    part->add(in.columns[c], rows->column(c) + first * device_layout(in.columns[c].type).size);
  part->keep(rows);
  for (const auto& heap : rows->heaps()) part->keep_heap(heap);
  return part;
}

block_feed::brought block_feed::bring() {
  brought b;
  if (!returned_.empty()) {
    b.from = std::move(returned_.front());
    returned_.pop_front();
    if (b.from.rows.n > most_) {
      returned_.push_front(slice(b.from, row_, most_, b.from.rows.n - most_));
      b.from = slice(b.from, row_, 0, most_);
    }
  } else if (ended_ || !source_.next(most_, b.from)) {
    ended_ = true;
    b.from = {};
    return b;
  }
  try {
    const stream_lease s = gpu_->lease();
    b.rows = upload_rows(gpu_, b.from.rows, row_, columns_, *s, context_);
    s->synchronize(context_.cancel);
  } catch (const out_of_memory&) {
    b.rows = nullptr;
    b.no_memory = std::current_exception();
  }
  return b;
}

void block_feed::start() {
  ahead_ = std::async(std::launch::async, [this] { return bring(); });
}

device_block block_feed::next() {
  for (;;) {
    if (!ahead_.valid()) start();
    brought b = ahead_.get();
    if (!b.from.rows.n) return {};
    if (b.rows) {
      failed_ = false;
      start();
      return {std::move(b.rows), std::move(b.from)};
    }
    // The block before is gone by now: what does not fit even so is too long.
    if (failed_) {
      if (b.from.rows.n <= fewest_rows_of_block) std::rethrow_exception(b.no_memory);
      most_ = std::max(b.from.rows.n / 2, fewest_rows_of_block);
    }
    failed_ = true;
    returned_.push_front(std::move(b.from));
  }
}

void block_feed::give_way(std::size_t most_rows) {
  if (ahead_.valid()) {  // it reads most_, and must not see two of them
    brought b = ahead_.get();
    if (b.from.rows.n) returned_.push_front(std::move(b.from));
  }
  most_ = std::min(most_, std::max(most_rows, fewest_rows_of_block));
}

}  // namespace query::gpu_engine
