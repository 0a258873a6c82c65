#include "cpu_engine/stored_sequence.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include <query/cpu/segment_form.hpp>

namespace query::cpu {

stored_sequence::stored_sequence(const ir::type* row, const planner::column_schema* columns, std::size_t parts,
                                 runtime::run_context& context, std::vector<std::shared_ptr<const void>> lives_on, std::size_t row_heap)
    : made_tables(row),
      records_(!columns),
      columns_(columns ? *columns : planner::column_schema::of_rows(row)),
      lives_on_(std::move(lives_on)),
      pool_(&context.pool),
      row_heap_(row_heap),
      store_(columns_, 0, parts, false, context) {}

void stored_sequence::writer::append(std::span<const column> columns, std::size_t n, bool owned) {
  static constexpr std::uint16_t partition[column_batch_rows] = {};
  for (std::size_t from = 0; from < n; from += column_batch_rows) {
    some_.clear();
    for (const column& c : columns) some_.push_back(part_of(c, from));
    writer_.append(some_, std::min(column_batch_rows, n - from), partition, owned);
  }
}
void stored_sequence::writer::push(const detail::row_block& b) {
  const column rows{b.rows, row_->size, 0, row_->size, nullptr, true};
  append({&rows, 1}, b.n, b.owned);
}

void stored_sequence::finish(const runtime::run_context& context) {
  store_.drop_spares();
  const std::vector<std::size_t> chunks = store_.rows_by_chunk(0);
  const std::uint64_t n = std::accumulate(chunks.begin(), chunks.end(), std::uint64_t{0});
  if (n) row_heap_ = std::max(row_heap_, static_cast<std::size_t>(store_.heap_bytes(0) / n));
  const std::size_t wanted = rows_a_table(row()->size + row_heap_, context.pool);
  table_of next{0, 0, 0};
  const auto add = [&] {
    tables_.push_back(next);
    add_table(next.rows);
    next = {next.end_chunk, next.end_chunk, 0};
  };
  for (const std::size_t rows : chunks) {
    if (next.rows && next.rows + rows > wanted) add();
    ++next.end_chunk;
    next.rows += rows;
  }
  if (next.rows) add();
}

detail::table stored_sequence::made(std::size_t t, runtime::scheduler&) const {
  const table_of& of = tables_[t];
  rows_buffer rows(row(), *pool_);
  rows.reserve(of.rows);
  store_.read(0, of.first_chunk, of.end_chunk, [&](const stored_rows& r) {
    void* const at = rows.extend(r.rows.n);
    if (records_) {
      gather_column(r.rows.columns[0], row(), r.rows.n, at, row()->size, false);
      rows.grow(r.rows.n);
      return;
    }
    if (row()->life.construct) row()->life.construct(at, r.rows.n);
    rows.grow(r.rows.n);
    assemble_rows(columns_, r.rows, at, row()->size);
    rows.heap().add(*row(), at, r.rows.n, *pool_);
  });
  return std::move(rows).to_table();
}

}  // namespace query::cpu
