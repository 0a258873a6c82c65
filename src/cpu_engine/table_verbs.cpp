#include "cpu_engine/table_verbs.hpp"

#include <query/errors.hpp>

#include "cpu_engine/collected_rows.hpp"

namespace query::cpu {

namespace {

using operation = runtime::vertex_rows (*)(const planner::vertex&, const vertex_tasks&);

// Those that make a table of their rows, and no more than that.
template <detail::table (*Rows)(const planner::vertex&, const vertex_tasks&)>
runtime::vertex_rows table_of(const planner::vertex& v, const vertex_tasks& tasks) {
  if (planner::hands_on(v.node->what))
    if (auto rows = streamed_into_store(v, tasks.context())) return std::move(*rows);
  return Rows(v, tasks);
}

// Those that give columns where the plan says so.
template <std::optional<runtime::vertex_rows> (*Columns)(const planner::vertex&, const vertex_tasks&), operation Rows>
runtime::vertex_rows columns_or(const planner::vertex& v, const vertex_tasks& tasks) {
  if (v.gives_columns)
    if (auto columns = Columns(v, tasks)) return std::move(*columns);
  return Rows(v, tasks);
}

operation operation_of(detail::verb what) {
  using detail::verb;
  switch (what) {
    case verb::take: return columns_or<columns_by_place, table_of<take_rows>>;
    case verb::skip: return columns_or<columns_by_place, skip_rows>;
    case verb::take_last: return columns_or<columns_by_place, take_last_rows>;
    case verb::skip_last: return columns_or<columns_by_place, skip_last_rows>;
    case verb::take_while: return columns_or<columns_by_place, table_of<take_rows_while>>;
    case verb::skip_while: return columns_or<columns_by_place, table_of<skip_rows_while>>;
    case verb::reverse: return columns_or<columns_by_place, reverse_rows>;
    case verb::sample: return columns_or<columns_by_place, sample_rows>;
    case verb::concat: return columns_or<concat_columns, table_of<concat_rows>>;
    case verb::zip: return columns_or<zip_columns, table_of<zip_rows>>;
    case verb::default_if_empty: return columns_or<columns_by_place, table_of<default_if_empty>>;
    case verb::chunk: return chunk_rows;
    case verb::window: return window_rows;
    case verb::apply: return apply_rows;
    case verb::partition: return partition_rows;
    case verb::cached: return cached_rows;
    default: return nullptr;
  }
}

}  // namespace

// The session keeps them beyond the run: a quarter of the memory that is left may be theirs.
runtime::vertex_rows cached_rows(const planner::vertex& v, const vertex_tasks& tasks) {
  const std::size_t beside = 3 * v.node->row->size;
  return settled_rows(collect_as_memory_allows(v.inputs.front(), v.captures, tasks.context(), beside).as_vertex_rows(), tasks.context());
}

runtime::vertex_rows run_table_verb(const planner::vertex& v, runtime::run_context& context) {
  const operation run = operation_of(v.node->what);
  if (!run) throw internal_error("cpu engine: not a verb on tables: " + v.node->label);
  const vertex_tasks tasks(context, v.captures);
  return run(v, tasks);
}

}  // namespace query::cpu
