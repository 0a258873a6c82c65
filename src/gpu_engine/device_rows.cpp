#include "gpu_engine/device_rows.hpp"

#include <algorithm>
#include <cstring>

#include <query/errors.hpp>

#include "gpu_engine/host_unpacking.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::gpu_engine {

bool device_rows::has(const input_column& part) const {
  for (const input_column& c : layout_.columns)
    if (part.offset >= c.offset && part.offset + part.type->size <= c.offset + c.type->size) return true;
  return false;
}

detail::table device_rows::fetch(runtime::run_context& context) {
  detail::table t = same_on_device(layout_.row) ? fetch_plain(context) : fetch_owning(context);
  return ends_ ? runtime::with_bounds(std::move(t), *ends_) : t;
}

detail::table device_rows::fetch_plain(runtime::run_context& context) const {
  detail::table t;
  t.type = layout_.row;
  t.n = static_cast<std::size_t>(n_);
  const std::size_t stride = t.type->size, bytes = runtime::buffer_pool::checked_bytes(t.n ? t.n : 1, stride);
  auto memory = std::make_shared<runtime::buffer>(context.pool.allocate(bytes));
  fetch_to(memory->as<std::byte>(), context);
  t.rows = memory->data();
  t.owner = std::move(memory);
  return t;
}

void device_rows::fetch_to(std::byte* rows, runtime::run_context& context) const {
  if (!n_) return;
  const stream_lease s = gpu_->lease();
  const std::size_t stride = layout_.row->size, n = static_cast<std::size_t>(n_);
  if (whole()) {
    gpu_->copies().download_plain(rows, addresses_[0], n * stride, *s, context.scheduler, context.cancel);
    return;
  }
  // Gaps between the fields are left as zeros.
  std::memset(rows, 0, n * stride);
  for (std::size_t c = 0; c < layout_.columns.size(); ++c) {
    const input_column& part = layout_.columns[c];
    std::byte* const base = rows + part.offset;
    const std::size_t size = part.type->size;
    gpu_->copies().download(
        [&](std::size_t first, std::size_t k, const void* from) {
          for (std::size_t i = 0; i < k / size; ++i)
            std::memcpy(base + (first / size + i) * stride, static_cast<const std::byte*>(from) + i * size, size);
        },
        addresses_[c], n * size, size, *s, context.scheduler, context.cancel);
  }
}

// Rows that own memory are made first, and then take what the columns hold.
detail::table device_rows::fetch_owning(runtime::run_context& context) const {
  detail::table t;
  t.type = layout_.row;
  t.n = static_cast<std::size_t>(n_);
  living_rows rows = make_rows(t.type, t.n, context);
  if (n_) {
    const stream_lease s = gpu_->lease();
    const std::size_t stride = t.type->size;
    for (std::size_t c = 0; c < layout_.columns.size(); ++c) {
      const input_column& part = layout_.columns[c];
      std::byte* const base = static_cast<std::byte*>(rows.rows) + part.offset;
      const std::size_t size = part.type->size;
      if (same_on_device(part.type))
        gpu_->copies().download(
            [&](std::size_t first, std::size_t k, const void* from) {
              for (std::size_t i = 0; i < k / size; ++i)
                std::memcpy(base + (first / size + i) * stride, static_cast<const std::byte*>(from) + i * size, size);
            },
            addresses_[c], t.n * size, size, *s, context.scheduler, context.cancel);
      else
        download_owning_values(*gpu_, part.type, addresses_[c], t.n, base, stride, *s, context);
    }
  }
  t.rows = rows.rows;
  t.owner = std::move(rows.owner);
  return t;
}

bool same_columns(const input_layout& a, const input_layout& b) {
  return std::equal(a.columns.begin(), a.columns.end(), b.columns.begin(), b.columns.end(),
                    [](const input_column& x, const input_column& y) {
                      return x.offset == y.offset && x.type == y.type && x.counted == y.counted;
                    });
}

std::vector<input_column> field_columns(const ir::type* row) {
  if (row->k != ir::kind::record) return {{0, row}};
  std::vector<input_column> columns;
  for (const ir::field& f : row->field_list) columns.push_back({f.offset, f.of});
  return columns;
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
