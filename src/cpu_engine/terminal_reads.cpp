#include "cpu_engine/terminal_reads.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {

using detail::row_block;

void fold_branch(const planner::branch& b, const std::vector<planner::binding>& captures, detail::fold_kind k, detail::fold_state& state,
                 runtime::run_context& context) {
  pipeline p(b, captures, context, false, true);
  const std::size_t window =
      p.parts() ? std::max<std::size_t>(*p.parts(), 1) : static_cast<std::size_t>(context.scheduler.concurrency()) * 4;
  bool more = true;
  while (more) {
    std::vector<detail::fold_state> states(window);
    const std::size_t first = p.next_part();
    more = p.run_some(window, [&](const pipeline::part& part) { part.fold(k, states[part.index - first]); });
    for (const detail::fold_state& s : states) merge_folds(k, p.row(), state, s);
  }
}

namespace {

class append_sink final : public detail::batch_sink {
 public:
  explicit append_sink(rows_buffer& to) : to_(&to) {}
  void push(const row_block& b) override { to_->append(b); }

 private:
  rows_buffer* to_;
};

struct stopped_by_reader {};

// Parts whose rows lie in memory until the reader has them.
// heap: bytes of it that those of one part own.
std::size_t parts_in_memory(const pipeline& p, std::size_t heap) {
  const runtime::run_context& context = p.context();
  const std::size_t most = static_cast<std::size_t>(context.scheduler.concurrency()) * 4;
  if (!context.pool.limit()) return most;
  return std::clamp<std::size_t>(context.pool.limit() / 8 / (p.rows_a_part() * p.row()->size + heap), 1, most);
}

// `first`: number of its first row, and then of the row after its last one.
row_block block_of(const detail::table& t, std::uint64_t& first) {
  row_block b;
  b.rows = const_cast<void*>(t.rows);
  b.n = t.n;
  b.first = first;
  first += t.n;
  return b;
}

}  // namespace

void stream_branch(const planner::branch& b, const std::vector<planner::binding>& captures, function_ref<void(std::uint64_t)> expected,
                   function_ref<bool(const row_block&)> take, runtime::run_context& context) {
  pipeline p(b, captures, context, false, true);
  if (p.made_as_read() && p.source_as_it_is()) {
    expected(*p.source_rows());
    std::uint64_t first = 0;
    for (detail::table t; p.next_made(t);) {
      row_block all = block_of(t, first);
      all.owned = true;
      if (!take(all)) return;
    }
    return;
  }
  if (p.streams_as_it_is()) {
    std::uint64_t first = 0;
    for (detail::table t; p.next_piece(t);)
      if (!take(block_of(t, first))) return;
    return;
  }
  if (p.in_place()) {
    expected(*p.source_rows());
    std::uint64_t first = 0;
    for (const detail::table& t : p.as_tables()) {
      context.rows_read(t.n);
      if (!take(block_of(t, first))) return;
    }
    return;
  }
  if (p.keeps_rows() && p.source_rows()) expected(*p.source_rows());

  // Parts run in parallel; whoever ends the part that is next in order hands over all that are ready. The parts of one window, or a
  // slow reader would have all rows in memory; nobody waits for it within a window, as a thread that waits is one that no query has.
  shorten_parts_of_large_rows(p);
  const std::size_t window = parts_in_memory(p, 0);
  std::mutex lock;
  std::map<std::size_t, rows_buffer> ready;
  std::size_t next = 0;
  bool handing_over = false;
  bool stopped = false;
  std::exception_ptr failure;  // what made it stop: another part can be the first to end because of that
  const auto drain = [&](std::unique_lock<std::mutex>& hold) {
    if (handing_over) return;
    handing_over = true;
    for (auto it = ready.find(next); !stopped && it != ready.end(); it = ready.find(++next)) {
      const rows_buffer rows = std::move(it->second);
      ready.erase(it);
      row_block out;
      out.rows = rows.data();
      out.n = rows.size();
      out.owned = true;
      hold.unlock();
      bool go_on = true;
      try {
        go_on = !out.n || take(out);
      } catch (...) {
        hold.lock();
        stopped = true;
        failure = std::current_exception();
        throw;
      }
      hold.lock();
      if (!go_on) stopped = true;
    }
    handing_over = false;
  };
  const auto run = [&](const pipeline::part& part) {
    {
      const std::lock_guard hold(lock);
      if (stopped) throw stopped_by_reader{};
    }
    rows_buffer rows(p.row(), context.pool);
    append_sink sink(rows);
    part.run(sink);
    std::unique_lock hold(lock);
    ready.emplace(part.index, std::move(rows));
    drain(hold);
  };
  try {
    while (p.run_some(window, run)) {
    }
  } catch (const stopped_by_reader&) {
    if (failure) std::rethrow_exception(failure);
  }
}

namespace {

class window_cursor final : public detail::row_cursor {
 public:
  window_cursor(const planner::branch& b, const std::vector<planner::binding>& captures, runtime::run_context& context)
      : pipeline_(b, captures, context, false, true), context_(&context) {
    if (pipeline_.in_place()) whole_ = pipeline_.as_tables();
    shorten_parts_of_large_rows(pipeline_);
  }
  bool next(row_block& b) override {
    context_->cancel.check();
    if (whole_) {
      if (tables_done_ == whole_->size()) return false;
      b = block_of((*whole_)[tables_done_++], first_);
      context_->rows_read(b.n);
      return true;
    }
    if (pipeline_.made_as_read() && pipeline_.source_as_it_is()) {
      if (!pipeline_.next_made(made_)) return false;
      b = block_of(made_, first_);
      return true;
    }
    if (pipeline_.streams_as_it_is()) return next_piece(b);
    while (true) {
      if (failure_) std::rethrow_exception(failure_);
      if (at_ == window_.size() && !fill()) return false;
      failure_ = errors_[at_];  // for who asks for the rows behind those in front of it
      b = {};
      b.rows = window_[at_].data();
      b.n = window_[at_].size();
      ++at_;
      if (b.n) return true;
    }
  }

 private:
  bool next_piece(row_block& b) {
    if (failure_) std::rethrow_exception(failure_);
    try {
      if (!pipeline_.next_piece(made_)) return false;
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    b = block_of(made_, first_);
    return true;
  }
  // What parts throw waits for its turn: a reader sees the same rows before it, whatever the number of threads.
  bool fill() {
    window_.clear();
    errors_.assign(size_, nullptr);
    at_ = 0;
    for (std::size_t i = 0; i < size_; ++i) window_.emplace_back(pipeline_.row(), context_->pool);
    const std::size_t base = pipeline_.next_part();
    std::atomic<std::size_t> first_wrong = size_;  // parts behind it need not run
    try {
      if (!pipeline_.run_some(size_, [&](const pipeline::part& part) {
            const std::size_t i = part.index - base;
            if (i > first_wrong.load(std::memory_order_relaxed)) return;
            append_sink sink(window_[i]);
            try {
              part.run(sink);
            } catch (const cancelled&) {
              throw;
            } catch (...) {
              errors_[i] = std::current_exception();
              std::size_t known = first_wrong.load(std::memory_order_relaxed);
              while (i < known && !first_wrong.compare_exchange_weak(known, i, std::memory_order_relaxed)) {
              }
            }
          })) {
        window_.clear();
        return false;
      }
    } catch (...) {
      failure_ = std::current_exception();
      throw;
    }
    std::size_t heap = 0;
    for (const rows_buffer& rows : window_) heap = std::max(heap, rows.heap().bytes());
    // A reader that stays gets larger windows; one that wanted the first row has paid for one part.
    size_ = std::min(size_ * 2, parts_in_memory(pipeline_, heap));
    return !runs_shorter(base, first_wrong) || !window_.empty() || fill();
  }
  // Rows that own more than there was room for are made again, fewer at once.
  bool runs_shorter(std::size_t base, std::size_t wrong) {
    constexpr std::size_t fewer = 16;
    if (wrong == errors_.size() || pipeline_.rows_a_part() < 2 || !heap_charge::counts(*pipeline_.row(), context_->pool)) return false;
    try {
      std::rethrow_exception(errors_[wrong]);
    } catch (const resource_error&) {
      if (!pipeline_.shorten_parts(base + wrong, std::max<std::size_t>(1, pipeline_.rows_a_part() / fewer))) return false;
    } catch (...) {
      return false;
    }
    window_.erase(window_.begin() + static_cast<std::ptrdiff_t>(wrong), window_.end());
    errors_.resize(wrong);
    size_ = 1;
    return true;
  }

  pipeline pipeline_;
  runtime::run_context* context_;
  std::optional<std::vector<detail::table>> whole_;  // rows to which nothing happens
  std::size_t tables_done_ = 0;
  detail::table made_;  // the one that the reader has, where they are made as they are read
  std::uint64_t first_ = 0;
  std::vector<rows_buffer> window_;
  std::vector<std::exception_ptr> errors_;  // by part of the window
  std::exception_ptr failure_;              // the rows in front of it have been given
  std::size_t at_ = 0, size_ = 1;
};

}  // namespace

std::unique_ptr<detail::row_cursor> open_branch(const planner::branch& b, const std::vector<planner::binding>& captures,
                                                runtime::run_context& context) {
  return std::make_unique<window_cursor>(b, captures, context);
}

}  // namespace query::cpu
