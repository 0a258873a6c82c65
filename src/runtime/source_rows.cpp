#include "runtime/source_rows.hpp"

#include "runtime/seen_runs.hpp"

namespace query::runtime {

namespace {
template <class Rows, class Key> std::optional<std::uint64_t> rows_of(const Rows& known, const Key& key) {
  const auto found = known.find(key);
  return found == known.end() ? std::nullopt : std::optional<std::uint64_t>(size_of(found->second));
}
}  // namespace

std::optional<std::uint64_t> rows_lying_there(const planner::branch& b, const run_context& context) {
  if (b.table) return rows_of(context.tables, b.table);
  if (b.source->what == detail::verb::placeholder) return rows_of(context.variables, b.source->slot);
  if (!b.source->view) return std::nullopt;
  detail::row_block rows;
  b.source->view(b.source->source.get(), rows);
  return rows.n;
}

std::uint64_t rows_into(const planner::branch& b, const run_context& context) {
  return rows_lying_there(b, context).value_or(b.source ? b.source->count : 0);
}

}  // namespace query::runtime
