#include "gpu_engine/rows_together.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "gpu_engine/codegen/column_parts.hpp"
#include "gpu_engine/launch.hpp"
#include "gpu_primitives/types.cuh"

namespace query::gpu_engine {

namespace {

// One program for all records, so that no query waits for one of its own. Wider records take several launches.
constexpr std::size_t most_columns = 32;
constexpr const char* source = R"(#include "gpu_primitives/types.cuh"
using namespace query::gpu;
struct column { u64 from, offset, bytes, word; };
struct table { u64 n, rows, row_bytes, columns; column of[32]; };
template <class Word> __device__ __forceinline__ void place(const table& t, const column& c, u64 first, u64 count) {
  const u64 words = c.bytes / sizeof(Word), row = t.row_bytes / sizeof(Word);
  const Word* const from = (const Word*)c.from + first * words;
  Word* const to = (Word*)(t.rows + c.offset) + first * row;
  if (words == 1) {
    for (u64 i = threadIdx.x; i < count; i += 256) to[i * row] = from[i];
  } else {
    for (u64 i = threadIdx.x; i < count * words; i += 256) to[i / words * row + i % words] = from[i];
  }
}
// A block writes all fields of its rows, one after the other: parts of a sector meet in the cache.
extern "C" __global__ void __launch_bounds__(256) place_columns(const __grid_constant__ table t) {
  for (u64 first = blockIdx.x * 256ull; first < t.n; first += gridDim.x * 256ull) {
    const u64 count = t.n - first < 256 ? t.n - first : 256;
    for (u64 i = 0; i < t.columns; ++i) {
      const column& c = t.of[i];
      switch (c.word) {
        case 16: place<uint4>(t, c, first, count); break;
        case 8: place<u64>(t, c, first, count); break;
        case 4: place<u32>(t, c, first, count); break;
        case 2: place<u16>(t, c, first, count); break;
        default: place<u8>(t, c, first, count);
      }
    }
  }
}
)";

struct placed_column {
  std::uint64_t from, offset, bytes, word;
};
struct placed_columns {
  std::uint64_t n, rows, row_bytes, columns;
  placed_column of[most_columns];
};

// Where each column goes in a row; nothing if one is no field of it.
std::optional<std::vector<placed_column>> places(const device_rows& columns) {
  const ir::type* row = columns.layout().row;
  if (row->k != ir::kind::record) return std::nullopt;
  std::vector<placed_column> all;
  for (std::size_t c = 0; c < columns.layout().columns.size(); ++c) {
    const input_column& part = columns.layout().columns[c];
    const auto field = std::find_if(row->field_list.begin(), row->field_list.end(),
                                    [&](const ir::field& f) { return f.offset == part.offset && f.of == part.type; });
    if (field == row->field_list.end() || part.counted) return std::nullopt;
    all.push_back({columns.column(c), device_offset(row, static_cast<std::size_t>(field - row->field_list.begin())),
                   device_layout(part.type).size, 1});
  }
  return all;
}

}  // namespace

std::shared_ptr<device_rows> rows_together(const device_rows& columns, const stream& s, runtime::run_context& context) {
  auto all = places(columns);
  if (!all) return nullptr;
  gpu_session& gpu = *columns.gpu();
  const ir::type* row = columns.layout().row;
  const std::uint64_t n = columns.size(), row_bytes = device_layout(row).size;
  device_buffer rows = gpu.memory().allocate(std::max<std::uint64_t>(n, 1) * row_bytes, s);
  if (n) {
    std::uint64_t filled = 0;
    for (placed_column& c : *all) {
      c.word = alignment_of_stride(static_cast<std::size_t>(c.from | c.offset | c.bytes | row_bytes));
      filled += c.bytes;
    }
    if (filled < row_bytes) {
      const scoped_context here(gpu.on());
      QUERY_CUDA(gpu.on().calls(), cuMemsetD8Async, rows.address(), 0, n * row_bytes, s.handle());
    }
    const auto kernel = gpu.kernels().get(source, "place_columns", gpu.on());
    const auto blocks = std::min<std::uint64_t>(query::gpu::divide_up(n, 256), std::uint64_t{resident_blocks(*kernel, 256)} * 8);
    for (std::size_t first = 0; first < all->size(); first += most_columns) {
      placed_columns some{n, rows.address(), row_bytes, std::min(most_columns, all->size() - first), {}};
      std::copy_n(all->begin() + static_cast<std::ptrdiff_t>(first), some.columns, some.of);
      launch(*kernel, {static_cast<unsigned>(blocks), 256, 0}, s, some);
    }
    s.synchronize(context.cancel);
  }
  auto made = std::make_shared<device_rows>(columns.gpu(), row, n);
  made->add({0, row}, std::move(rows));
  for (const auto& heap : columns.heaps()) made->keep_heap(heap);
  return made;
}

}  // namespace query::gpu_engine
