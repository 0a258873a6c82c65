#include "cpu_engine/made_tables.hpp"

#include <algorithm>
#include <utility>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

namespace {
constexpr std::size_t memory_share = 4;  // of the session's memory, for the tables that are made at once
}

std::size_t made_tables::together(std::size_t first, const runtime::run_context& context) const {
  const std::size_t most = std::min(tables() - first, static_cast<std::size_t>(std::max(1, context.scheduler.concurrency())));
  const std::size_t room = context.pool.limit() ? context.pool.limit() / memory_share : ~std::size_t{0};
  std::size_t n = 0, bytes = 0;
  while (n < most && (n == 0 || bytes + bytes_for(first + n) <= room)) bytes += bytes_for(first + n++);
  return n;
}

std::size_t made_tables::row_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t t = 0; t < tables(); ++t) bytes += bytes_for(t);
  return size() ? static_cast<std::size_t>(bytes / size()) : 0;
}

void made_tables::make(std::size_t first, std::span<detail::table> to, runtime::run_context& context) const {
  if (to.size() == 1) {
    to[0] = made(first, context.scheduler);
    return;
  }
  context.scheduler.for_each(
      to.size(),
      [&](std::size_t i) {
        runtime::serial_scheduler alone;
        to[i] = made(first + i, alone);
      },
      context.cancel);
}

detail::table made_tables::fetch(runtime::run_context& context) {
  rows_buffer all(row_, context.pool);
  all.reserve(std::max<std::size_t>(1, static_cast<std::size_t>(size())));
  for (std::size_t t = 0; t < tables();) {
    std::vector<detail::table> some(together(t, context));
    make(t, some, context);
    for (detail::table& rows : some) {
      context.cancel.check();
      all.take_table(rows);
      rows = {};
    }
    t += some.size();
  }
  return std::move(all).to_table();
}

namespace {

class range_of_tables final : public made_tables {
 public:
  range_of_tables(std::shared_ptr<const made_tables> of, std::uint64_t first, std::uint64_t n)
      : made_tables(of->row()), of_(std::move(of)) {
    while (n && of_->begin_of(first_table_ + 1) <= first) ++first_table_;
    skipped_ = first - of_->begin_of(first_table_);
    for (std::size_t t = first_table_; size() < n; ++t) add_table(std::min(of_->begin_of(t + 1), first + n) - first - size());
  }

 private:
  std::size_t bytes_for(std::size_t t) const override { return of_->bytes_to_make(first_table_ + t); }
  detail::table made(std::size_t t, runtime::scheduler& scheduler) const override {
    return slice(of_->make_one(first_table_ + t, scheduler), t == 0 ? skipped_ : 0, begin_of(t + 1) - begin_of(t));
  }

  std::shared_ptr<const made_tables> of_;
  std::size_t first_table_ = 0;
  std::uint64_t skipped_ = 0;  // rows of the first table
};

}  // namespace

std::size_t made_tables::rows_a_table(std::size_t row_bytes, const runtime::buffer_pool& pool) {
  constexpr std::size_t most_table_bytes = std::size_t{4} << 20, share = 64;  // of the session's memory, for a table
  const std::size_t limit = pool.limit(), bytes = limit ? std::min(most_table_bytes, limit / share) : most_table_bytes;
  return std::max<std::size_t>(1, bytes / row_bytes);
}

std::shared_ptr<made_tables> made_as_they_are(const planner::branch& b, const runtime::run_context& context) {
  if (!b.stages.empty() || !b.prefilters.empty()) return nullptr;
  const runtime::vertex_rows* const rows = context.rows_before(b);
  return rows && !rows->here() ? std::dynamic_pointer_cast<made_tables>(rows->kept) : nullptr;
}

std::shared_ptr<made_tables> range_of(std::shared_ptr<made_tables> of, std::uint64_t first, std::uint64_t n) {
  first = std::min(first, of->size());
  n = std::min(n, of->size() - first);
  if (n == of->size()) return of;
  return std::make_shared<range_of_tables>(std::move(of), first, n);
}

void table_pass::make_more() {
  if (next_ == of_->tables()) return;
  std::vector<detail::table> more(of_->together(next_, *context_));
  of_->make(next_, more, *context_);
  for (detail::table& t : more) held_.push_back(std::move(t));
  next_ += more.size();
}

void table_pass::passed(std::uint64_t row) {
  while (!held_.empty() && of_->begin_of(next_ - held_.size() + 1) <= row) held_.pop_front();
}

bool table_pass::next(detail::table& t) {
  t = {};
  if (held_.empty()) make_more();
  if (held_.empty()) return false;
  t = std::move(held_.front());
  held_.pop_front();
  return true;
}

}  // namespace query::cpu
