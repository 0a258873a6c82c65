#include "cpu_engine/sent_rows.hpp"

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include <query/errors.hpp>

#include "cpu_engine/exchange_pages.hpp"
#include "cpu_engine/heavy_rows.hpp"
#include "cpu_engine/made_tables.hpp"
#include "cpu_engine/padding.hpp"
#include "cpu_engine/partitioned_tables.hpp"
#include "cpu_engine/range_exchange.hpp"
#include "cpu_engine/value_bytes.hpp"
#include "cpu_engine/vertex_tasks.hpp"
#include "planner/partitions.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t piece_share = 16;  // of the memory, for a piece of the rows
constexpr std::size_t whole_share = 8;   // rows of fewer bytes are written at once

detail::table between(const detail::table& rows, std::size_t first, std::size_t end) { return slice(rows, first, end - first); }

const std::vector<std::size_t>& ends_of(const detail::table& rows) {
  const runtime::partition_bounds* const bounds = runtime::bounds_of(rows);
  if (!bounds) throw internal_error("query: an exchange has no partitions");
  return bounds->ends;
}

detail::table rows_with(const detail::table& rows, const std::vector<std::uint64_t>& ids, const planner::vertex& v,
                        runtime::run_context& context) {
  return take_rows_by_id({rows, false}, ids.data(), ids.size(), vertex_tasks(context, v.captures));
}

// The pages that write_pages makes, of rows that come in pieces.
class page_filler {
 public:
  page_filler(const ir::type& row, std::size_t bucket, runtime::bucket_sink take, runtime::run_context& context)
      : row_(&row), unused_(row), bucket_(bucket), take_(take), context_(&context) {}

  void append(const detail::table& rows) {
    const auto* at = static_cast<const std::byte*>(rows.rows);
    for (std::size_t i = 0; i < rows.n; ++i, at += row_->size) {
      if (i % 1024 == 0) context_->cancel.check();
      const std::size_t n = bytes_of(*row_, at), before = bytes_.size();
      if (rows_ && before + n > runtime::page_bytes) flush();
      bytes_.resize(bytes_.size() + n);
      (void)write_bytes(*row_, at, bytes_.data() + bytes_.size() - n);
      ++rows_;
    }
  }
  void flush() {
    if (!rows_) return;
    runtime::row_pages one(1);
    runtime::row_page& page = one.front();
    page.bytes = context_->pool.allocate(bytes_.size());
    if (!bytes_.empty()) std::memcpy(page.bytes.data(), bytes_.data(), bytes_.size());
    page.rows = std::exchange(rows_, 0);
    page.repeatable = unused_.known();
    if (unused_) unused_.clear(page.bytes.as<std::byte>(), page.rows);
    bytes_.clear();
    take_(bucket_, std::move(one));
  }

 private:
  const ir::type* row_;
  padding unused_;
  std::size_t bucket_;
  runtime::bucket_sink take_;
  runtime::run_context* context_;
  std::vector<std::byte> bytes_;
  std::size_t rows_ = 0;
};

// Puts pieces apart as the whole would be: each receiver's rows stay in their order.
class piecewise {
 public:
  piecewise(const planner::vertex& v, const ir::type& row, std::size_t receivers, const std::vector<std::size_t>* ends,
            const detail::table* begins, const runtime::heavy_keys& heavy, runtime::bucket_sink take, runtime::run_context& context)
      : v_(&v), ends_(ends), begins_(begins), heavy_(&heavy), context_(&context) {
    for (std::size_t r = 0; r < (ends || begins ? receivers : 1); ++r) to_.emplace_back(row, r, take, context);
  }
  void append(const detail::table& piece) {
    if (begins_) {
      const detail::table placed = put_in_ranges(*v_, piece, *begins_, to_.size(), *context_);
      const std::vector<std::size_t>& ends = ends_of(placed);
      for (std::size_t r = 0; r < to_.size(); ++r) to_[r].append(between(placed, r ? ends[r - 1] : 0, ends[r]));
    } else if (!ends_) {
      to_.front().append(piece);
    } else if (*heavy_) {
      const auto ids = receivers_of(*v_, piece, row_, *ends_, *heavy_, *context_);
      for (std::size_t r = 0; r < to_.size(); ++r) to_[r].append(rows_with(piece, ids[r], *v_, *context_));
    } else {
      for (std::size_t at = 0; at < piece.n;) {
        while ((*ends_)[now_] <= row_ + at) ++now_;
        const std::size_t end = std::min(piece.n, (*ends_)[now_] - row_);
        to_[now_].append(between(piece, at, end));
        at = end;
      }
    }
    row_ += piece.n;
  }
  void finish() {
    for (page_filler& f : to_) f.flush();
  }

 private:
  const planner::vertex* v_;
  const std::vector<std::size_t>* ends_;
  const detail::table* begins_;
  const runtime::heavy_keys* heavy_;
  runtime::run_context* context_;
  std::vector<page_filler> to_;
  std::size_t row_ = 0, now_ = 0;
};

}  // namespace

void send_rows(const planner::vertex& v, const runtime::vertex_rows& rows, std::size_t receivers, const detail::table* begins,
               const runtime::heavy_keys& heavy, runtime::bucket_sink take, runtime::run_context& context) {
  const bool by_hash = v.moves == planner::exchange::hash;
  std::vector<std::size_t> places;  // where the rows of each receiver end
  if (begins && planner::sends_by_place(v)) {
    const auto* const ends = static_cast<const std::uint64_t*>(begins->rows);
    places.assign(ends, ends + begins->n);
    if (places.size() != receivers || places.back() != static_cast<std::size_t>(rows.here() ? rows.rows.n : rows.kept->size()) ||
        !std::is_sorted(places.begin(), places.end()))
      throw cluster_error("cluster: an exchange by place has other rows than were counted");
    begins = nullptr;
  }
  const std::size_t limit = context.temp ? context.pool.limit() : 0;
  if (const auto made = rows.here() || !limit ? nullptr : std::dynamic_pointer_cast<const made_tables>(rows.kept)) {
    const auto* const partitioned = dynamic_cast<const partitioned_tables*>(made.get());
    if (!by_hash || partitioned) {
      const std::vector<std::size_t>* const ends = by_hash ? &partitioned->ends() : !places.empty() ? &places : nullptr;
      piecewise to(v, *made->row(), receivers, ends, begins, heavy, take, context);
      table_pass pass(made, context);
      for (detail::table t; pass.next(t);) to.append(t);
      return to.finish();
    }
  }
  const detail::table& all = context.table_of(v);
  if (!all.n) return;
  const bool skewed = by_hash && heavy;
  if ((begins || skewed) && limit && all.n * all.type->size > limit / whole_share) {
    piecewise to(v, *all.type, receivers, skewed ? &ends_of(all) : nullptr, begins, heavy, take, context);
    const std::size_t most = std::max<std::size_t>(1, limit / piece_share / all.type->size);
    for (std::size_t first = 0; first < all.n; first += most) to.append(between(all, first, std::min(all.n, first + most)));
    return to.finish();
  }
  const detail::table apart = begins ? put_in_ranges(v, all, *begins, receivers, context) : all;
  const auto write = [&](std::size_t r, const detail::table& part) {
    if (part.n) write_pages(part, [&](runtime::row_pages pages) { take(r, std::move(pages)); }, context);
  };
  if (skewed) {
    const auto ids = receivers_of(v, all, 0, ends_of(all), heavy, context);
    for (std::size_t r = 0; r < ids.size(); ++r) write(r, rows_with(all, ids[r], v, context));
    return;
  }
  const std::vector<std::size_t> ends = by_hash || begins ? ends_of(apart) : !places.empty() ? places : std::vector<std::size_t>{all.n};
  for (std::size_t r = 0; r < ends.size(); ++r) write(r, between(apart, r ? ends[r - 1] : 0, ends[r]));
}

}  // namespace query::cpu
