// count, sum, min, max and average: one pass over the rows, in an order that does not depend on timing.
#include <cstring>

#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/reduce.cuh"
#include "ir/group_function.hpp"

namespace query::gpu_engine {

namespace {

using detail::fold_kind;
using ir::kind;

struct generated {
  kernel_source source;
  std::size_t state_words = 1;
  bool loops = false;
};

bool is_sum(fold_kind k) { return k == fold_kind::sum || k == fold_kind::average; }
kind kept_in(fold_kind what, kind of) { return what == fold_kind::sum ? ir::kind_of_sum(of) : ir::kind_of_mean_sum(of); }

std::string extreme(kind k, bool largest) {
  if (k == kind::f32) return largest ? "-__uint_as_float(0x7f800000u)" : "__uint_as_float(0x7f800000u)";
  if (k == kind::f64) return largest ? "-__longlong_as_double(0x7ff0000000000000ll)" : "__longlong_as_double(0x7ff0000000000000ll)";
  if (k == kind::boolean) return largest ? "false" : "true";
  return "traits<" + std::string(scalar_text(k)) + ">::" + (largest ? "least" : "most");
}

void generate(generated& g, const planner::branch& b, const input_layout& in, fold_kind kind_of_fold, captured_size captured) {
  kernel_source& k = g.source;
  k.place_collections(std::move(captured));
  const bool counts = kind_of_fold == fold_kind::count;
  const row_function rows = generate_rows(k, b, in, 0, !counts, true);
  g.loops = rows.loops;
  if (!counts && !ir::is_arithmetic(rows.out->k)) throw not_generated("folds of rows that are not numbers");
  const kind value = rows.out->k;
  k.include("gpu_primitives/reduce.cuh");
  std::string fields, none, update, merge, finish;
  if (counts) {
    fields = "u64 count;";
    none = "{0}";
    update = "++into.count;";
    merge = "{a.count + b.count}";
    finish = "out[1] = s.count;";
    g.state_words = 1;
  } else if (is_sum(kind_of_fold)) {
    const std::string wide(scalar_text(kept_in(kind_of_fold, value)));
    fields = wide + " value; u64 count;";
    none = "{0, 0}";
    update = "into.value = add<" + wide + ">(into.value, (" + wide + ")row); ++into.count;";
    merge = "{add<" + wide + ">(a.value, b.value), a.count + b.count}";
    finish = "*(" + wide + "*)out = s.value; out[1] = s.count;";
    g.state_words = 2;
  } else {
    const bool largest = kind_of_fold == fold_kind::max;
    const std::string type(scalar_text(value));
    const auto better = [&](const char* x, const char* y) { return std::string(largest ? y : x) + " < " + (largest ? x : y); };
    fields = "alignas(8) " + type + " value; u64 count; u64 numbers;";
    none = "{" + extreme(value, largest) + ", 0, 0}";
    update = "++into.count; if (row == row) { ++into.numbers; if (" + better("row", "into.value") + ") into.value = row; }";
    merge = "{" + better("b.value", "a.value") + " ? b.value : a.value, a.count + b.count, a.numbers + b.numbers}";
    finish = "*(" + type + "*)out = s.value; out[1] = s.count; out[2] = s.numbers;";
    g.state_words = 3;
  }
  const std::string row = counts ? "char" : k.type_name(rows.out), n = k.parameter({word::role::rows, 0, 0, 0}, "u64");
  const std::string temp = k.argument(0, "void*"), out = k.argument(1, "u64*");
  const std::string row_type = k.type_name(rows.out);
  k.add("struct state { " + fields +
        " };\n"
        "extern \"C\" __global__ void __launch_bounds__(256) fold_rows(const __grid_constant__ words p) {\n"
        "  const state none = " +
        none +
        ";\n"
        "  reduce<" +
        (rows.loops ? "reduce_loops_policy" : "reduce_policy") +
        "<state>>(" +
        n +
        ", none,\n"
        "    [&](u64 i, state& into) { " +
        row_type + " row; if (!" + rows.name + "(p, i, row)) return; " + update +
        " },\n"
        "    [](const state& a, const state& b) { return state" +
        merge + "; }, " + temp +
        ",\n"
        "    [&](const state& s) { u64* const out = " +
        out + "; " + finish + " });\n}\n");
}

template <std::size_t Words> struct state_of { std::uint64_t w[Words]; };

// Blocks and temporary bytes, as the device's policy for a state of so many words has them.
struct reduce_shape {
  std::uint64_t blocks, bytes;
  template <class Policy, class S> static reduce_shape of(std::uint64_t n) {
    return {gpu::reduce_blocks<Policy>(n), gpu::reduce_temp_bytes<Policy, S>(n)};
  }
  template <std::size_t Words> static reduce_shape of(std::uint64_t n, bool loops) {
    using state = state_of<Words>;
    return loops ? of<gpu::reduce_loops_policy<state>, state>(n) : of<gpu::reduce_policy<state>, state>(n);
  }
  static reduce_shape of(const generated& g, std::uint64_t n) {
    return g.state_words == 1 ? of<1>(n, g.loops) : g.state_words == 2 ? of<2>(n, g.loops) : of<3>(n, g.loops);
  }
};

template <class T> void merge_extreme(bool largest, std::uint64_t bits, bool first, unsigned char* value) {
  T a, b;
  std::memcpy(&a, &bits, sizeof a);
  std::memcpy(&b, value, sizeof b);
  if (first || (largest ? b < a : a < b)) std::memcpy(value, &a, sizeof a);
}

void merge(fold_kind what, kind k, std::uint64_t bits, std::uint64_t numbers, detail::fold_state& state) {
  if (is_sum(what)) {
    if (ir::is_floating(kept_in(what, k))) {
      double a, b;
      std::memcpy(&a, &bits, 8);
      std::memcpy(&b, state.value, 8);
      a += b;
      std::memcpy(state.value, &a, 8);
    } else {
      std::uint64_t b;
      std::memcpy(&b, state.value, 8);
      b += bits;
      std::memcpy(state.value, &b, 8);
    }
    return;
  }
  if (what == fold_kind::count || !numbers) return;
  const bool largest = what == fold_kind::max, first = state.numbers == 0;
  switch (k) {
    case kind::boolean:
    case kind::u8:
      return merge_extreme<std::uint8_t>(largest, bits, first, state.value);
    case kind::i8:
      return merge_extreme<std::int8_t>(largest, bits, first, state.value);
    case kind::i16:
      return merge_extreme<std::int16_t>(largest, bits, first, state.value);
    case kind::u16:
      return merge_extreme<std::uint16_t>(largest, bits, first, state.value);
    case kind::i32:
      return merge_extreme<std::int32_t>(largest, bits, first, state.value);
    case kind::u32:
      return merge_extreme<std::uint32_t>(largest, bits, first, state.value);
    case kind::i64:
      return merge_extreme<std::int64_t>(largest, bits, first, state.value);
    case kind::u64:
      return merge_extreme<std::uint64_t>(largest, bits, first, state.value);
    case kind::f32:
      return merge_extreme<float>(largest, bits, first, state.value);
    case kind::f64:
      return merge_extreme<double>(largest, bits, first, state.value);
    default:
      return;
  }
}

}  // namespace

void plan_fold(const planner::branch& before, fold_kind what) {
  const planner::branch b = plan_text_making(before);
  generated g;
  generate(g, b, planned_layout(b, fields_read(b, what != fold_kind::count)), what, rows_of_capture);
}

void run_fold(const planner::branch& before, fold_kind what, detail::fold_state& state, vertex_run& run) {
  const planner::branch b = run_text_making(before, run);
  const auto in = run.input(b, fields_read(b, what != fold_kind::count));
  generated g;
  generate(g, b, in->layout(), what, run.captured_sizes());
  const std::uint64_t n = in->size();
  if (n == 0) return;
  const auto kernel = run.compile(g.source, "fold_rows");
  const reduce_shape shape = reduce_shape::of(g, n);
  constexpr std::size_t zero_at_first = 128;  // reduce.cuh
  const device_address temp = run.zeroed_for_launch(shape.bytes, zero_at_first);
  const std::array<const device_rows*, 1> inputs = {in.get()};
  run.launch(g.source, *kernel, {static_cast<unsigned>(shape.blocks), 256, 0}, inputs,
             std::array<std::uint64_t, 2>{temp, run.status_word(1)});
  run.finish(g.source);
  // Words: value, count, numbers; a count alone has its place too.
  const std::uint64_t numbers = run.read(3);
  merge(what, b.row->k, run.read(1), numbers, state);
  state.count += run.read(2);
  state.numbers += numbers;
}

}  // namespace query::gpu_engine
