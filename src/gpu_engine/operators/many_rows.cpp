// select_many: the elements of each row's array or list become rows. The row-wise work before it has left the arrays or lists side
// by side; arrays are rows of elements as they lie, the lists' elements are brought together: a running total of sizes says
// where each list's begin, each row of the result searches its list there.
#include <algorithm>

#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

using policy = gpu::scan_policy<gpu::u64>;

enum argument : std::uint32_t { temporary, starts, total, out, argument_count };

constexpr std::uint64_t rows_of_block = 1024;  // of the result; a block's lists are searched for once

const ir::type* collection_of(const detail::logical& n) {
  kernel_source k;
  const ir::type* t = k.trace(n, n.functions.front()).root->type;
  if (t->k != ir::kind::array && t->k != ir::kind::list) throw not_generated("select_many of what is no array and no list");
  if (!same_shape(t->element, n.row)) throw not_generated("elements of select_many are stored as another type");
  return t;
}

kernel_source generate(const ir::type* lists, const ir::type* element) {
  kernel_source k;
  k.include("gpu_primitives/scan.cuh");
  const std::string list = "const " + k.type_name(lists) + "*", type = k.type_name(element);
  const std::string rows = k.parameter({word::role::column, 0, 0, 0}, list), n = k.parameter({word::role::rows, 0, 0, 0}, "u64");
  const std::string first = k.argument(starts, "u64*"), all = k.argument(total, "u64*");
  k.add("using policy = scan_policy<u64>;\n"
        "extern \"C\" __global__ void __launch_bounds__(policy::threads, policy::blocks) place_lists(const __grid_constant__ words p) {\n"
        "  exclusive_scan<policy, u64>(" + n + ", " + k.argument(temporary, "void*") + ", u64(0), [&](u64 i) -> u64 { return (" + rows +
        ")[i].size; },\n    [](u64 a, u64 b) { return a + b; }, [&](u64 i, u64 before) { (" + first +
        ")[i] = before; }, [&](u64 sum) { *" + all + " = sum; });\n}\n");
  k.add("// The last list that begins at or before row `at`, among [low, high).\n"
        "__device__ __forceinline__ u64 list_of(const u64* starts, u64 low, u64 high, u64 at) {\n"
        "  while (high - low > 1) {\n    const u64 middle = low + (high - low) / 2;\n"
        "    if (starts[middle] <= at) low = middle; else high = middle;\n  }\n  return low;\n}\n"
        "extern \"C\" __global__ void __launch_bounds__(256) take_elements(const __grid_constant__ words p) {\n"
        "  __shared__ u64 ends[2];\n  const u64* const starts = " + first + ";\n  const u64 total = *" + all +
        ", begin = blockIdx.x * " + std::to_string(rows_of_block) + "ull, end = smaller(begin + " + std::to_string(rows_of_block) +
        "ull, total);\n  if (threadIdx.x < 2) ends[threadIdx.x] = list_of(starts, 0, " + n + ", threadIdx.x ? end - 1 : begin);\n"
        "  __syncthreads();\n  for (u64 at = begin + threadIdx.x; at < end; at += 256) {\n"
        "    const u64 i = list_of(starts, ends[0], ends[1] + 1, at);\n    (" + k.argument(out, type + "*") + ")[at] = (" + rows +
        ")[i].at[at - starts[i]];\n  }\n}\n");
  return k;
}

result_rows of_lists(const detail::logical& n, const ir::type* lists, const device_rows& in, vertex_run& run) {
  const std::size_t size = device_layout(n.row).size;
  if (!in.size()) return run.result(n.row, run.allocate(size), 0);
  const kernel_source k = generate(lists, n.row);
  const auto place = run.compile(k, "place_lists"), take = run.compile(k, "take_elements");
  const device_buffer temp = run.zeroed(gpu::scan_temp_bytes<policy, gpu::u64>(in.size())), first = run.allocate(in.size() * 8);
  std::array<std::uint64_t, argument_count> args{temp.address(), first.address(), run.status_word(1), 0};
  const std::array<const device_rows*, 1> inputs = {&in};
  const auto blocks = gpu::scan_blocks<policy>(in.size(), resident_blocks(*place, policy::threads));
  run.reset_status();
  run.launch(k, *place, {static_cast<unsigned>(blocks), policy::threads, 0}, inputs, args);
  run.finish(k);
  const std::uint64_t rows = run.read(1);
  device_buffer elements = run.allocate(std::max<std::uint64_t>(rows, 1) * size);
  args[out] = elements.address();
  if (rows) run.launch(k, *take, {static_cast<unsigned>(gpu::divide_up(rows, rows_of_block)), 256, 0}, inputs, args);
  run.finish(k);
  return run.result(n.row, std::move(elements), rows);
}

}  // namespace

const ir::type* many_rows_of(const detail::logical& n) { return collection_of(n); }

void plan_many_rows(const detail::logical& n) {
  const ir::type* t = collection_of(n);
  (void)device_layout(t);
  if (t->k == ir::kind::list) (void)generate(t, n.row);
}

result_rows run_many_rows(const detail::logical& n, const std::shared_ptr<const device_rows>& in, vertex_run& run) {
  const ir::type* t = collection_of(n);
  if (t->k == ir::kind::list) return of_lists(n, t, *in, run);
  auto rows = std::make_shared<device_rows>(run.shared_gpu(), n.row, in->size() * t->count);
  rows->add({0, n.row}, in->column(0));
  rows->keep(in);
  for (const auto& heap : in->heaps()) rows->keep_heap(heap);
  return rows;
}

}  // namespace query::gpu_engine
