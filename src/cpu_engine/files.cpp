#include "cpu_engine/files.hpp"

#include <algorithm>
#include <exception>
#include <memory>
#include <span>
#include <utility>

#include <query/detail/failure.hpp>

#include "cpu_engine/rows_buffer.hpp"
#include "data/csv_file.hpp"
#include "data/file_source.hpp"

namespace query::cpu {

namespace {

// The file of a vertex, opened, and how this run reads it.
class vertex_file {
 public:
  vertex_file(const planner::vertex& v, runtime::run_context& context)
      : vertex_file(v, *static_cast<const data::file_source*>(v.node->options.get()), context) {}

  detail::table all() {
    file_.index(parallel_);
    rows_buffer rows = memory();
    file_.read(parallel_, wanted(), rows.data());
    rows.grow(file_.rows());
    parallel_.context->rows_read(file_.rows());
    return std::move(rows).to_table();
  }
  // The next rows, at least one, of about so many bytes of text; false at the end. A wrong record is met by who asks for rows behind
  // those in front of it.
  bool next(detail::table& out, std::size_t bytes) {
    do {
      if (wrong_) std::rethrow_exception(std::exchange(wrong_, nullptr));
      if (!file_.index_block(parallel_, bytes)) return false;
      rows_buffer rows = memory();
      rows.grow(file_.read_until_wrong(parallel_, wanted(), rows.data(), wrong_));
      out = std::move(rows).to_table();
    } while (out.n == 0);
    parallel_.context->rows_read(out.n);
    return true;
  }

 private:
  vertex_file(const planner::vertex& v, const data::file_source& source, runtime::run_context& context)
      : parallel_{&context}, row_(v.node->row), file_(source.path, source.options, row_), fields_(v.wanted.size()),
        wanted_(std::make_unique<bool[]>(fields_)) {
    std::copy(v.wanted.begin(), v.wanted.end(), wanted_.get());
    if (const auto part = context.parts_of_files.find(&v); part != context.parts_of_files.end()) file_.limit_to(part->second);
  }
  rows_buffer memory() const {
    rows_buffer rows(row_, parallel_.context->pool);
    rows.reserve(file_.rows() ? file_.rows() : 1);
    return rows;
  }
  std::span<const bool> wanted() const { return {wanted_.get(), fields_}; }

  struct tasks {
    runtime::run_context* context;
    void operator()(std::size_t n, function_ref<void(std::size_t)> task) const { context->scheduler.for_each(n, task, context->cancel); }
  } parallel_;
  const ir::type* row_;
  data::csv_file file_;
  std::size_t fields_;  // 0: all are wanted
  std::unique_ptr<bool[]> wanted_;
  std::exception_ptr wrong_;
};

// What is wrong in a file is said with the place of its read_csv.
template <class F> auto placed(const planner::vertex& v, F f) {
  try {
    return f();
  } catch (const detail::unplaced_error& e) {
    detail::fail_at(e, v.node->where);
  }
}

// Of a file that partitions read in parts: has this one nothing of it? Its process may not have the file.
bool reads_nothing(const planner::vertex& v, const runtime::run_context& context) {
  const auto part = context.parts_of_files.find(&v);
  return part != context.parts_of_files.end() && part->second.begin >= part->second.end;
}

// Blocks begin small, for who wants the first rows, and grow to what keeps many threads busy, whatever their number.
class rows_of_file final : public row_pieces {
 public:
  rows_of_file(const planner::vertex& v, runtime::run_context& context) : v_(&v) {
    if (!reads_nothing(v, context)) file_ = placed(v, [&] { return std::make_unique<vertex_file>(v, context); });
  }
  bool next(detail::table& rows, std::size_t) override {
    if (!file_) return false;
    const std::size_t bytes = block_bytes_;
    block_bytes_ = std::min(4 * bytes, most_bytes);
    return placed(*v_, [&] { return file_->next(rows, bytes); });
  }
  bool prompt() const override { return false; }

 private:
  static constexpr std::size_t most_bytes = std::size_t{64} << 20;

  const planner::vertex* v_;
  std::unique_ptr<vertex_file> file_;
  std::size_t block_bytes_ = std::size_t{64} << 10;
};

}  // namespace

data::file_state state_of_file(const planner::vertex& v) {
  return data::csv_bytes::state_of(static_cast<const data::file_source*>(v.node->options.get())->path);
}
std::uint64_t quotes_in_file(const planner::vertex& v, std::uint64_t begin, std::uint64_t end, runtime::run_context& context) {
  return placed(v, [&] {
    return data::csv_file::quotes_in(*static_cast<const data::file_source*>(v.node->options.get()), begin, end,
                                     [&](std::size_t n, function_ref<void(std::size_t)> task) {
                                       context.scheduler.for_each(n, task, context.cancel);
                                     });
  });
}

detail::table read_file(const planner::vertex& v, runtime::run_context& context) {
  if (reads_nothing(v, context)) {
    rows_buffer none(v.node->row, context.pool);
    return std::move(none).to_table();
  }
  return placed(v, [&] { return vertex_file(v, context).all(); });
}

std::unique_ptr<row_pieces> stream_of_file(const planner::vertex& v, runtime::run_context& context) {
  return std::make_unique<rows_of_file>(v, context);
}

}  // namespace query::cpu
