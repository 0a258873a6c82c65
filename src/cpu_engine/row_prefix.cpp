#include "cpu_engine/row_prefix.hpp"

#include <query/cpu/segment_form.hpp>
#include <query/errors.hpp>

#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {

namespace {

// Leaves a part whose further rows are not wanted; caught where the part was started.
struct enough {};

// Number of the first of n rows that fails. Rows after it are tested only if that does not throw.
std::size_t passing(const function_calls& test, const ir::type* type, const void* rows, std::size_t n, interpreter::scratch& scratch) {
  bool pass[batch_rows];
  try {
    test.filter(rows, n, pass, scratch);
  } catch (...) {
    for (std::size_t i = 0; i < n; ++i) {
      test.filter(row_at(rows, type, i), 1, pass, scratch);
      if (!pass[0]) return i;
    }
    return n;
  }
  return static_cast<std::size_t>(std::find(pass, pass + n, false) - pass);
}

class prefix_sink final : public detail::batch_sink {
 public:
  prefix_sink(rows_buffer& out, std::uint64_t most, const function_calls* test) : out_(&out), most_(most), test_(test) {}

  void push(const detail::row_block& b) override {
    if (!test_) {
      append(b.rows, b.n, b.owned);
    } else {
      for (std::size_t from = 0; from < b.n; from += batch_rows) {
        const std::size_t n = std::min(batch_rows, b.n - from);
        std::byte* rows = static_cast<std::byte*>(b.rows) + from * out_->type()->size;
        const std::size_t good = passing(*test_, out_->type(), rows, n, scratch_);
        append(rows, good, b.owned);
        if (good < n) {
          failed_ = true;
          throw enough{};
        }
      }
    }
    if (out_->size() >= most_) throw enough{};
  }
  bool failed() const { return failed_; }

 private:
  void append(void* rows, std::size_t n, bool owned) {
    detail::row_block b;
    b.rows = rows;
    b.n = static_cast<std::size_t>(std::min<std::uint64_t>(n, most_ - out_->size()));
    b.owned = owned;
    out_->append(b);
  }
  rows_buffer* out_;
  std::uint64_t most_;
  const function_calls* test_;
  interpreter::scratch scratch_;
  bool failed_ = false;
};

}  // namespace

row_prefix::row_prefix(const planner::branch& b, const planner::vertex& v, const vertex_tasks& tasks, const function_calls* test)
    : pipeline_(b, v.captures, tasks.context(), false, true), tasks_(&tasks), test_(test), parts_(pipeline_), whole_(pipeline_.as_table()),
      made_(pipeline_.made_as_read() && pipeline_.source_as_it_is()) {
  shorten_parts_of_large_rows(pipeline_);
  if (!whole_) return;
  size_ = whole_->n;
  ended_ = true;
}

void row_prefix::reach(std::uint64_t rows) {
  if (whole_ && test_) {
    whole_->n = first_failing(*whole_, *test_, *tasks_);
    size_ = whole_->n;
  }
  while (size_ < rows && advance(rows - size_)) {
  }
}

void row_prefix::run_part(const pipeline::part& part, rows_buffer& out, std::uint64_t most, bool& stopped) const {
  prefix_sink sink(out, most, test_);
  try {
    part.run(sink);
  } catch (const enough&) {
    stopped = sink.failed();
  }
}

bool row_prefix::advance(std::uint64_t most) {
  if (ended_) return false;
  const std::size_t first = pieces_.size();
  // By part of this window: what it threw, and whether a row failed the test. Parts without rows have no piece.
  struct outcome {
    std::exception_ptr error;
    bool stopped = false;
    std::size_t rows = 0;
  };
  std::vector<outcome> outcomes(parts_.next_window());
  const std::size_t base = parts_.next_part();
  const bool ran = parts_.run_next(pipeline_.row(), [&](const pipeline::part& part, rows_buffer& out) {
    outcome& o = outcomes[part.index - base];
    try {
      run_part(part, out, most, o.stopped);
    } catch (const cancelled&) {
      throw;
    } catch (...) {
      o.error = std::current_exception();
    }
    o.rows = out.size();
  }, pieces_);
  ended_ = !ran || parts_.ended();
  // In order, as one thread would have met them.
  std::uint64_t here = 0;
  std::size_t kept = first;
  for (const outcome& o : outcomes) {
    if (o.rows) ++kept;
    here += o.rows;
    if (here >= most) break;
    if (o.error) std::rethrow_exception(o.error);
    if (o.stopped) {
      ended_ = true;
      break;
    }
  }
  while (pieces_.size() > kept) pieces_.pop_back();
  size_ += here;
  return ran;
}

bool row_prefix::next(detail::table& rows, std::uint64_t most) {
  if (whole_ || made_) return next_slice(rows);
  while (given_ == pieces_.size()) {
    pieces_.clear();
    given_ = 0;
    if (!advance(most)) return false;
  }
  rows = std::move(pieces_[given_++]).to_table();
  return true;
}

// Slices grow, so that a reader that stays has work for several threads, to a size that does not depend on their number: sums are
// added up slice by slice.
bool row_prefix::next_slice(detail::table& rows) {
  constexpr std::size_t most_parts = 16, most_bytes = std::size_t{16} << 20;
  // Those of rows that are made as they are read are copies.
  const std::size_t limit = whole_ ? 0 : tasks_->pool().limit(), bytes = limit ? std::min(most_bytes, limit / 4) : most_bytes;
  std::size_t most = std::clamp<std::size_t>(bytes / pipeline_.row()->size, 1, most_parts * part_rows);
  if (limit && most > piece_part_rows) most -= most % piece_part_rows;
  slice_ = std::min(slice_, most);
  rows = whole_ ? slice(*whole_, given_, slice_) : ended_ ? detail::table{} : made_slice();
  if (whole_) tasks_->context().rows_read(rows.n);
  slice_ = std::min(2 * slice_, most);
  if (test_ && rows.n) {
    const std::size_t good = first_failing(rows, *test_, *tasks_);
    if (good < rows.n) ended_ = true;
    if (good < rows.n && whole_) whole_->n = given_ + good;
    rows.n = good;
  }
  given_ += rows.n;
  return rows.n != 0;
}

detail::table row_prefix::made_slice() {
  rows_buffer rows(pipeline_.row(), tasks_->pool());
  rows.reserve(static_cast<std::size_t>(std::min<std::uint64_t>(slice_, *pipeline_.source_rows() - given_)));
  while (rows.size() < slice_) {
    if (!rest_.n && !pipeline_.next_made(rest_)) break;
    const std::size_t k = std::min(rest_.n, slice_ - rows.size());
    rows.take_rows(const_cast<void*>(rest_.rows), k);
    rest_ = slice(rest_, k, ~0ull);
  }
  return std::move(rows).to_table();
}

std::vector<piece> row_prefix::pieces() && {
  if (whole_) tasks_->context().rows_read(whole_->n);
  if (whole_) pieces_.emplace_back(std::move(*whole_));
  whole_.reset();
  return std::move(pieces_);
}

detail::table row_prefix::to_table(std::uint64_t most) && {
  if (whole_) {
    tasks_->context().rows_read(std::min<std::uint64_t>(whole_->n, most));
    return slice(*whole_, 0, most);
  }
  return slice(side_by_side(std::move(pieces_), pipeline_.row(), *tasks_), 0, most);
}

std::size_t first_failing(const detail::table& rows, const function_calls& test, const vertex_tasks& tasks) {
  std::size_t window = 1;
  for (std::size_t from = 0; from < rows.n;) {
    const std::size_t chunks = std::min(window, chunks_of(rows.n - from));
    std::vector<std::size_t> good(chunks);
    std::vector<std::exception_ptr> errors(chunks);
    tasks.for_each(chunks, [&](std::size_t c) {
      interpreter::scratch scratch;
      const std::size_t start = from + c * part_rows, n = std::min(part_rows, rows.n - start);
      try {
        while (good[c] < n) {
          const std::size_t m = std::min(batch_rows, n - good[c]);
          const std::size_t k = passing(test, rows.type, row_at(rows, start + good[c]), m, scratch);
          good[c] += k;
          if (k < m) break;
        }
      } catch (...) {
        errors[c] = std::current_exception();
      }
    });
    for (std::size_t c = 0; c < chunks; ++c) {
      const std::size_t start = from + c * part_rows;
      if (errors[c]) std::rethrow_exception(errors[c]);
      if (good[c] < std::min(part_rows, rows.n - start)) return start + good[c];
    }
    from += chunks * part_rows;
    window = std::min<std::size_t>(2 * window, 4 * static_cast<std::size_t>(tasks.scheduler().concurrency()));
  }
  return rows.n;
}

}  // namespace query::cpu
