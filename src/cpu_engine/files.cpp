#include "cpu_engine/files.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <query/detail/failure.hpp>

#include "cpu_engine/columnar_rows.hpp"
#include "cpu_engine/file_rows.hpp"
#include "cpu_engine/rows_buffer.hpp"
#include "data/csv_file.hpp"
#include "data/file_bytes.hpp"
#include "data/file_list.hpp"
#include "data/file_source.hpp"
#include "data/json_file.hpp"
#include "data/rejected_list.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t most_block_bytes = std::size_t{64} << 20;

[[noreturn]] void fail_changed(data::file_format format, const std::string& path) {
  throw detail::unplaced_error(std::string(data::reading_verb(format)) + ": cannot read the file: " + path +
                               ": it was changed while it was read; write a new file and rename it");
}
std::deque<file_to_read> files_of(const planner::vertex& v, const runtime::run_context& context) {
  const data::file_list files(file_source_of(v));
  std::deque<file_to_read> all;
  const bool may_be_empty = !data::is_columnar(file_source_of(v).format);
  const auto part = context.parts_of_files.find(&v);
  if (part == context.parts_of_files.end()) {
    for (const data::listed_file& f : files.all())
      if (files.all().size() == 1 || !f.state.there || f.state.bytes != 0 || !may_be_empty)
        all.push_back({f.path, f.name, f.state, std::nullopt});
  } else {
    if (files.state() != part->second.of) fail_changed(file_source_of(v).format, files.all().front().path);
    files.each_in(part->second, [&](const data::listed_file& f, const data::file_part& p) { all.push_back({f.path, f.name, f.state, p}); });
  }
  return all;
}

class text_rows final : public file_rows {
 public:
  text_rows(const planner::vertex& v, runtime::run_context& context)
      : parallel_{&context}, row_(v.node->row), source_(file_source_of(v)), files_(files_of(v, context)), fields_(v.wanted.size()),
        wanted_(std::make_unique<bool[]>(fields_)) {
    std::copy(v.wanted.begin(), v.wanted.end(), wanted_.get());
    if (leaves_out()) {
      fields_ = 0;  // which rows there are must not depend on what the query does with them
      rejected_.emplace(source_.options.rejected);
    }
    now_ = open_next();
  }

  detail::table all() override {
    constexpr std::size_t most_open = 256;
    rows_buffer rows(row_, parallel_.context->pool);
    while (now_) {
      if (leaves_out() || now_->is_packed()) {
        append_in_blocks(rows);
        now_ = open_next();
        continue;
      }
      std::vector<std::unique_ptr<data::record_file>> some;
      std::size_t n = 0;
      for (; now_ && !now_->is_packed() && some.size() < most_open; now_ = open_next()) {
        now_->index(parallel_);
        n += now_->rows();
        some.push_back(std::move(now_));
      }
      if (rows.size() == 0) rows.reserve(n);
      for (const auto& file : some) {
        file->read(parallel_, wanted(), rows.extend(file->rows()));
        rows.grow(file->rows());
        parallel_.context->rows_read(file->rows());
      }
    }
    return std::move(rows).to_table();
  }
  // A wrong record is met by who asks for rows behind those in front of it.
  bool next(detail::table& out, std::size_t bytes) override {
    do {
      if (wrong_) std::rethrow_exception(std::exchange(wrong_, nullptr));
      while (now_ && !now_->index_block(parallel_, bytes, rejected())) now_ = open_next();
      if (!now_) return false;
      rows_buffer rows(row_, parallel_.context->pool);
      rows.reserve(now_->rows() ? now_->rows() : 1);
      rows.grow(now_->read_until_wrong(parallel_, wanted(), rows.data(), wrong_, rejected()));
      out = std::move(rows).to_table();
    } while (out.n == 0);
    parallel_.context->rows_read(out.n);
    return true;
  }

 private:
  // These describe the open file. Only one of its blocks is in memory at a time.
  void append_in_blocks(rows_buffer& rows) {
    while (now_->index_block(parallel_, most_block_bytes, rejected())) {
      const std::size_t n = now_->read_until_wrong(parallel_, wanted(), rows.extend(now_->rows()), wrong_, rejected());
      rows.grow(n);
      if (wrong_) std::rethrow_exception(std::exchange(wrong_, nullptr));
      parallel_.context->rows_read(n);
    }
  }
  std::unique_ptr<data::record_file> open_next() {
    if (files_.empty()) return nullptr;
    const file_to_read next = std::move(files_.front());
    files_.pop_front();
    std::unique_ptr<data::record_file> file;
    constexpr std::size_t chunk = data::record_file::default_chunk_bytes;
    if (source_.format == data::file_format::csv)
      file = std::make_unique<data::csv_file>(next.path, source_.options, row_, chunk, next.name);
    else
      file = std::make_unique<data::json_file>(next.path, data::json_options_of(source_.options, source_.unknown), row_, chunk, next.name);
    if (next.part) file->limit_to(*next.part);
    return file;
  }
  bool leaves_out() const { return source_.options.on_error != bad_lines::stop; }
  data::rejections* rejected() { return rejected_ ? &*rejected_ : nullptr; }
  std::span<const bool> wanted() const { return {wanted_.get(), fields_}; }

  file_tasks parallel_;
  const ir::type* row_;
  const data::file_source& source_;
  std::deque<file_to_read> files_;        // that have not been opened
  std::unique_ptr<data::record_file> now_;
  std::size_t fields_;                    // 0: all are wanted
  std::unique_ptr<bool[]> wanted_;
  std::optional<data::rejections> rejected_;  // of bad lines that are left out
  std::exception_ptr wrong_;
};

// Rows are read where the file is mapped. Those of several files that have to lie side by side are copied.
class binary_rows final : public file_rows {
 public:
  binary_rows(const planner::vertex& v, runtime::run_context& context)
      : context_(&context), row_(v.node->row), files_(files_of(v, context)) {
    open_next();
  }

  detail::table all() override {
    if (files_.empty() && now_ && now_->is_mapped()) return rows_from(left_);
    rows_buffer rows(row_, context_->pool);
    for (; now_; open_next()) {
      constexpr std::size_t task_bytes = std::size_t{4} << 20;
      auto* const to = static_cast<std::byte*>(rows.extend(left_));
      const std::size_t bytes = left_ * row_->size;
      file_tasks{context_}((bytes + task_bytes - 1) / task_bytes, [&](std::size_t i) {
        std::memcpy(to + i * task_bytes, at() + i * task_bytes, std::min(task_bytes, bytes - i * task_bytes));
      });
      rows.grow(left_);
      context_->rows_read(left_);
    }
    return std::move(rows).to_table();
  }
  bool next(detail::table& out, std::size_t bytes) override {
    while (now_ && left_ == 0) open_next();
    if (!now_) return false;
    now_->expect_unchanged(path_);
    const std::size_t n = std::clamp<std::size_t>(bytes / row_->size, 1, left_);
    if (now_->is_mapped()) {
      out = rows_from(n);
    } else {  // memory of any alignment
      rows_buffer rows(row_, context_->pool);
      std::memcpy(rows.extend(n), at(), n * row_->size);
      rows.grow(n);
      context_->rows_read(n);
      out = std::move(rows).to_table();
      first_ += n;
      left_ -= n;
    }
    return true;
  }

 private:
  const char* at() const { return now_->text().data() + first_ * row_->size; }
  detail::table rows_from(std::size_t n) {
    detail::table t;
    t.owner = std::const_pointer_cast<data::file_bytes>(now_);
    t.rows = at();
    t.n = n;
    t.type = row_;
    context_->rows_read(n);
    first_ += n;
    left_ -= n;
    return t;
  }
  void open_next() {
    now_ = nullptr;
    first_ = left_ = 0;
    if (files_.empty()) return;
    const file_to_read next = std::move(files_.front());
    files_.pop_front();
    const std::string_view verb = data::reading_verb(data::file_format::binary);
    now_ = std::make_shared<const data::file_bytes>(next.path, verb);
    if (next.state.there && (now_->is_mapped() ? now_->state() != next.state : next.part && now_->text().size() != next.state.bytes))
      fail_changed(data::file_format::binary, next.path);
    path_ = next.path;
    const std::size_t size = row_->size, bytes = now_->text().size();
    if (bytes % size != 0)
      throw detail::unplaced_error(std::string(verb) + ": " + path_ + ": " + std::to_string(bytes) +
                                   " bytes are not a whole number of rows: one of " + std::string(row_->name) + " has " +
                                   std::to_string(size) + ", and the file ends within the one that begins at byte " +
                                   std::to_string(bytes / size * size));
    const auto row_at = [&](std::uint64_t byte) { return static_cast<std::size_t>((byte + size - 1) / size); };
    first_ = next.part ? row_at(next.part->begin) : 0;
    left_ = (next.part ? row_at(next.part->end) : bytes / size) - first_;
  }

  runtime::run_context* context_;
  const ir::type* row_;
  std::deque<file_to_read> files_;  // that have not been opened
  std::string path_;
  std::shared_ptr<const data::file_bytes> now_;
  std::size_t first_ = 0, left_ = 0;  // rows of this file
};

std::unique_ptr<file_rows> open_files(const planner::vertex& v, runtime::run_context& context) {
  if (data::is_columnar(file_source_of(v).format)) return columnar_rows_of(v, files_of(v, context), context);
  if (file_source_of(v).format == data::file_format::binary) return std::make_unique<binary_rows>(v, context);
  return std::make_unique<text_rows>(v, context);
}

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
    if (!reads_nothing(v, context)) files_ = placed(v, [&] { return open_files(v, context); });
  }
  bool next(detail::table& rows, std::size_t) override {
    if (!files_) return false;
    const std::size_t bytes = block_bytes_;
    block_bytes_ = std::min(4 * bytes, most_block_bytes);
    return placed(*v_, [&] { return files_->next(rows, bytes); });
  }
  bool prompt() const override { return false; }

 private:
  const planner::vertex* v_;
  std::unique_ptr<file_rows> files_;
  std::size_t block_bytes_ = std::size_t{64} << 10;
};

}  // namespace

data::file_state state_of_file(const planner::vertex& v) { return data::state_of(file_source_of(v)); }
data::quotes_seen quotes_in_file(const planner::vertex& v, std::uint64_t begin, std::uint64_t end, runtime::run_context& context) {
  const data::file_source& source = file_source_of(v);
  data::quotes_seen seen;
  if (source.format != data::file_format::csv || begin >= end) return seen;
  placed(v, [&] {
    data::file_list(source).each_in({begin, end, false, false, {}}, [&](const data::listed_file& f, const data::file_part& part) {
      if (part.begin == 0) seen.file_begins_here();
      seen.n += data::record_file::quotes_in(f.path, source.options.quote, part.begin, part.end, file_tasks{&context});
    });
  });
  return seen;
}

detail::table read_file(const planner::vertex& v, runtime::run_context& context) {
  if (reads_nothing(v, context)) {
    rows_buffer none(v.node->row, context.pool);
    return std::move(none).to_table();
  }
  return placed(v, [&] { return open_files(v, context)->all(); });
}

std::optional<std::uint64_t> most_table_bytes_of_file(const planner::vertex& v, const runtime::run_context& context) {
  constexpr std::uint64_t most_packed = 1000;  // rows are larger than what the file has of them by no more
  if (!data::is_columnar(file_source_of(v).format) || reads_nothing(v, context)) return std::nullopt;
  try {
    std::deque<file_to_read> files = files_of(v, context);
    std::uint64_t bytes = 0;
    for (const file_to_read& f : files) bytes += f.state.bytes;
    if (bytes < context.pool.limit() / most_packed) return std::nullopt;
    return most_table_bytes_of_columns(v, files);
  } catch (const detail::unplaced_error&) {  // the reader reports it
    return std::nullopt;
  }
}

std::unique_ptr<row_pieces> stream_of_file(const planner::vertex& v, runtime::run_context& context) {
  return std::make_unique<rows_of_file>(v, context);
}

}  // namespace query::cpu
