#include "cpu_engine/table_list.hpp"

#include <algorithm>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

table_list::table_list(const ir::type* row, std::vector<detail::table> tables) : row_(row), tables_(std::move(tables)), begins_{0} {
  for (const detail::table& t : tables_) begins_.push_back(begins_.back() + t.n);
}

std::size_t table_list::table_with(std::uint64_t row) const {
  return static_cast<std::size_t>(std::upper_bound(begins_.begin(), begins_.end(), row) - begins_.begin()) - 1;
}

// Side by side; copied where others may still read the tables.
detail::table table_list::fetch(runtime::run_context& context) {
  const std::size_t n = static_cast<std::size_t>(size());
  const bool moves = weak_from_this().use_count() == 1 && row_->life.move;
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  rows_buffer all = construct_rows(row_, n, tasks, [&](std::size_t first, std::size_t k, void* out) {
    new_rows made(row_, out);
    each_run(first, k, [&](const detail::table& t, std::size_t from, std::size_t some) {
      if (moves) move_rows(row_, made.end(), const_cast<std::byte*>(row_at(t, from)), some);
      else copy_rows(row_, made.end(), row_at(t, from), some);
      made.grow(some);
    });
    made.release();
  });
  return std::move(all).to_table();
}

}  // namespace query::cpu
