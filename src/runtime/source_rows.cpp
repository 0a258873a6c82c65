#include "runtime/source_rows.hpp"

namespace query::runtime {

vertex_rows* run_context::rows_before(const planner::branch& b) const {
  const auto of = [](auto& known, const auto& key) {
    const auto found = known.find(key);
    return found == known.end() ? nullptr : &found->second;
  };
  if (b.table) return of(tables, b.table);
  return b.source->what == detail::verb::placeholder ? of(variables, b.source->slot) : nullptr;
}

std::optional<std::uint64_t> rows_lying_there(const planner::branch& b, const run_context& context) {
  if (const vertex_rows* known = context.rows_before(b)) return size_of(*known);
  if (b.table || !b.source->view) return std::nullopt;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return rows.n;
}

std::uint64_t rows_into(const planner::branch& b, const run_context& context) {
  return rows_lying_there(b, context).value_or(b.source ? b.source->count : 0);
}

}  // namespace query::runtime
