#include "cpu_engine/stored_order.hpp"

#include <algorithm>

#include <query/cpu/segment_form.hpp>

#include "cpu_engine/key_column.hpp"
#include "cpu_engine/sort.hpp"

namespace query::cpu {

stored_order::stored_order(const detail::logical* n, const planner::column_schema* from)
    : node(n),
      row(n->row),
      records(!from),
      columns(from ? *from : planner::column_schema::of_rows(row)),
      of_row(columns.columns.size()) {}

void stored_order::add_key_column(const ir::type* key) {
  computed_keys.push_back(keys.size());
  keys.push_back({columns.columns.size(), 0, std::nullopt});
  shapes.push_back({.type = key});
  columns.columns.push_back({0, key});
}

stored_order stored_order::by_position(const planner::vertex& v, const planner::column_schema* from, bool narrow,
                                       std::vector<column> places) {
  stored_order order(v.node, from);
  order.places = std::move(places);
  order.add_key_column(narrow ? ir::describe<std::uint32_t>() : ir::describe<std::uint64_t>());
  return order;
}

stored_order stored_order::by_key(const planner::vertex& v, const planner::column_schema* from) {
  stored_order order(v.node, from);
  order.add_key_column(v.node->functions[0].result);
  order.computed.emplace_back(v.node->functions[0], v.interpreted, false);
  return order;
}

stored_order::stored_order(const planner::vertex& v, const planner::column_schema* from) : stored_order(v.node, from) {
  for (std::size_t i = 0; i < node->functions.size(); ++i) {
    const detail::user_function& f = node->functions[i];
    const detail::order_key& o = node->order[i];
    shapes.push_back({.type = f.result, .descending = o.descending, .nulls_first = o.nulls_first, .custom = order_of(o.custom)});
    key& k = keys.emplace_back();
    k.in_row = part_of_row(f);
    for (; k.in_row && k.column < of_row; ++k.column) {
      const auto& c = columns.columns[k.column];
      if (c.offset > *k.in_row || c.offset + c.type->size < *k.in_row + f.result->size) continue;
      k.within = *k.in_row - c.offset;
      break;
    }
    if (k.in_row && k.column < of_row) continue;
    k = {columns.columns.size(), 0, std::nullopt};
    columns.columns.push_back({0, f.result});
    computed_keys.push_back(i);
    computed.push_back(placed_at(o, [&] { return function_calls(f, v.interpreted, false); }));
  }
}

planner::column_schema stored_order::in_store() const {
  planner::column_schema s = columns;
  for (std::size_t c = 0; c < places.size(); ++c)
    if (places[c].base) s.columns[c].type = nullptr;
  return s;
}

std::size_t stored_order::computed_bytes() const {
  std::size_t bytes = 0;
  for (const std::size_t k : computed_keys) bytes += shapes[k].type->size;
  return bytes;
}

batch_keys::batch_keys(const stored_order& order, runtime::buffer_pool& pool) : order_(&order), pool_(&pool), keys_(order.shapes) {
  for (const sort_key& k : keys_) gathered_.emplace_back(k.type, pool);
}

std::span<const sort_key> batch_keys::of(std::span<const column> columns, std::size_t n) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const stored_order::key& k = order_->keys[i];
    column c = columns[k.column];
    const bool whole = !c.as_stored();  // else the part of each value that is the key
    if (!whole) c.base = static_cast<const std::byte*>(c.base) + k.within;
    if (!whole && !c.select) {
      keys_[i].base = c.base;
      keys_[i].stride = c.stride;
      continue;
    }
    rows_buffer& values = gathered_[i];
    values.clear();
    if (const ir::type* t = whole ? order_->columns.columns[k.column].type : keys_[i].type; t != values.type())
      values = rows_buffer(t, *pool_);
    gather_column(c, values.type(), n, values.extend(n), values.type()->size, false);
    values.grow(n);
    keys_[i].base = static_cast<const std::byte*>(values.data()) + (whole ? k.within : 0);
    keys_[i].stride = values.type()->size;
  }
  return keys_;
}

order_feed::order_feed(const stored_order& order, bool resident, runtime::buffer_pool& pool, receiver to)
    : order_(&order), resident_(resident), to_(to), records_(order.row, pool), scratches_(order.computed.size()) {
  for (std::size_t i = 0; i < order.computed.size(); ++i) computed_.emplace_back(order.shapes[order.computed_keys[i]].type, pool);
}

void order_feed::run(const pipeline::part& part) {
  if (order_->records) part.run(*this);
  else part.run_columns(*this);
}

void order_feed::compute_keys(const void* rows, std::size_t n) {
  for (std::size_t i = 0; i < computed_.size(); ++i) {
    rows_buffer& keys = computed_[i];
    keys.clear();
    const auto compute = [&] { order_->computed[i].map(rows, nullptr, n, keys.extend(n), scratches_[i]); };
    if (order_->node->order.empty()) compute();
    else placed_at(order_->node->order[order_->computed_keys[i]], compute);
    keys.grow(n);
    columns_.push_back({keys.data(), keys.type()->size, 0, keys.type()->size, nullptr, true});
  }
}

void order_feed::push(const detail::row_block& b) {
  const std::size_t size = order_->row->size;
  for (std::size_t from = 0; from < b.n; from += batch_rows) {
    const std::size_t n = std::min(batch_rows, b.n - from);
    const auto* const rows = static_cast<const std::byte*>(b.rows) + from * size;
    columns_.assign(1, column{rows, size, 0, size, nullptr, !resident_});
    compute_keys(rows, n);
    to_(columns_, n, b.owned);
  }
}

void order_feed::push(const column_batch& b) {
  columns_.assign(b.columns.begin(), b.columns.end());
  if (!computed_.empty()) {
    if (const std::size_t n = records_.size(); n < b.n) {
      void* const more = records_.extend(b.n - n);
      if (order_->row->life.construct) order_->row->life.construct(more, b.n - n);
      records_.grow(b.n - n);
    }
    assemble_rows(order_->columns, b, records_.data(), order_->row->size);
    compute_keys(records_.data(), b.n);
  }
  to_(columns_, b.n, false);
}

}  // namespace query::cpu
