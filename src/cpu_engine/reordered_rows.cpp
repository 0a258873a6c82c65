#include "cpu_engine/reordered_rows.hpp"

#include <query/cpu/segment_form.hpp>
#include <query/detail/stop.hpp>

#include "cpu_engine/rows_buffer.hpp"
#include "cpu_engine/vertex_tasks.hpp"

namespace query::cpu {

detail::table reordered_rows(detail::table rows, const permutation& order, runtime::buffer_pool& pool) {
  const ir::type* const type = rows.type;
  rows_buffer to(type, pool);
  to.reserve(order.size());
  order.visit([&](const auto* id) {
    if (type->trivial || !type->life.move) {
      gather_rows(type, to.extend(order.size()), rows.rows, id, order.size());
      to.grow(order.size());
      return;
    }
    rows_buffer* const owner = rows_buffer::owner_of(rows);
    const bool all = owner && owner->size() == order.size();  // what they own has been counted
    if (owner && !all) owner->heap().clear();
    heap_charge none;
    detail::in_runs<batch_rows>(0, order.size(), [&](std::size_t i, std::size_t end) {
      for (; i < end; ++i) {
        move_rows(type, to.extend(1), const_cast<std::byte*>(row_at(rows, static_cast<std::size_t>(id[i]))), 1);
        if (all) to.grow(1, none);
        else to.grow(1);
      }
    });
    if (all) to.heap().take(owner->heap());
  });
  return std::move(to).to_table();
}

}  // namespace query::cpu
