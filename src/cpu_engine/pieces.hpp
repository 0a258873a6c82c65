// Results of tasks, put side by side in the tasks' order: how an operator whose output has no known length makes its table.
//
//   part_windows parts(pipeline);
//   std::vector<piece> pieces;
//   parts.run_rest(out_type, [&](const pipeline::part& part, rows_buffer& out) { ... }, pieces);
//   return side_by_side(std::move(pieces), out_type, tasks);
#pragma once

#include <optional>
#include <vector>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

// Some rows of the result: in memory of their own, or lent by a table.
class piece {
 public:
  explicit piece(rows_buffer rows) : own_(std::move(rows)) {}
  explicit piece(detail::table lent) : lent_(std::move(lent)) {}

  std::size_t size() const { return own_ ? own_->size() : lent_.n; }
  const void* data() const { return own_ ? own_->data() : lent_.rows; }
  void* movable() const { return own_ ? own_->data() : nullptr; }  // null: the rows may only be copied
  rows_buffer* own() { return own_ ? &*own_ : nullptr; }
  std::size_t heap_bytes() const { return own_ ? own_->heap().bytes() : 0; }  // what its own rows have there, if that is counted
  detail::table to_table() &&;

 private:
  std::optional<rows_buffer> own_;
  detail::table lent_;
};

std::size_t rows_in(const std::vector<piece>& pieces);
std::size_t row_heap_in(const std::vector<piece>& pieces);  // bytes of the heap a row, as far as it is counted

// A single piece as it is; else all rows in new memory.
detail::table side_by_side(std::vector<piece> pieces, const ir::type* type, const vertex_tasks& tasks);

class append_rows_sink final : public detail::batch_sink {
 public:
  explicit append_rows_sink(rows_buffer& to) : to_(&to) {}
  void push(const detail::row_block& b) override { to_->append(b); }

 private:
  rows_buffer* to_;
};

// How many parts of so many bytes are collected at a time: a few for each thread, unless memory is small.
std::size_t parts_at_once(const runtime::run_context& context, std::size_t part_bytes);
// Appends the rows of a pipeline to `to`, `window` parts at a time, while fits(rows collected so far, about what a row owns on the heap) is
// true. False: it did not fit, and the pipeline may have more rows.
using rows_fit = function_ref<bool(std::size_t rows, std::size_t row_heap)>;
bool collect_while_it_fits(pipeline& p, std::size_t window, rows_fit fits, std::vector<piece>& to);

// The parts of a pipeline, a window at a time. What each part gives is a piece; they are appended in order.
class part_windows {
 public:
  using body = function_ref<void(const pipeline::part& part, rows_buffer& out)>;

  explicit part_windows(pipeline& p) : pipeline_(&p) {}
  bool ended() const { return ended_; }
  std::size_t next_part() const { return next_; }
  std::size_t next_window() const { return window_; }  // parts that run_next will run, at most
  // The next window: first one part, then twice as many each time, up to a few for each thread. False at the end.
  bool run_next(const ir::type* out, body f, std::vector<piece>& to);
  void run_rest(const ir::type* out, body f, std::vector<piece>& to);

 private:
  bool run(std::size_t most, const ir::type* out, body f, std::vector<piece>& to);
  std::size_t most_at_once(const ir::type* out) const { return parts_at_once(pipeline_->context(), part_rows * out->size); }

  pipeline* pipeline_;
  std::size_t next_ = 0;  // number of the next part
  std::size_t window_ = 1;
  bool ended_ = false;
};

}  // namespace query::cpu
