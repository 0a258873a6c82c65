#include "gpu_engine/counted_rows.hpp"

#include <algorithm>
#include <cstring>

#include "gpu_engine/upload.hpp"
#include "gpu_primitives/types.cuh"
#include "ir/analysis.hpp"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { out, first, count, argument_count };

kernel_source generate(const detail::logical& source) {
  kernel_source k;
  const std::string type = k.type_name(source.row), at = k.argument(out, type + "*"), from = k.argument(first, "u64");
  std::string value;
  if (source.step == 0) {
    value = k.parameter({word::role::column, 0, 0, 0}, "const " + type + "*") + "[0]";
  } else {
    if (!ir::is_arithmetic(source.row->k)) throw not_generated("a range of other rows than numbers");
    std::uint64_t bits = 0;
    std::memcpy(&bits, source.source.get(), source.row->size);
    // Integers wrap on the way, as in query::detail::numbers.
    const std::string literal = k.literal(source.row->k, bits), at = "(" + from + " + i)";
    value = type + "(" + (ir::is_floating(source.row->k) ? literal + " + " + type + at : "u64(" + literal + ") + " + at) + ")";
  }
  const std::string n = k.argument(count, "u64");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) count_rows(const __grid_constant__ words p) {\n"
        "  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " +
        n + "; i += gridDim.x * 256ull) " + at + "[i] = " + value + ";\n}\n");
  return k;
}

}  // namespace

bool is_computed(const detail::logical& source) {
  if (!is_counted(source) || source.step == 0) return false;
  const ir::kind k = source.row->k;
  return ir::is_arithmetic(k) && k != ir::kind::boolean && k != ir::kind::f32 && k != ir::kind::f64;
}

std::shared_ptr<device_rows> computed_rows(const detail::logical& source, std::uint64_t from, std::uint64_t n, vertex_run& run) {
  std::uint64_t first = 0;
  std::memcpy(&first, source.source.get(), source.row->size);
  auto made = std::make_shared<device_rows>(run.shared_gpu(), source.row, n);
  made->add_counted(source.row, first + from);
  return made;
}

std::shared_ptr<device_rows> counted_rows(const detail::logical& source, std::uint64_t from, std::uint64_t n, vertex_run& run) {
  const ir::type* row = source.row;
  // What is repeated is one row of the host's; a range has no input.
  detail::row_block one;
  one.rows = const_cast<void*>(source.source.get());
  one.n = source.step == 0 ? 1 : 0;
  const std::shared_ptr<const device_rows> value = upload_rows(run.shared_gpu(), one, row, {{0, row}}, run.on(), run.context());
  device_buffer rows = run.allocate(std::max<std::uint64_t>(n, 1) * device_layout(row).size);
  if (n) {
    const kernel_source k = generate(source);
    const auto f = run.compile(k, "count_rows");
    const std::array<const device_rows*, 1> inputs = {value.get()};
    const std::array<std::uint64_t, argument_count> args = {rows.address(), from, n};
    const auto blocks = std::min<std::uint64_t>(gpu::divide_up(n, 256), std::uint64_t{resident_blocks(*f, 256)} * 8);
    run.launch(k, *f, {static_cast<unsigned>(blocks), 256, 0}, inputs, args);
  }
  auto made = std::make_shared<device_rows>(run.shared_gpu(), row, n);
  made->add({0, row}, std::move(rows));
  for (const auto& heap : value->heaps()) made->keep_heap(heap);
  return made;
}

}  // namespace query::gpu_engine
