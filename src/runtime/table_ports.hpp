// Ports between vertices of one process: inputs read tables or sources that are there, outputs collect into one table.
#pragma once

#include <condition_variable>
#include <cstring>
#include <deque>
#include <mutex>

#include <query/errors.hpp>

#include "runtime/local_engine.hpp"

namespace query::runtime {

// The rows that a branch starts from, before its stages. An engine that shares the memory need not ask.
class table_input final : public input_port {
 public:
  table_input(const planner::branch& b, local_engine& local, run_context& context) : branch_(&b), local_(&local), context_(&context) {}
  const ir::type* row() const override { return branch_->table ? branch_->table->row() : branch_->source->row; }
  bool next(block& b) override {
    if (!rows_) {
      planner::branch bare = *branch_;
      bare.stages.clear();
      bare.prefilters.clear();
      bare.row = row();
      rows_ = std::make_unique<detail::table>(local_->collect(bare, {}, *context_));
      at_ = 0;
    }
    context_->cancel.check();
    if (at_ == rows_->n) return false;
    const std::size_t n = rows_->n - at_ < most ? rows_->n - at_ : most;
    b.owner = rows_->owner;
    b.rows = {};
    b.rows.rows = static_cast<std::byte*>(const_cast<void*>(rows_->rows)) + at_ * rows_->type->size;
    b.rows.n = n;
    b.rows.first = at_;
    at_ += n;
    return true;
  }

 private:
  static constexpr std::size_t most = 1 << 16;  // rows a block
  const planner::branch* branch_;
  local_engine* local_;
  run_context* context_;
  std::unique_ptr<detail::table> rows_;
  std::size_t at_ = 0;
};

// Collects what a vertex pushes; a single block that owns its rows becomes the table without a copy.
class table_output final : public output_port {
 public:
  table_output(const ir::type* row, buffer_pool& pool) : row_(row), pool_(&pool) {}
  void tell(signal s) override {
    if (s == signal::end_stream) ended_ = true;
  }
  void push(block b) override {
    const std::lock_guard hold(lock_);
    if (b.kept) {
      kept_ = std::move(b.kept);
      return;
    }
    rows_ += b.rows.n;
    blocks_.push_back(std::move(b));
  }

  vertex_rows take() &&;

 private:
  const ir::type* row_;
  buffer_pool* pool_;
  std::mutex lock_;
  std::deque<block> blocks_;
  std::shared_ptr<kept_rows> kept_;
  std::size_t rows_ = 0;
  bool ended_ = false;
};

}  // namespace query::runtime
