// order_by: row numbers sorted by order-preserving keys, the last key first (each pass is stable), then rows gathered once.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/radix_sort.cuh"

namespace query::gpu_engine {

namespace {

using ir::kind;

// Arguments of the kernels.
enum argument : std::uint32_t { order_in, order_out, temp, keys_0, keys_1, values_0, pass, out, out_rows, argument_count };

// One sort: by a scalar of a key, or by the flag of an optional one.
struct sort_pass {
  std::string key;  // text of the order-preserving word of `v`, the key's value
  std::uint32_t bits = 64;
  std::size_t of = 0;  // number of the key
};

// A key's scalars, the least significant first.
void take_apart(const ir::type* t, const std::string& path, const detail::order_key& order, std::size_t of,
                std::vector<sort_pass>& passes) {
  if (ir::is_arithmetic(t->k)) {
    const auto bits = static_cast<std::uint32_t>(t->k == kind::boolean ? 1 : t->size * 8);
    const std::string word = bits <= 32 ? "u32" : "u64";
    std::string key = "sort_key(" + path + ")";
    // Within the key's own width: the bits above stay zero.
    if (order.descending) key = t->k == kind::boolean ? "(" + key + " ^ 1)" : "descending_key(" + key + ")";
    passes.push_back({word + "(" + key + ")", bits, of});
    return;
  }
  switch (t->k) {
    case kind::record:
      for (std::size_t i = t->field_list.size(); i-- > 0;)
        take_apart(t->field_list[i].of, path + ".f" + std::to_string(i), order, of, passes);
      return;
    case kind::array:
      if (t->count > 16) throw not_generated("sorting by an array of more than 16 elements");
      for (std::size_t i = t->count; i-- > 0;) take_apart(t->element, path + ".a[" + std::to_string(i) + "]", order, of, passes);
      return;
    case kind::optional: {
      // Nulls are equal: their values count as one.
      std::vector<sort_pass> inner;
      take_apart(t->element, path + ".v", order, of, inner);
      for (sort_pass& p : inner) {
        const std::string word = p.bits <= 32 ? "u32" : "u64";
        p.key = "(" + path + ".has ? " + p.key + " : " + word + "(0))";
        passes.push_back(std::move(p));
      }
      passes.push_back({std::string("u32(null_key(") + path + ".has, " + (order.nulls_first ? "true" : "false") + "))", 1, of});
      return;
    }
    default:
      throw not_generated("sorting by " + std::string(t->name) + " has no form on the GPU yet");
  }
}

struct generated {
  kernel_source source;
  std::vector<sort_pass> passes;
  std::size_t row_number_bytes = 4;
};

void generate(generated& g, const planner::vertex& v, const input_layout& in, bool wide_numbers) {
  const detail::logical& n = *v.node;
  kernel_source& k = g.source;
  if (std::any_of(n.order.begin(), n.order.end(), [](const detail::order_key& o) { return o.custom.less != nullptr; }))
    throw not_generated("the order is the user's own function");
  k.include("gpu_primitives/radix_sort.cuh");
  k.include("gpu_primitives/sort_keys.cuh");
  g.row_number_bytes = wide_numbers ? 8 : 4;
  const std::string value = wide_numbers ? "u64" : "u32", rows = k.parameter({word::role::rows, 0, 0, 0}, "u64");
  k.add("using number = " + value + ";\n");
  // The sort below takes rows as they lie: row-wise work before it has run.
  row_source row;
  row.what = row_source::form::columns;
  row.type = in.row;
  row.text = "i";
  for (std::uint32_t c = 0; c < in.columns.size(); ++c)
    row.columns.push_back({in.columns[c].offset, in.columns[c].type,
                           k.parameter({word::role::column, 0, c, 0}, "const " + k.type_name(in.columns[c].type) + "* __restrict__")});

  for (std::size_t i = n.functions.size(); i-- > 0;) {
    const ir::traced t = k.trace(n, n.functions[i]);
    const ir::type* key = n.functions[i].result ? n.functions[i].result : t.root->type;
    const std::string type = k.type_name(key), name = "key_" + std::to_string(i);
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, row);
    const std::string text = e.converted(e.value(t.root), t.root->type, key);
    k.add("__device__ __forceinline__ " + type + " " + name + "(const words& p, u64 i) {\n" + e.take() + "  return " + text + ";\n}\n");
    take_apart(key, "v", i < n.order.size() ? n.order[i] : detail::order_key{}, i, g.passes);
  }
  k.add("__device__ __forceinline__ u64 row_at(const words& p, u64 j) {\n  const number* order = " + k.argument(order_in, "const number*") +
        ";\n  return order ? order[j] : j;\n}\n");
  for (std::size_t s = 0; s < g.passes.size(); ++s) {
    const sort_pass& p = g.passes[s];
    const std::string key = p.bits <= 32 ? "u32" : "u64", j = std::to_string(s), bits = std::to_string(p.bits),
                      policy = "radix_policy<" + key + ", number>";
    const std::string key_of =
        "[&](u64 j) -> " + key + " { const auto v = key_" + std::to_string(p.of) + "(p, row_at(p, j)); return " + p.key + "; }";
    k.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::histogram_threads) count_" + j +
          "(const __grid_constant__ words p) {\n  radix_histogram<" + policy + ", " + bits + ">(" + rows + ", " +
          k.argument(temp, "void*") + ", " + key_of + ");\n}\n");
    k.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::threads, " + policy + "::blocks) sweep_" + j +
          "(const __grid_constant__ words p) {\n  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<" + key +
          ", number> between{{" + k.argument(keys_0, key + "*") + ", " + k.argument(keys_1, key + "*") + "}, {" +
          k.argument(values_0, "number*") + ", " + k.argument(order_out, "number*") + "}};\n  radix_sweep<" + policy + ", " + bits + ", " +
          key + ", number, " + value + ">((u32)" + k.argument(pass, "u64") + ", " + rows + ", " + k.argument(temp, "void*") +
          ", between, shared,\n    " + key_of + ", [&](u64 j) { return number(row_at(p, j)); },\n    [](u64, " + key +
          ") {}, [&](u64 at, number row) { " + k.argument(order_out, "number*") + "[at] = row; });\n}\n");
  }
  const std::string type = k.type_name(n.row);
  k.add("extern \"C\" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {\n  " + type +
        "* const out = " + k.argument(out, type + "*") +
        ";\n"
        "  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < " +
        k.argument(out_rows, "u64") + "; j += gridDim.x * 256ull) {\n    const u64 i = row_at(p, j);\n    out[j] = " +
        expressions::part_of(row, 0, n.row, k) + ";\n  }\n}\n");
}

// Numbers that the host needs of the policy for a pass.
struct sweep_shape {
  std::uint64_t threads, histogram_threads, histogram_items, rows_of_tile, temp_bytes, shared;
  template <class Key, class Number> static sweep_shape of(std::uint64_t n) {
    using policy = gpu::radix_policy<Key, Number>;
    return {policy::threads,
            policy::histogram_threads,
            policy::histogram_items,
            std::uint64_t{policy::threads} * policy::items,
            gpu::radix_temp_bytes<policy, Number>(n),
            gpu::radix_shared_bytes<policy, Key, Number>()};
  }
};

}  // namespace

void plan_order_by(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(v.node->row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
  generated g;
  generate(g, v, {b.row, {{0, b.row}}}, false);
}

result_rows run_order_by(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const bool bare = b.stages.empty() && b.prefilters.empty();
  const std::shared_ptr<const device_rows> in = bare ? run.input(b, fields_read(b, true)) : run_collect_before(b, run);
  const std::uint64_t n = in->size();
  const bool wide = !gpu::radix_fits_32_bit_counts(n);
  generated g;
  generate(g, v, in->layout(), wide);
  const ir::type* row = v.node->row;
  const std::uint64_t kept = std::min<std::uint64_t>(n, v.limit);
  device_buffer rows_out = run.allocate(std::max<std::uint64_t>(kept, 1) * device_layout(row).size);
  if (kept) {
    const std::array<const device_rows*, 1> inputs = {in.get()};
    std::array<std::uint64_t, argument_count> args{};
    const auto resident = [&](const kernel& f, std::uint64_t threads, std::size_t shared) {
      return std::uint64_t{resident_blocks(f, static_cast<unsigned>(threads), shared)};
    };
    device_buffer order[2] = {run.allocate(n * g.row_number_bytes), run.allocate(n * g.row_number_bytes)};
    const device_buffer numbers = run.allocate(n * g.row_number_bytes), keys[2] = {run.allocate(n * 8), run.allocate(n * 8)};
    args[values_0] = numbers.address();
    args[keys_0] = keys[0].address();
    args[keys_1] = keys[1].address();
    for (std::size_t s = 0; s < g.passes.size(); ++s) {
      run.context().cancel.check();
      const bool narrow = g.passes[s].bits <= 32;
      const sweep_shape shape =
          wide ? (narrow ? sweep_shape::of<gpu::u32, gpu::u64>(n) : sweep_shape::of<gpu::u64, gpu::u64>(n))
               : (narrow ? sweep_shape::of<gpu::u32, gpu::u32>(n) : sweep_shape::of<gpu::u64, gpu::u32>(n));
      const device_buffer temporary = run.zeroed(shape.temp_bytes);
      args[temp] = temporary.address();
      args[order_out] = order[s % 2].address();
      const auto count = run.compile(g.source, ("count_" + std::to_string(s)).c_str()),
                 sweep = run.compile(g.source, ("sweep_" + std::to_string(s)).c_str());
      const auto blocks = [&](std::uint64_t tiles, std::uint64_t most) {
        return static_cast<unsigned>(std::clamp<std::uint64_t>(tiles, 1, most));
      };
      run.launch(
          g.source, *count,
          {blocks(gpu::divide_up(n, shape.histogram_threads * shape.histogram_items), resident(*count, shape.histogram_threads, 0)),
           static_cast<unsigned>(shape.histogram_threads), 0},
          inputs, args);
      for (std::uint32_t p = 0; p < gpu::radix_passes(g.passes[s].bits); ++p) {
        args[pass] = p;
        run.launch(g.source, *sweep,
                   {static_cast<unsigned>(gpu::divide_up(n, shape.rows_of_tile)), static_cast<unsigned>(shape.threads), shape.shared},
                   inputs, args);
      }
      args[order_in] = order[s % 2].address();
    }
    args[out] = rows_out.address();
    args[out_rows] = kept;
    const auto gather = run.compile(g.source, "gather_rows");
    run.launch(g.source, *gather,
               {static_cast<unsigned>(std::min(gpu::divide_up(kept, 256), gpu::u64{resident(*gather, 256, 0)} * 8)), 256, 0}, inputs,
               args);
    run.finish(g.source);
  }
  return run.result(row, std::move(rows_out), kept);
}

}  // namespace query::gpu_engine
