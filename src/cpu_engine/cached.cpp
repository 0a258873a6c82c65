#include "cpu_engine/cached.hpp"

#include <algorithm>
#include <memory>

#include <query/errors.hpp>

#include "cpu_engine/pipeline.hpp"
#include "cpu_engine/stored_sequence.hpp"
#include "cpu_engine/table_estimate.hpp"

namespace query::cpu {

namespace {

constexpr std::size_t memory_share = 4;  // of the memory that is left, for cached rows that stay there

bool has_room(std::uint64_t rows, const ir::type* row, std::size_t row_heap, const runtime::buffer_pool& pool) {
  return static_cast<double>(rows) * static_cast<double>(row->size + row_heap) <= static_cast<double>(memory_left(pool)) / memory_share;
}

}  // namespace

runtime::vertex_rows cached_rows(const planner::vertex& v, runtime::run_context& context) {
  const planner::branch& b = v.inputs.front();
  const auto all = [&] { return collect(b, v.captures, context); };
  if (!context.pool.limit() || !context.temp || context.shared || !stored_sequence::can_keep(v.node->row)) return all();
  const bool may_grow = std::any_of(b.stages.begin(), b.stages.end(), may_add_rows);
  auto p = std::make_unique<pipeline>(b, v.captures, context, false, true);
  const std::size_t row_heap = p->in_place() ? 0 : row_heap_bytes(*p);
  if (!may_grow && p->source_rows() && (p->in_place() || has_room(*p->source_rows(), v.node->row, row_heap, context.pool))) {
    const bool comes_again = !p->made_as_read();
    try {
      if (!b.stages.empty() || !b.prefilters.empty()) return collect_rest(*p);
      p.reset();
      return all();
    } catch (const resource_error&) {  // rows own more than those of the sample
      if (!comes_again || !heap_charge::counts(*v.node->row, context.pool)) throw;
      p = std::make_unique<pipeline>(b, v.captures, context, false, true);
    }
  }
  const auto rows = std::make_shared<stored_sequence>(v.node->row, nullptr, p->parts().value_or(1), context,
                                                      std::vector<std::shared_ptr<const void>>{}, row_heap);
  p->run_all([&](const pipeline::part& part) {
    stored_sequence::writer to(*rows, part.index);
    part.run(to);
    to.finish();
  });
  p.reset();
  rows->finish(context);
  if (has_room(rows->size(), v.node->row, rows->row_heap(), context.pool)) return rows->fetch(context);
  return runtime::vertex_rows(rows);
}

}  // namespace query::cpu
