// The rows of a vertex as tables that are made when a reader comes to them, so that they need not lie in memory at once.
//
// A reader that takes each row once, in order, opens a pass: a few tables at a time are made side by side, and go when it has passed them.
// There may be several passes, one after the other or at once: each makes its own tables. A reader that needs all rows side by side
// fetches them.
//
//   table_pass pass(rows, context);
//   detail::table t;
//   while (pass.next(t)) use(t);
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cpu_engine/rows_buffer.hpp"
#include "runtime/run_context.hpp"

namespace query::cpu {

class made_tables : public runtime::kept_rows {
 public:
  std::string_view engine() const final { return "cpu"; }
  bool stays() const final { return false; }
  std::uint64_t size() const final { return begins_.back(); }
  detail::table fetch(runtime::run_context& context) override;

  const ir::type* row() const { return row_; }
  std::size_t tables() const { return begins_.size() - 1; }
  std::size_t row_bytes() const;  // of memory, about what making a row takes
  std::uint64_t begin_of(std::size_t t) const { return begins_[t]; }  // number of its first row; one more: the end

  // Makes tables [first, first + to.size()), side by side. The rows are the caller's, who may move from them.
  void make(std::size_t first, std::span<detail::table> to, runtime::run_context& context) const;
  detail::table make_one(std::size_t t, runtime::scheduler& scheduler) const { return made(t, scheduler); }
  std::size_t bytes_to_make(std::size_t t) const { return bytes_for(t); }  // of memory
  // How many tables from number `first` on have room in memory while they are made; at least one.
  std::size_t together(std::size_t first, const runtime::run_context& context) const;

 protected:
  explicit made_tables(const ir::type* row) : row_(row), begins_{0} {}
  void add_table(std::uint64_t rows) { begins_.push_back(begins_.back() + rows); }
  // Of rows that take so many bytes, where a table may have any number of them.
  static std::size_t rows_a_table(std::size_t row_bytes, const runtime::buffer_pool& pool);

 private:
  virtual detail::table made(std::size_t t, runtime::scheduler& scheduler) const = 0;
  virtual std::size_t bytes_for(std::size_t t) const = 0;

  const ir::type* row_;
  std::vector<std::uint64_t> begins_;
};

// The rows of a branch if they are made as they are read, and nothing happens to them; null: not so.
std::shared_ptr<made_tables> made_as_they_are(const planner::branch& b, const runtime::run_context& context);
// Rows [first, first + n) of others, or fewer at their end.
std::shared_ptr<made_tables> range_of(std::shared_ptr<made_tables> of, std::uint64_t first, std::uint64_t n);

class table_pass {
 public:
  table_pass(std::shared_ptr<const made_tables> of, runtime::run_context& context) : of_(std::move(of)), context_(&context) {}

  const made_tables& rows() const { return *of_; }
  std::uint64_t made() const { return of_->begin_of(next_); }  // rows before it have been made
  void make_more();                                            // unless all have been
  void passed(std::uint64_t row);                              // those before it are not read again
  // The next table; the one before it is not read again. False at the end.
  bool next(detail::table& t);

  // Calls f(rows, n) for the runs of rows [first, first + n), each of one table, which have been made and not been passed.
  template <class F> void each_run(std::uint64_t first, std::uint64_t n, F f) const {
    std::size_t t = next_ - held_.size();
    for (const detail::table& held : held_) {
      const std::uint64_t begin = of_->begin_of(t++);
      if (begin + held.n <= first) continue;
      if (!n) return;
      const std::uint64_t from = first - begin, k = std::min<std::uint64_t>(n, held.n - from);
      f(static_cast<std::byte*>(const_cast<void*>(held.rows)) + from * of_->row()->size, static_cast<std::size_t>(k));
      first += k;
      n -= k;
    }
  }

 private:
  std::shared_ptr<const made_tables> of_;
  runtime::run_context* context_;
  std::deque<detail::table> held_;  // the last ones before next_
  std::size_t next_ = 0;            // table to make
};

}  // namespace query::cpu
