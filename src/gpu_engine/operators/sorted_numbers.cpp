#include "gpu_engine/operators/sorted_numbers.hpp"

#include <optional>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"
#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/radix_launch.hpp"
#include "gpu_engine/row_numbers.hpp"

namespace query::gpu_engine {

using ir::kind;
using ir::op;

namespace {

enum argument : std::uint32_t { temp, keys_0, keys_1, pass, out, out_rows, untold, argument_count };
constexpr std::size_t untold_word = 1;  // of the status block

struct own_key {
  const ir::type* number = nullptr;  // what the rows and the key are, but for records and arrays of one part around it
  std::string key;                   // of `v`
  std::uint32_t bits = 0;
  std::string row;  // the number of `k`
};

// The one number that a value consists of; null if it is something else.
const ir::type* only_number(const ir::type* t) {
  while (!ir::is_arithmetic(t->k)) {
    const ir::type* inner = nullptr;
    if (t->k == kind::record && t->field_list.size() == 1 && t->field_list[0].offset == 0) inner = t->field_list[0].of;
    if (t->k == kind::array && t->count == 1) inner = t->element;
    if (!inner || inner->size != t->size || !same_on_device(t)) return nullptr;
    t = inner;
  }
  return t;
}

std::optional<own_key> own_key_of(kernel_source& k, const detail::logical& n) {
  // A further key would decide nothing, but might fail.
  if (n.functions.size() != 1 || n.order.size() > 1) return std::nullopt;
  const detail::order_key order = n.order.empty() ? detail::order_key{} : n.order[0];
  const ir::type* number = only_number(n.row);
  if (!number || order.custom.less) return std::nullopt;
  const ir::traced t = k.trace(n, n.functions[0]);
  // Every part of such a row is the whole of it.
  if ((t.root->what != op::row && t.root->what != op::field) || t.root->id != 0) return std::nullopt;
  if (t.root->what == op::field && t.root->bits >= n.row->size) return std::nullopt;  // of a column beside it
  const ir::type *read = only_number(t.root->type), *key = n.functions[0].result ? only_number(n.functions[0].result) : read;
  if (!read || !key || read->k != number->k || key->k != number->k) return std::nullopt;
  std::vector<sort_pass> passes;
  take_key_apart(number, order, 0, 32, {}, passes);
  return own_key{number, passes.front().key, passes.front().bits, value_of_key(number, order, "k")};
}

std::string word_of(const own_key& key) { return "u" + std::to_string(key.number->size * 8); }

kernel_source generate(kernel_source k, const own_key& key, const input_layout& in, bool wide) {
  const row_source rows = input_rows(k, in, 0, "j");
  const std::string word = word_of(key), type = k.type_name(key.number), bits = std::to_string(key.bits),
                    number_of_rows = k.parameter({word::role::rows, 0, 0, 0}, "u64"), temporary = k.argument(temp, "void*");
  const bool told = !ir::is_floating(key.number->k);
  k.include("gpu_primitives/radix_sort.cuh");
  k.include("gpu_primitives/sort_keys.cuh");
  k.add("using policy = radix_policy<" + word + ", no_value>;\n");
  k.add("__device__ __forceinline__ " + type + " row_of(const words& p, u64 j) {\n  return " +
        expressions::part_of(rows, 0, key.number, k) + ";\n}\n");
  k.add("__device__ __forceinline__ " + word + " key_of(" + type + " v) {\n  return " + word + "(" + key.key + ");\n}\n");
  k.add("extern \"C\" __global__ void __launch_bounds__(policy::histogram_threads) count_keys(const __grid_constant__ words p) {\n" +
        std::string(told ? "" : "  bool told = true;\n") + "  radix_histogram<policy, " + bits + ">(" + number_of_rows + ", " + temporary +
        ", [&](u64 j) -> " + word + " {\n    const " + type + " v = row_of(p, j);\n" +
        (told ? "" : "    told = told && sort_key_tells(v);\n") + "    return key_of(v);\n  });\n" +
        (told ? "" : "  if (!told) store_relaxed(" + k.argument(untold, "u64*") + ", u64(1));\n") + "}\n");
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(policy::threads, policy::blocks) sweep_keys(const __grid_constant__ words p) {\n"
      "  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<" +
      word + ", no_value> between{{" + k.argument(keys_0, word + "*") + ", " + k.argument(keys_1, word + "*") +
      "}, {nullptr, nullptr}};\n  " + type + "* const out = " + k.argument(out, type + "*") +
      ";\n  const u64 kept = " + k.argument(out_rows, "u64") + ";\n  radix_sweep<policy, " + bits + ", " + word + ", no_value, " +
      (wide ? "u64" : "u32") + ">((u32)" + k.argument(pass, "u64") + ", " + number_of_rows + ", " + temporary +
      ", between, shared,\n    [&](u64 j) { return key_of(row_of(p, j)); }, [](u64) { return no_value{}; },\n    [&](u64 at, " + word +
      " k) {\n      if (at < kept) out[at] = " + key.row + ";\n    }, [](u64, no_value) {});\n}\n");
  return k;
}

template <class Key> radix_shape shape_with(std::uint64_t n, bool wide) {
  return wide ? radix_shape::of<Key, gpu::no_value, gpu::u64>(n) : radix_shape::of<Key, gpu::no_value, gpu::u32>(n);
}
radix_shape shape_of(std::uint64_t n, std::size_t bytes, bool wide) {
  switch (bytes) {
    case 1:
      return shape_with<gpu::u8>(n, wide);
    case 2:
      return shape_with<gpu::u16>(n, wide);
    case 4:
      return shape_with<gpu::u32>(n, wide);
    default:
      return shape_with<gpu::u64>(n, wide);
  }
}

}  // namespace

bool plan_sorted_numbers(const planner::vertex& v, const input_layout& in) {
  kernel_source k;
  const std::optional<own_key> key = own_key_of(k, *v.node);
  if (key) (void)generate(std::move(k), *key, in, false);
  return key.has_value();
}

bool begin_sorted_numbers(const planner::vertex& v, const input_layout& in, vertex_run& run) {
  kernel_source k;
  const std::optional<own_key> key = own_key_of(k, *v.node);
  if (key) (void)known_or_begun(run, generate(std::move(k), *key, in, false));
  return key.has_value();
}

bool sort_numbers(const planner::vertex& v, const device_rows& in, device_address rows_out, std::uint64_t kept, vertex_run& run) {
  kernel_source source;
  const std::optional<own_key> key = own_key_of(source, *v.node);
  if (!key) return false;
  const std::uint64_t n = in.size();
  const std::size_t bytes = key->number->size;
  const bool wide = wide_row_numbers(n);
  const kernel_source k = generate(std::move(source), *key, in.layout(), wide);
  const auto count = run.compile(k, "count_keys"), sweep = run.compile(k, "sweep_keys");
  const std::array<const device_rows*, 1> inputs{&in};
  std::vector<std::uint64_t> args(argument_count, 0);
  radix_launch sort(run, k, *count, *sweep, shape_of(n, bytes, wide), key->bits);

  const bool may_be_untold = ir::is_floating(key->number->k);
  args[untold] = run.status_word(untold_word);
  if (may_be_untold) run.fill(args[untold], 0, 8);
  sort.count(inputs, args, temp);
  if (may_be_untold) {
    run.finish(k);
    if (run.read(untold_word)) return false;
  }
  // The last pass reads the first buffer alone: the rows that it writes may lie in the second.
  const std::uint32_t passes = gpu::radix_passes(key->bits);
  const device_buffer first = passes > 1 ? run.allocate(n * bytes) : device_buffer(),
                      second = passes > 2 && kept < n ? run.allocate(n * bytes) : device_buffer();
  args[keys_0] = first.address();
  args[keys_1] = second ? second.address() : rows_out;
  args[out] = rows_out;
  args[out_rows] = kept;
  sort.passes(inputs, args, pass);
  run.finish(k);
  return true;
}

}  // namespace query::gpu_engine
