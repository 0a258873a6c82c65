#include "cpu_engine/positioned_rows.hpp"

#include <algorithm>
#include <bit>
#include <limits>

#include <query/cpu/segment_form.hpp>

namespace query::cpu {

namespace {

// While a table is made: rows as they come and in order, positions, and what a sort by 64 bits takes.
std::size_t bytes_a_row(const ir::type* row) { return 2 * row->size + 6 * sizeof(std::uint64_t) + sizeof(std::uint32_t); }

bool is_narrow(std::uint64_t end) { return end <= std::numeric_limits<std::uint32_t>::max(); }

}  // namespace

positioned_rows::positioned_rows(const planner::vertex& v, const vertex_tasks& tasks, const planner::column_schema* columns,
                                 std::uint64_t end, std::uint64_t expected, std::size_t parts, std::size_t room,
                                 std::size_t row_heap, std::vector<column> places)
    : ordered_tables(stored_order::by_position(v, columns, is_narrow(end), std::move(places)), v, tasks.context(),
                     {bytes_a_row(v.node->row), row_heap}, room, false),
      narrow_(is_narrow(end)),
      shift_(narrow_ ? 0 : static_cast<unsigned>(std::bit_width(end)) - 32),
      ranges_(static_cast<std::size_t>(std::min<std::uint64_t>(partitions_for(expected), std::max<std::uint64_t>(end, 1)))),
      factor_((std::uint64_t{ranges_} << 32) / ((end >> shift_) + 1)),
      first_(&add_level(ranges_, parts)) {}

void positioned_rows::writer::append(std::span<const column> columns, std::size_t n, const std::uint64_t* positions, bool owned) {
  for (std::size_t from = 0; from < n; from += column_batch_rows) {
    const std::size_t k = std::min(column_batch_rows, n - from);
    some_.clear();
    for (const column& c : columns) some_.push_back(part_of(c, from));
    const std::size_t width = to_->narrow_ ? sizeof(std::uint32_t) : sizeof(std::uint64_t);
    some_.push_back({to_->narrow_ ? static_cast<const void*>(narrow_) : positions + from, width, 0, width, nullptr, true});
    for (std::size_t i = 0; i < k; ++i) {
      narrow_[i] = static_cast<std::uint32_t>(positions[from + i]);
      ranges_[i] = to_->range_of(positions[from + i]);
    }
    writer_.append(some_, k, ranges_, owned);
  }
}

void positioned_rows::finish(std::shared_ptr<const void> lives_on) {
  lives_on_ = std::move(lives_on);
  close(*first_);
}

}  // namespace query::cpu
