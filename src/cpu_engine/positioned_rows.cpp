#include "cpu_engine/positioned_rows.hpp"

#include <query/cpu/typed_segment.hpp>

namespace query::cpu {

namespace {

// While a table is made: rows as they come and in order, positions, and what a sort by 64 bits takes.
std::size_t bytes_a_row(const ir::type* row) { return 2 * row->size + 6 * sizeof(std::uint64_t) + sizeof(std::uint32_t); }

}  // namespace

positioned_rows::positioned_rows(const planner::vertex& v, const vertex_tasks& tasks, const planner::column_schema* columns,
                                 std::uint64_t end, std::uint64_t expected, std::size_t parts, std::size_t room,
                                 std::size_t row_heap)
    : ordered_tables(stored_order::by_position(v, columns), v, tasks.context(), {bytes_a_row(v.node->row), row_heap}, room, false) {
  // Instead of a sample: ranges as long as each other.
  const std::size_t wanted = partitions_for(expected);
  std::vector<rows_buffer> bounds;
  rows_buffer& positions = bounds.emplace_back(order().shapes[0].type, tasks.pool());
  for (std::size_t i = 0; i < wanted; ++i) {
    const std::uint64_t at = end / wanted * i + end % wanted * i / wanted;
    positions.append_rows(&at, 1);
  }
  first_ = &add_level(std::move(bounds), wanted, parts);
}

void positioned_rows::writer::append(std::span<const column> columns, std::size_t n, const std::uint64_t* positions, bool owned) {
  for (std::size_t from = 0; from < n; from += column_batch_rows) {
    some_.clear();
    for (const column& c : columns) some_.push_back(part_of(c, from));
    some_.push_back({positions + from, sizeof(std::uint64_t), 0, sizeof(std::uint64_t), nullptr, true});
    writer_.append(some_, std::min(column_batch_rows, n - from), owned);
  }
}

void positioned_rows::finish(std::shared_ptr<const void> lives_on) {
  lives_on_ = std::move(lives_on);
  close(*first_);
}

}  // namespace query::cpu
