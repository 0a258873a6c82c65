#include "cpu_engine/sort.hpp"

#include <deque>

#include <query/detail/failure.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/pieces.hpp"
#include "cpu_engine/sort_rows.hpp"

namespace query::cpu {

namespace {

// Fewer rows than this are kept while the input streams by; more, and the whole input is collected and sorted.
constexpr std::uint64_t few_rows = 1 << 14;

// The keys of one table; those that are parts of its rows stay where they are.
class sort_columns {
 public:
  sort_columns(const planner::vertex& v, const detail::table& rows, const vertex_tasks& tasks) {
    const detail::logical& node = *v.node;
    for (std::size_t i = 0; i < node.functions.size(); ++i) {
      const detail::order_key& o = node.order[i];
      const key_column& c = placed(o, [&]() -> key_column& {
        return columns_.emplace_back(node.functions[i], v.interpreted, rows, tasks, key_column::layout::any);
      });
      keys_.push_back({.type = c.type(), .base = c.base(), .stride = c.stride(), .descending = o.descending, .nulls_first = o.nulls_first,
                       .custom = order_of(o.custom)});
    }
  }
  std::span<const sort_key> keys() const { return keys_; }

 private:
  // What is found wrong in the function of a then_by, with its own place.
  template <class Call> static key_column& placed(const detail::order_key& o, Call call) {
    try {
      return call();
    } catch (const detail::unplaced_error& e) {
      if (o.verb.empty()) throw;
      detail::fail(o.verb, e.what(), o.where);
    }
  }
  std::deque<key_column> columns_;
  std::vector<sort_key> keys_;
};

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

// Rows that are numbers and their own keys need neither keys nor row ids.
bool sorts_values(const planner::vertex& v, const detail::table& rows) {
  const detail::logical& node = *v.node;
  return node.functions.size() == 1 && !node.has_own_order() && ir::is_arithmetic(rows.type->k) && node.functions[0].result == rows.type &&
         v.limit >= rows.n && rows.n > 1 && part_of_row(node.functions[0]) == 0;
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
  while (more) {
    const std::size_t limit = std::max<std::size_t>(4 * wanted, 4 * part_rows);
    while (rows_in(candidates) < limit && more)
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

detail::table order_rows(const planner::vertex& v, runtime::run_context& context) {
  const vertex_tasks tasks(context, v.captures);
  input_rows rows;
  if (v.limit == 0) return rows_buffer(v.node->row, context.pool).to_table();
  if (v.limit <= few_rows) {
    pipeline input(v.inputs[0], v.captures, context);
    const auto whole = input.as_table();
    if (!whole) return best_of_stream(v, input, tasks);
    rows.table = *whole;
  } else {
    rows = collect_input(v, 0, tasks);
  }
  if (sorts_values(v, rows.table)) return sort_as_values(v, rows.table, tasks);
  const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(v.limit, rows.table.n));
  return first_in_order(v, rows, wanted, tasks);
}

}  // namespace query::cpu
