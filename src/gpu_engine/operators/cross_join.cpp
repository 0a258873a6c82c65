// cross_join: row k of the result is made of left row k / m and right row k % m.
#include <algorithm>
#include <limits>

#include <query/errors.hpp>

#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/types.cuh"
#include "planner/join_condition.hpp"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { out, total, argument_count };

void generate(kernel_source& k, const detail::logical& n, const input_layout& left, const input_layout& right) {
  check_host_form(n.row);
  generate_pair(k, n, n.functions.front(), input_rows(k, left, 0, "a"), false, input_rows(k, right, 1, "b"), false);
  const std::string type = k.type_name(n.row);
  k.add("extern \"C\" __global__ void __launch_bounds__(256) pair_all(const __grid_constant__ words p) {\n  " + type +
        "* const out = " + k.argument(out, type + "*") + ";\n  const u64 m = " + k.parameter({word::role::rows, 1, 0, 0}, "u64") +
        ";\n  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < " + k.argument(total, "u64") +
        "; j += gridDim.x * 256ull) out[j] = pair_of(p, j / m, j % m);\n}\n");
}

}  // namespace

void plan_cross_join(const planner::vertex& v) {
  if (planner::has_condition(*v.node)) throw not_generated("its right rows are sorted and searched there");
  for (const planner::branch& b : v.inputs) plan_input(b);
  kernel_source k;
  generate(k, *v.node, planned_input(v.inputs[0]), planned_input(v.inputs[1]));
}

result_rows run_cross_join(const planner::vertex& v, vertex_run& run) {
  const auto left = run_input(v.inputs[0], all_fields(v.inputs[0].row), run),
             right = run_input(v.inputs[1], all_fields(v.inputs[1].row), run);
  return run_cross_join_of(v, *left, *right, run);
}

result_rows run_cross_join_of(const planner::vertex& v, const device_rows& left, const device_rows& right, vertex_run& run) {
  const ir::type* row = v.node->row;
  const std::uint64_t n = left.size(), m = right.size(), row_bytes = device_layout(row).size;
  if (m && n > std::numeric_limits<std::uint64_t>::max() / m / row_bytes)
    throw resource_error("query: " + v.node->label + ": more pairs than any memory holds: " + std::to_string(n) + " times " +
                         std::to_string(m));
  const std::uint64_t pairs = std::min(n * m, v.limit);
  device_buffer rows = run.allocate(std::max<std::uint64_t>(pairs, 1) * row_bytes);
  if (pairs) {
    kernel_source k;
    generate(k, *v.node, left.layout(), right.layout());
    const auto f = run.compile(k, "pair_all");
    const std::array<const device_rows*, 2> inputs = {&left, &right};
    const std::array<std::uint64_t, argument_count> args = {rows.address(), pairs};
    const auto blocks = std::min<std::uint64_t>(gpu::divide_up(pairs, 256), std::uint64_t{resident_blocks(*f, 256)} * 8);
    run.launch(k, *f, {static_cast<unsigned>(blocks), 256, 0}, inputs, args);
    run.finish(k);
  }
  return run.result(row, std::move(rows), pairs);
}

}  // namespace query::gpu_engine
