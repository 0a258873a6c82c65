#include "gpu_engine/upload.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <numeric>
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

// Columns that are packed together, since their values lie together in the host's rows: each row is read once.
struct packed_columns {
  std::size_t n, stride;
  std::vector<const std::byte*> from;
  std::vector<transfer::column> to;

  void operator()(std::size_t first, std::size_t rows, std::byte* const* at) const {
    if (to.size() == 1) {
      copy(0, first, rows, at[0]);
      return;
    }
    // Few enough rows at once that they are in the cache for the columns after the first.
    const std::size_t block = std::max<std::size_t>(cached_bytes / stride, 1);
    for (std::size_t i = 0; i < rows; i += block)
      for (std::size_t c = 0; c < to.size(); ++c) copy(c, first + i, std::min(block, rows - i), at[c] + i * to[c].size);
  }
  bool takes(const host_column& column, std::size_t size) const {
    const std::size_t together = std::accumulate(to.begin(), to.end(), size, [](std::size_t sum, const auto& c) { return sum + c.size; });
    return column.stride == stride && together <= most_together;
  }
  transfer::part part() const { return {n, to, *this, stride}; }

 private:
  static constexpr std::size_t cached_bytes = 16 << 10, most_together = 4096;
  void copy(std::size_t c, std::size_t first, std::size_t rows, std::byte* at) const {
    const std::byte* source = from[c] + first * stride;
    if (stride == to[c].size)
      std::memcpy(at, source, rows * stride);
    else
      gather(at, source, stride, to[c].size, rows);
  }
};

}  // namespace

std::shared_ptr<device_rows> upload_rows(const std::shared_ptr<gpu_session>& gpu, const detail::row_block& rows, const ir::type* row,
                                         const std::vector<input_column>& columns, const stream& s, runtime::run_context& context) {
  auto result = std::make_shared<device_rows>(gpu, row, rows.n);
  std::deque<packed_columns> packed;
  for (const input_column& part : columns) {
    const host_column from = locate(rows, row, part);
    const std::size_t size = device_layout(part.type).size;
    device_buffer memory = gpu->memory().allocate(std::max<std::size_t>(rows.n, 1) * size, s);
    if (rows.n && !same_on_device(part.type)) {
      result->keep_heap(upload_owning_values(*gpu, part.type, from.base, from.stride, rows.n, memory.address(), s, context));
    } else if (rows.n && from.stride == size) {
      // Values that lie side by side may be cut anywhere.
      packed.push_back({rows.n * size, 1, {from.base}, {{memory.address(), 1}}});
    } else if (rows.n) {
      // Those of the host's rows, of whatever parts of them; those of a column of records, each by itself.
      if (rows.columns || packed.empty() || !packed.back().takes(from, size)) packed.push_back({rows.n, from.stride, {}, {}});
      packed.back().from.push_back(from.base);
      packed.back().to.push_back({memory.address(), size});
    }
    result->add(part, std::move(memory));
  }
  std::vector<transfer::part> parts;
  for (const packed_columns& p : packed) parts.push_back(p.part());
  gpu->copies().upload_all(parts, s, context.scheduler, context.cancel);
  return result;
}

}  // namespace query::gpu_engine
