#include "cpu_engine/field_columns.hpp"

#include <cstring>

namespace query::cpu {

field_columns::field_columns(const ir::type* row, const planner::column_schema& rows, runtime::buffer_pool& pool)
    : schema_(rows), pool_(&pool), unread_(row, pool), places_(row->field_list.size()), fields_(row->field_list.size()) {
  void* const raw = unread_.extend(1);
  if (row->life.construct) row->life.construct(raw, 1);
  else std::memset(raw, 0, row->size);
  unread_.grow(1);
  for (std::size_t f = 0; f < places_.size(); ++f) {
    const ir::field& field = row->field_list[f];
    const auto* const c = schema_.holding(field.offset, field.of->size);
    places_[f].column = c ? static_cast<std::size_t>(c - schema_.columns.data()) : schema_.columns.size();
    if (c) places_[f].within = field.offset - c->offset;
    else fields_[f] = {static_cast<const std::byte*>(raw) + field.offset, 0, nullptr};
  }
}

const detail::field_column* field_columns::of(const column_batch& b) {
  for (std::size_t f = 0; f < places_.size(); ++f) {
    place& p = places_[f];
    if (p.column == schema_.columns.size()) continue;
    const column& c = b.columns[p.column];
    if (c.as_stored()) {
      fields_[f] = {static_cast<const std::byte*>(c.base) + p.within, c.stride, c.select};
      continue;
    }
    const ir::type* const type = schema_.columns[p.column].type;
    if (!p.gathered) p.gathered.emplace(type, *pool_);
    p.gathered->clear();
    gather_column(c, type, b.n, p.gathered->extend(b.n), type->size, false);
    p.gathered->grow(b.n);
    fields_[f] = {static_cast<const std::byte*>(p.gathered->data()) + p.within, type->size, nullptr};
  }
  return fields_.data();
}

}  // namespace query::cpu
