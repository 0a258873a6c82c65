#include "cpu_engine/table_verbs.hpp"

#include <query/errors.hpp>

namespace query::cpu {

namespace {

using operation = detail::table (*)(const planner::vertex&, const vertex_tasks&);

operation operation_of(detail::verb what) {
  using detail::verb;
  switch (what) {
    case verb::take: return take_rows;
    case verb::skip: return skip_rows;
    case verb::take_last: return take_last_rows;
    case verb::skip_last: return skip_last_rows;
    case verb::take_while: return take_rows_while;
    case verb::skip_while: return skip_rows_while;
    case verb::reverse: return reverse_rows;
    case verb::sample: return sample_rows;
    case verb::concat: return concat_rows;
    case verb::zip: return zip_rows;
    case verb::default_if_empty: return default_if_empty;
    case verb::chunk: return chunk_rows;
    case verb::window: return window_rows;
    case verb::apply: return apply_rows;
    case verb::partition: return partition_rows;
    default: return nullptr;
  }
}

}  // namespace

bool is_table_verb(detail::verb what) { return operation_of(what) != nullptr; }

detail::table run_table_verb(const planner::vertex& v, runtime::run_context& context) {
  const operation run = operation_of(v.node->what);
  if (!run) throw internal_error("cpu engine: not a verb on tables: " + v.node->label);
  const vertex_tasks tasks(context, v.captures);
  return run(v, tasks);
}

}  // namespace query::cpu
