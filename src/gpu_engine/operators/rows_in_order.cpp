// Rows brought into the order of 64-bit numbers beside them: groups as they first appeared.
#include <algorithm>

#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/radix_sort.cuh"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { in, by, count, temp, pass, keys_0, keys_1, rows_0, order, out, argument_count };

kernel_source generate(const ir::type* row) {
  kernel_source k;
  k.include("gpu_primitives/radix_sort.cuh");
  const auto arg = [&](argument a, std::string_view type = "u64") { return k.argument(a, type); };
  const std::string type = k.type_name(row), key = "[&](u64 i) { return " + arg(by, "const u64*") + "[i]; }", n = arg(count);
  const auto kernel = [&](const char* name, const std::string& bounds, const std::string& body) {
    k.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
          "}\n");
  };
  k.add("using policy = radix_policy<u64, u64>;\n");
  kernel("count_digits", "policy::histogram_threads",
         "  radix_histogram<policy, 64>(" + n + ", " + arg(temp, "void*") + ", " + key + ");\n");
  kernel("sort_by_number", "policy::threads, policy::blocks",
         "  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<u64, u64> between{{" + arg(keys_0, "u64*") + ", " +
             arg(keys_1, "u64*") + "}, {" + arg(rows_0, "u64*") + ", " + arg(order, "u64*") +
             "}};\n  radix_sweep<policy, 64, u64, u64, u64>((u32)" + arg(pass) + ", " + n + ", " + arg(temp, "void*") +
             ", between, shared, " + key + ", [](u64 i) { return i; }, [](u64, u64) {}, [&](u64 at, u64 row) { " + arg(order, "u64*") +
             "[at] = row; });\n");
  kernel("put_in_order", "256",
         "  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " + n + "; i += gridDim.x * 256ull) " + arg(out, type + "*") +
             "[i] = " + arg(in, "const " + type + "*") + "[" + arg(order, "const u64*") + "[i]];\n");
  return k;
}

}  // namespace

device_buffer rows_in_order(const ir::type* row, device_buffer rows, const device_buffer& numbers, std::uint64_t n, vertex_run& run) {
  if (n < 2) return rows;
  using policy = gpu::radix_policy<gpu::u64, gpu::u64>;
  const kernel_source k = generate(row);
  const device_buffer temporary = run.zeroed(gpu::radix_temp_bytes<policy, gpu::u64>(n)), first_keys = run.allocate(n * 8),
                      second_keys = run.allocate(n * 8), between = run.allocate(n * 8), sorted = run.allocate(n * 8);
  device_buffer result = run.allocate(n * device_layout(row).size);
  std::array<std::uint64_t, argument_count> args{};
  args[in] = rows.address();
  args[by] = numbers.address();
  args[count] = n;
  args[temp] = temporary.address();
  args[keys_0] = first_keys.address();
  args[keys_1] = second_keys.address();
  args[rows_0] = between.address();
  args[order] = sorted.address();
  args[out] = result.address();
  const auto digits = run.compile(k, "count_digits"), sweep = run.compile(k, "sort_by_number"), put = run.compile(k, "put_in_order");
  run.launch(k, *digits,
             {static_cast<unsigned>(gpu::radix_histogram_blocks<policy>(n, resident_blocks(*digits, policy::histogram_threads))),
              policy::histogram_threads, 0},
             {}, args);
  for (std::uint32_t p = 0; p < gpu::radix_passes(64); ++p) {
    args[pass] = p;
    run.launch(
        k, *sweep,
        {static_cast<unsigned>(gpu::radix_sweep_blocks<policy>(n)), policy::threads, gpu::radix_shared_bytes<policy, gpu::u64, gpu::u64>()},
        {}, args);
  }
  run.launch(k, *put, {static_cast<unsigned>(std::min(gpu::divide_up(n, 256), gpu::u64{resident_blocks(*put, 256)} * 8)), 256, 0}, {},
             args);
  run.finish(k);
  return result;
}

}  // namespace query::gpu_engine
