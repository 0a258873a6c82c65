#include "cpu_engine/column_list.hpp"

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

column_list::column_list(const ir::type* row, planner::column_schema schema, std::vector<piece> pieces,
                         std::vector<std::shared_ptr<const void>> sources)
    : row_(row), schema_(std::move(schema)), pieces_(std::move(pieces)), sources_(std::move(sources)), begins_{0} {
  for (const piece& p : pieces_) begins_.push_back(begins_.back() + p.n);
}

detail::table column_list::fetch(runtime::run_context& context) {
  const vertex_tasks tasks(context, std::vector<detail::binding>{});
  rows_buffer all = construct_rows(row_, static_cast<std::size_t>(size()), tasks, [&](std::size_t first, std::size_t n, void* out) {
    new_rows made(row_, out);
    each_batch(first, n, rows_a_batch(row_->size), [&](const column_batch& b) {
      void* const rows = made.end();
      if (row_->life.construct) row_->life.construct(rows, b.n);
      made.grow(b.n);
      assemble_rows(schema_, b, rows, row_->size);
    });
    made.release();
  });
  return std::move(all).to_table();
}

}  // namespace query::cpu
