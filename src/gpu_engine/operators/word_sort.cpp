#include "gpu_engine/operators/word_sort.hpp"

#include "gpu_engine/operators/radix_launch.hpp"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t {
  row_count,
  column_at,
  stride,
  negative,
  other,
  floating,
  order_in,
  order_out,
  temp,
  keys_0,
  keys_1,
  values_0,
  pass,
  argument_count
};

kernel_source generate(std::uint32_t bits, bool wide) {
  kernel_source k;
  const std::string word = bits <= 32 ? "u32" : "u64", number = wide ? "u64" : "u32", digits = std::to_string(bits);
  const auto arg = [&](argument a, std::string_view type = "u64") { return k.argument(a, type); };
  k.include("gpu_primitives/radix_sort.cuh");
  k.include("gpu_primitives/sort_keys.cuh");
  k.add("using number = " + number + ";\nusing sort_word = " + word + ";\nusing policy = radix_policy<sort_word, number>;\n");
  k.add("__device__ __forceinline__ u64 row_at(const words& p, u64 j) {\n  const number* order = " + arg(order_in, "const number*") +
        ";\n  return order ? order[j] : j;\n}\n");
  k.add("__device__ __forceinline__ sort_word word_of(const words& p, u64 row) {\n  const u8* const at = " + arg(column_at, "const u8*") +
        " + row * " + arg(stride) + ";\n  const number_form<sort_word> form{(sort_word)" + arg(negative) + ", (sort_word)" + arg(other) +
        ", " + arg(floating) + " != 0};\n  return sort_key_of_bits(*(const sort_word*)at, form);\n}\n");
  k.add("extern \"C\" __global__ void __launch_bounds__(policy::histogram_threads) count_words(const __grid_constant__ words p) {\n"
        "  radix_histogram<policy, " +
        digits + ">(" + arg(row_count) + ", " + arg(temp, "void*") + ", [&](u64 row) { return word_of(p, row); });\n}\n");
  k.add("extern \"C\" __global__ void __launch_bounds__(policy::threads, policy::blocks) sweep_words(const __grid_constant__ words p) {\n"
        "  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<sort_word, number> between{{" +
        arg(keys_0, "sort_word*") + ", " + arg(keys_1, "sort_word*") + "}, {" + arg(values_0, "number*") + ", " +
        arg(order_out, "number*") + "}};\n  radix_sweep<policy, " + digits + ", sort_word, number, number, true>((u32)" + arg(pass) + ", " +
        arg(row_count) + ", " + arg(temp, "void*") +
        ", between, shared,\n    [&](u64 j) { return word_of(p, row_at(p, j)); },\n    [&](u64 j) { return number(row_at(p, j)); },\n"
        "    [](u64, sort_word) {}, [&](u64 at, number row) { " +
        arg(order_out, "number*") + "[at] = row; });\n}\n");
  return k;
}

radix_shape shape_of(std::uint64_t n, bool wide, std::uint32_t bits) {
  using gpu::u32, gpu::u64;
  if (bits <= 32) return wide ? radix_shape::of<u32, u64, u64>(n) : radix_shape::of<u32, u32, u32>(n);
  return wide ? radix_shape::of<u64, u64, u64>(n) : radix_shape::of<u64, u32, u32>(n);
}

}  // namespace

gpu::number_form<gpu::u64> word_column::form_of(const ir::type* number, bool descending) {
  const bool is_signed = ir::is_signed_integer(number->k), floating = ir::is_floating(number->k);
  if (number->size == 8) return gpu::number_form_of<gpu::u64>(is_signed, floating, descending);
  const auto f = gpu::number_form_of<gpu::u32>(is_signed, floating, descending);
  return {f.negative, f.other, f.floating};
}

word_sort::word_sort(std::uint32_t bits, bool wide_numbers)
    : k_(generate(rounded(bits), wide_numbers)), bits_(rounded(bits)), wide_(wide_numbers) {}

void word_sort::run(const word_column& by, const places& at, std::uint64_t n, vertex_run& run) const {
  std::vector<std::uint64_t> args(argument_count, 0);
  args[row_count] = n;
  args[column_at] = by.at;
  args[stride] = by.stride;
  args[negative] = by.form.negative;
  args[other] = by.form.other;
  args[floating] = by.form.floating;
  args[order_in] = at.order_in;
  args[order_out] = at.order_out;
  args[keys_0] = at.keys[0];
  args[keys_1] = at.keys[1];
  args[values_0] = at.values;
  const auto count = run.compile(k_, "count_words"), sweep = run.compile(k_, "sweep_words");
  radix_launch radix(run, k_, *count, *sweep, shape_of(n, wide_, bits_), bits_);
  radix.count({}, args, temp);
  radix.passes({}, args, pass);
}

}  // namespace query::gpu_engine
