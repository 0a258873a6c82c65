#include "gpu_engine/device_rows.hpp"

#include <query/errors.hpp>

namespace query::gpu_engine {

bool device_rows::has(const input_column& part) const {
  for (const input_column& c : layout_.columns)
    if (part.offset >= c.offset && part.offset + part.type->size <= c.offset + c.type->size) return true;
  return false;
}

detail::table device_rows::fetch(runtime::run_context& context) {
  if (!whole() || !same_on_device(layout_.row)) throw internal_error("gpu: rows are fetched whole");
  detail::table t;
  t.type = layout_.row;
  t.n = static_cast<std::size_t>(n_);
  const std::size_t bytes = runtime::buffer_pool::checked_bytes(t.n ? t.n : 1, t.type->size);
  auto memory = std::make_shared<runtime::buffer>(context.pool.allocate(bytes));
  if (n_) {
    const stream_lease s = gpu_->lease();
    gpu_->copies().download_plain(memory->data(), addresses_[0], t.n * t.type->size, *s, context.scheduler, context.cancel);
  }
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

std::vector<input_column> choose_columns(const ir::type* row, const std::vector<bool>& fields, bool columnar) {
  if (row->k != ir::kind::record) {
    if (fields.empty() || !fields[0]) return {};
    (void)device_layout(row);
    return {{0, row}};
  }
  std::vector<input_column> columns;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i]) continue;
    const ir::field& f = row->field_list[i];
    (void)device_layout(f.of);
    columns.push_back({f.offset, f.of});
    bytes += f.of->size;
  }
  const bool all = columns.size() == fields.size();
  if (!columnar && same_on_device(row) && (all || bytes * 4 >= row->size * 3)) return {{0, row}};
  return columns;
}

}  // namespace query::gpu_engine
