#include "cpu_engine/sort.hpp"

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/sort_columns.hpp"
#include "cpu_engine/sort_rows.hpp"
#include "cpu_engine/sorted_columns.hpp"
#include "cpu_engine/sorted_partitions.hpp"

namespace query::cpu {

namespace {

detail::table first_in_order(const planner::vertex& v, const input_rows& input, std::size_t wanted, const vertex_tasks& tasks) {
  const detail::table& rows = input.table;
  if (rows.n <= 1) return slice(rows, 0, wanted);
  permutation order;
  {
    const sort_columns columns(v, rows, tasks);
    order = wanted < rows.n ? top_k(columns.keys(), rows.n, wanted, tasks.scheduler(), tasks.pool(), tasks.cancel())
                            : sort_rows(columns.keys(), rows.n, tasks.scheduler(), tasks.pool(), tasks.cancel());
  }
  return take_rows_by_id(input, order, tasks);
}

detail::table sort_as_values(const planner::vertex& v, const detail::table& rows, const vertex_tasks& tasks) {
  rows_buffer sorted(rows.type, tasks.pool());
  sort_values(row_at(rows, 0), sorted.extend(rows.n), rows.n, rows.type->k, v.node->order[0].descending, tasks.scheduler(), tasks.pool(),
              tasks.cancel());
  sorted.grow(rows.n);
  return std::move(sorted).to_table();
}

// Top-k of an input that is computed on the way: only the best rows so far are kept. Ties are won by earlier rows, which come
// first among the candidates of a window.
detail::table best_of_stream(const planner::vertex& v, pipeline& input, const vertex_tasks& tasks) {
  const auto wanted = static_cast<std::size_t>(v.limit);
  part_windows parts(input);
  std::vector<piece> candidates;
  bool more = true;
  constexpr std::size_t memory_share = 16;
  const std::size_t memory = tasks.pool().limit() ? tasks.pool().limit() / memory_share : ~std::size_t{0};
  const std::size_t at_once = std::max(4 * wanted, std::min(4 * part_rows, memory / input.row()->size));
  while (more) {
    while (rows_in(candidates) < at_once && more)
      more = parts.run_next(input.row(), [](const pipeline::part& part, rows_buffer& out) {
        append_rows_sink sink(out);
        part.run(sink);
      }, candidates);
    const input_rows rows{side_by_side(std::move(candidates), input.row(), tasks), true};
    const std::size_t k = std::min(wanted, rows.table.n);
    candidates.clear();
    candidates.emplace_back(first_in_order(v, rows, k, tasks));
  }
  return std::move(candidates[0]).to_table();
}

}  // namespace

bool sorts_values(const detail::logical& order, const ir::type* row) {
  return order.functions.size() == 1 && !order.has_own_order() && ir::is_arithmetic(row->k) && order.functions[0].result == row &&
         part_of_row(order.functions[0]) == 0;
}

runtime::vertex_rows order_rows(const planner::vertex& v, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  if (v.limit == 0) return rows_buffer(v.node->row, context.pool).to_table();
  const auto in_memory = [&](const input_rows& rows) {
    if (v.limit >= rows.table.n && rows.table.n > 1 && sorts_values(*v.node, rows.table.type)) return sort_as_values(v, rows.table, tasks);
    return first_in_order(v, rows, static_cast<std::size_t>(std::min<std::uint64_t>(v.limit, rows.table.n)), tasks);
  };
  if (v.gives_columns)
    if (auto rows = order_columns(v, tasks)) return std::move(*rows);
  if (v.limit <= few_rows) {
    pipeline input(v.inputs[0], v.captures, context, false, true);
    const auto whole = input.as_table();
    if (whole) context.rows_read(whole->n);
    return whole ? in_memory({*whole, false}) : best_of_stream(v, input, tasks);
  }
  return sort_as_memory_allows(v, tasks, in_memory);
}

}  // namespace query::cpu
