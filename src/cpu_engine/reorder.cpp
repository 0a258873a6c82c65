// reverse and sample.
#include "cpu_engine/table_verbs.hpp"
#include "runtime/drawn_rows.hpp"

namespace query::cpu {

detail::table reverse_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const input_rows rows = collect_input(v, 0, tasks);
  const std::size_t n = rows.table.n;
  permutation ids(static_cast<std::size_t>(std::min<std::uint64_t>(n, v.limit)), n, tasks.pool());
  tasks.chunks(ids.size(), [&](std::size_t first, std::size_t k) {
    for (std::size_t i = first; i < first + k; ++i) ids.set(i, n - 1 - i);
  });
  return take_rows_by_id(rows, ids, tasks);
}

detail::table sample_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const input_rows rows = collect_input(v, 0, tasks);
  const std::size_t n = rows.table.n;
  if (v.node->count >= n) return rows.table;
  const auto wanted = static_cast<std::size_t>(v.node->count);
  permutation ids(wanted, n, tasks.pool());
  std::size_t drawn = 0;
  runtime::draw_rows(n, wanted, v.node->seed, [&](std::uint64_t row) { ids.set(drawn++, static_cast<std::size_t>(row)); },
                     [&] { tasks.cancel().check(); });
  return take_rows_by_id(rows, ids, tasks);
}

}  // namespace query::cpu
