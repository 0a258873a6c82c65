#include "gpu_engine/out_of_core/block_feed.hpp"

#include <algorithm>
#include <system_error>

#include <query/detail/stop.hpp>

#include "gpu_engine/upload.hpp"
#include "runtime/engine_failure.hpp"

namespace query::gpu_engine {

std::shared_ptr<const device_rows> slice(const std::shared_ptr<gpu_session>& gpu,
                                         const std::shared_ptr<const device_rows>& rows, std::uint64_t first,
                                         std::uint64_t n) {
  const input_layout& in = rows->layout();
  auto part = std::make_shared<device_rows>(gpu, in.row, n);
  for (std::size_t c = 0; c < in.columns.size(); ++c)
    part->add(in.columns[c], rows->column(c) + first * (in.columns[c].counted ? 1 : device_layout(in.columns[c].type).size));
  part->keep(rows);
  for (const auto& heap : rows->heaps()) part->keep_heap(heap);
  return part;
}

block_feed::brought block_feed::bring(std::size_t most, const reserved_room* room) {
  brought b;
  if (!returned_.empty()) {
    b.from = std::move(returned_.front());
    returned_.pop_front();
    if (b.from.rows.n > most) {
      returned_.push_front(slice(b.from, row_, most, b.from.rows.n - most));
      b.from = slice(b.from, row_, 0, most);
    }
  } else if (ended_ || !source_.next(most, b.from)) {
    ended_ = true;
    b.from = {};
    return b;
  }
  try {
    if (!stream_) stream_.emplace(*gpu_);
    const stream& s = **stream_;
    const reserved_room::serving from_it(b.from.rows.n <= fewest_rows_of_block ? room : nullptr);
    event copied(gpu_->on());
    b.rows = upload_rows(gpu_, b.from.rows, row_, columns_, s, context_);
    copied.record(s);
    b.copied = std::move(copied);
  } catch (const out_of_memory&) {
    b.rows = nullptr;
    b.no_memory = std::current_exception();
  }
  return b;
}

void block_feed::work() {
  const detail::stop_scope scope(context_.cancel.state());
  const scoped_context here(gpu_->on());  // once for all blocks
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || asked_ != 0; });
    if (stopping_) return;
    --asked_;
    working_ = true;
    const std::size_t most = most_;
    const reserved_room* const room = room_;
    lock.unlock();
    brought b;
    try {
      b = bring(most, room);
    } catch (...) {
      b.error = std::current_exception();
    }
    lock.lock();
    working_ = false;
    if (!b.rows) asked_ = 0;
    ready_.push_back(std::move(b));
    changed_.notify_all();
  }
}

block_feed::~block_feed() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void block_feed::ask() {
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& e) {
      throw runtime::engine_failure(std::string("gpu: no thread to bring blocks of rows: ") + e.what());
    }
  }
  {
    const std::lock_guard lock(mutex_);
    const std::size_t there = ready_.size() + (working_ ? 1 : 0);
    const bool stands = !ready_.empty() && !ready_.back().rows;  // what failed comes before others
    asked_ = stands || there >= most_asked ? 0 : most_asked - there;
  }
  changed_.notify_all();
}

// Ends with the thread's work, which looks at the cancel flag.
block_feed::brought block_feed::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !ready_.empty(); });
  brought b = std::move(ready_.front());
  ready_.pop_front();
  if (b.error) std::rethrow_exception(b.error);
  return b;
}

device_block block_feed::next() {
  for (;;) {
    ask();
    brought b = take();
    if (!b.from.rows.n) return {};
    if (b.rows) {
      b.copied->wait(context_.cancel);
      if (failed_) good_ = 0;  // it had to wait for the one before to go
      else if (b.from.rows.n >= most_ && ++good_ >= patience_) grow();
      failed_ = false;
      return {std::move(b.rows), std::move(b.from)};
    }
    // The thread stands still. The block before is gone by now: what does not fit even so is too long.
    if (failed_) {
      if (b.from.rows.n <= fewest()) {
        returned_.push_front(std::move(b.from));
        std::rethrow_exception(b.no_memory);
      }
      shrink_to(b.from.rows.n / 2);
    }
    failed_ = true;
    returned_.push_front(std::move(b.from));
  }
}

void block_feed::bring_to(const reserved_room* room) {
  const std::lock_guard lock(mutex_);
  room_ = room;
}

void block_feed::give_way(std::size_t most_rows) {
  std::deque<brought> ahead;
  {
    std::unique_lock lock(mutex_);
    asked_ = 0;
    changed_.wait(lock, [&] { return !working_; });  // it reads most_, and must not see two of them
    ahead.swap(ready_);
  }
  // The last one first: they are read again in their order.
  for (; !ahead.empty(); ahead.pop_back()) {
    brought& b = ahead.back();
    if (b.error) std::rethrow_exception(b.error);
    if (b.from.rows.n) returned_.push_front(std::move(b.from));
  }
  shrink_to(most_rows);
}

void block_feed::shrink_to(std::size_t rows) {
  good_ = 0;
  rows = std::max(rows, fewest());
  if (rows >= most_) return;
  if (grown_) patience_ = std::min(2 * patience_, most_patience);
  grown_ = false;
  const std::lock_guard lock(mutex_);
  most_ = rows;
}

void block_feed::grow() {
  good_ = 0;
  if (most_ >= start_) return;
  grown_ = true;
  const std::lock_guard lock(mutex_);
  most_ = std::min(2 * most_, start_);
}

}  // namespace query::gpu_engine
