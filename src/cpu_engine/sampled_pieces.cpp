#include "cpu_engine/sampled_pieces.hpp"

#include <exception>
#include <memory>
#include <utility>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/vertex_streams.hpp"

namespace query::cpu {

namespace {

// A stream whose first piece has been read, or that has failed at it.
class looked_into final : public row_pieces {
 public:
  explicit looked_into(std::unique_ptr<row_pieces> rows) : rows_(std::move(rows)) {
    try {
      has_first_ = rows_->next(first_, batch_rows);
      ended_ = !has_first_;
    } catch (...) {
      failure_ = std::current_exception();
    }
  }
  const detail::table* first() const { return has_first_ ? &first_ : nullptr; }

  bool next(detail::table& rows, std::size_t about) override {
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    if (ended_) return false;
    if (!has_first_) return rows_->next(rows, about);
    has_first_ = false;
    rows = std::move(first_);
    return true;
  }
  bool prompt() const override { return rows_->prompt(); }

 private:
  std::unique_ptr<row_pieces> rows_;
  detail::table first_;
  bool has_first_ = false, ended_ = false;
  std::exception_ptr failure_;
};

std::unique_ptr<row_pieces> opened(const planner::branch& b, runtime::run_context& context) {
  if (b.table) return open_vertex(*b.table, context);
  // Who failed has taken rows that a second stream may not give.
  if (context.begun.has(b.number))
    return generated_rows(std::make_unique<runtime::begun_reader>(context.begun, b.number, *b.source, 0), b.source->row, context);
  return generated_rows(b.source->open(b.source->source.get()), b.source->row, context);
}

// A shared stream as one of its reader's own.
class held final : public row_pieces {
 public:
  explicit held(std::shared_ptr<row_pieces> rows) : rows_(std::move(rows)) {}
  bool next(detail::table& rows, std::size_t about) override { return rows_->next(rows, about); }
  bool prompt() const override { return rows_->prompt(); }

 private:
  std::shared_ptr<row_pieces> rows_;
};

}  // namespace

bool comes_in_pieces(const planner::branch& b, const runtime::run_context& context) {
  return b.table ? context.streams(*b.table) : b.source->open != nullptr;
}

std::unique_ptr<row_pieces> open_pieces(const planner::branch& b, runtime::run_context& context) {
  if (std::shared_ptr<void> s = context.sampled.take(b.number)) return std::make_unique<held>(std::static_pointer_cast<row_pieces>(s));
  return opened(b, context);
}

void sample_pieces(const planner::branch& b, runtime::run_context& context, function_ref<void(const detail::table&)> take) {
  auto rows = std::make_shared<looked_into>(opened(b, context));
  context.sampled.keep(b.number, std::shared_ptr<row_pieces>(rows));
  if (rows->first()) take(*rows->first());
}

}  // namespace query::cpu
