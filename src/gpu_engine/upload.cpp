#include "gpu_engine/upload.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <vector>

#include "gpu_engine/host_packing.hpp"

namespace query::gpu_engine {

namespace {

// Values of `size` bytes, `stride` apart, side by side.
void gather(std::byte* to, const std::byte* from, std::size_t stride, std::size_t size, std::size_t n) {
  const auto copy = [&]<std::size_t Size>(std::integral_constant<std::size_t, Size>) {
    for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * Size, from + i * stride, Size);
  };
  switch (size) {
    case 1:
      return copy(std::integral_constant<std::size_t, 1>{});
    case 2:
      return copy(std::integral_constant<std::size_t, 2>{});
    case 4:
      return copy(std::integral_constant<std::size_t, 4>{});
    case 8:
      return copy(std::integral_constant<std::size_t, 8>{});
    case 16:
      return copy(std::integral_constant<std::size_t, 16>{});
    default:
      for (std::size_t i = 0; i < n; ++i) std::memcpy(to + i * size, from + i * stride, size);
  }
}

// Where the values of one part of the row begin in the host's memory.
struct host_column {
  const std::byte* base;
  std::size_t stride;
};
host_column locate(const detail::row_block& rows, const ir::type* row, const input_column& part) {
  if (!rows.columns) return {static_cast<const std::byte*>(rows.rows) + part.offset, row->size};
  if (row->k != ir::kind::record) return {static_cast<const std::byte*>(rows.columns[0]) + part.offset, row->size};
  for (std::size_t i = 0; i < row->field_list.size(); ++i) {
    const ir::field& f = row->field_list[i];
    if (part.offset >= f.offset && part.offset < f.offset + f.of->size)
      return {static_cast<const std::byte*>(rows.columns[i]) + (part.offset - f.offset), f.of->size};
  }
  throw not_generated("a column that the source does not have");
}

// Values of a column, packed: what transfer calls.
struct packed_values {
  host_column from;
  std::size_t size;
  void operator()(std::size_t first, std::size_t n, void* to) const {
    if (from.stride == size)
      std::memcpy(to, from.base + first, n);
    else
      gather(static_cast<std::byte*>(to), from.base + first / size * from.stride, from.stride, size, n / size);
  }
};

}  // namespace

std::shared_ptr<device_rows> upload_rows(const std::shared_ptr<gpu_session>& gpu, const detail::row_block& rows, const ir::type* row,
                                         const std::vector<input_column>& columns, const stream& s, runtime::run_context& context) {
  auto result = std::make_shared<device_rows>(gpu, row, rows.n);
  std::deque<packed_values> values;  // stay where they are
  std::vector<transfer::part> parts;
  for (const input_column& part : columns) {
    const host_column from = locate(rows, row, part);
    const std::size_t size = device_layout(part.type).size;
    device_buffer memory = gpu->memory().allocate(std::max<std::size_t>(rows.n, 1) * size, s);
    if (rows.n && !same_on_device(part.type)) {
      result->keep_heap(upload_owning_values(*gpu, part.type, from.base, from.stride, rows.n, memory.address(), s, context));
    } else if (rows.n) {
      values.push_back({from, size});
      // Values that lie side by side may be cut anywhere.
      parts.push_back({memory.address(), rows.n * size, from.stride == size ? 1 : size, values.back()});
    }
    result->add(part, std::move(memory));
  }
  gpu->copies().upload_all(parts, s, context.scheduler, context.cancel);
  return result;
}

}  // namespace query::gpu_engine
