#include "cpu_engine/group_results.hpp"

#include <utility>

#include <query/detail/stop.hpp>

namespace query::cpu {

namespace {

// What the columns of a piece lie in.
struct piece_memory {
  stored_keys keys;
  std::vector<rows_buffer> values;
};

}  // namespace

group_results::group_results(const planner::vertex& v, runtime::run_context& context)
    : vertex_(&v), pool_(&context.pool), projector_(*v.gives_columns, v.node) {}

column_list::piece group_results::of(std::unique_ptr<group_table> groups) const {
  const detail::stop_point stop;
  const std::size_t n = groups->groups.size();
  const ir::group_plan& plan = *vertex_->group_function;
  std::vector<rows_buffer> aggregates;
  for (std::size_t a = 0; a < plan.calls.size(); ++a) {
    rows_buffer& values = aggregates.emplace_back(plan.calls[a].source->type, *pool_);
    values.reserve(n);
    for (std::size_t from = 0; from < n; from += batch_rows) {
      stop.check();
      const std::size_t k = std::min(batch_rows, n - from);
      groups->result(a, from, k, values.extend(k));
      values.grow(k);
    }
  }
  auto memory = std::make_shared<piece_memory>(piece_memory{groups->groups.take_keys(), {}});
  groups.reset();  // the states

  // One batch after the other; what is computed of it is kept.
  const std::vector<planner::projected_part>& parts = vertex_->gives_columns->parts;
  for (const planner::projected_part& p : parts) {
    rows_buffer& values = memory->values.emplace_back(p.type, *pool_);
    if (p.computed) values.reserve(n);
  }
  column_list::piece piece;
  piece.n = n;
  column_projector::runner projector(projector_, *pool_);
  std::vector<column> columns;
  for (std::size_t from = 0; from < n; from += batch_rows) {
    stop.check();
    const std::size_t k = std::min(batch_rows, n - from);
    columns.clear();
    for (const key_part& p : memory->keys.view())
      columns.push_back(part_of(column{p.base, p.stride, p.offset, p.type->size, p.select}, from));
    std::size_t end = vertex_->node->key->size;
    for (const rows_buffer& a : aggregates) {
      const std::size_t size = a.type()->size;
      columns.push_back({static_cast<const std::byte*>(a.data()) + from * size, size, end, size});
      end += size;
    }
    const std::span<const column> out = projector.run(columns, {}, k);
    if (from == 0) piece.columns.assign(out.begin(), out.end());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      if (!parts[p].computed) continue;
      memory->values[p].take_rows(const_cast<void*>(out[p].base), k);
    }
  }
  for (std::size_t p = 0; p < parts.size(); ++p) {
    if (!parts[p].computed) continue;
    piece.columns[p].base = memory->values[p].data();
    piece.columns[p].transient = false;
  }
  for (rows_buffer& a : aggregates) memory->values.push_back(std::move(a));
  piece.owner = std::move(memory);
  return piece;
}

}  // namespace query::cpu
