// where and select up to a breaker: one pass that tests, projects and writes the rows that stay, in order.
#include <algorithm>
#include <array>
#include <utility>

#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/nearest.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/row_writes.cuh"
#include "ir/visit.hpp"

namespace query::gpu_engine {

namespace {

using detail::logical;
using detail::verb;

constexpr std::size_t widest_item = 112;  // wider rows are staged as row numbers, and computed when they are written

// The device's policy for items of a size that only generated code knows as a type.
struct item_policy {
  std::uint64_t threads = 0, tile = 0;
};
template <std::size_t Size> struct sized { unsigned char bytes[Size]; };
template <std::size_t... I> constexpr std::array<item_policy, sizeof...(I)> policies(std::index_sequence<I...>) {
  return {item_policy{gpu::compact_policy<sized<I + 1>>::threads, gpu::compact_tile<gpu::compact_policy<sized<I + 1>>>()}...};
}
constexpr auto policy_of_size = policies(std::make_index_sequence<widest_item>());

struct generated {
  kernel_source source;
  row_function rows;
  bool by_number = false;
};

// Where every row is kept, blocks are many and small: copies of collections to shared memory pay for rows that go through one, not for
// rows that read an element of it (docs/gpu-inside.md).
bool is_worth_copies(const planner::branch& b) {
  kernel_source k;  // traces need one
  bool worth = !b.prefilters.empty();
  for (const planner::stage& s : b.stages)
    for (const logical* n : s.nodes) {
      if (worth || n->what == verb::where) return true;
      const ir::traced t = k.trace(*n, n->functions.front());
      ir::each_node(t.root, [&](const ir::node* e) {
        const bool of_collection = e->what == ir::op::nested && !e->kids.empty() && e->kids[0]->what == ir::op::collection;
        worth = worth || (of_collection && e->text != "at" && e->text != "size");
      });
    }
  return worth;
}

void generate(generated& g, const planner::branch& b, const input_layout& in, captured_size captured) {
  kernel_source& k = g.source;
  if (is_worth_copies(b)) k.place_collections(std::move(captured));
  k.may_run_again();
  // What is computed when it is written is called from several places.
  const bool wide = device_layout(b.row).size > widest_item;
  g.rows = generate_rows(k, b, in, 0, true, !wide);
  const std::string row = k.type_name(g.rows.out), n = k.parameter({word::role::rows, 0, 0, 0}, "u64");
  const std::string out = k.argument(0, row + "*");
  if (!g.rows.filters) {
    k.include("gpu_primitives/row_writes.cuh");
    k.add("extern \"C\" __global__ void __launch_bounds__(256) collect_rows(const __grid_constant__ words p) {\n  " + row +
          "* const out = " + out + ";\n  write_rows<256>(" + n + ", out, [&](u64 i) {\n    " + row + " row;\n    " + g.rows.name +
          "(p, i, row);\n    return row;\n  });\n}\n");
    return;
  }
  k.include("gpu_primitives/compact.cuh");
  g.by_number = wide;
  const layout l = device_layout(g.rows.out);
  const std::string item = g.by_number ? "u64" : row;
  const std::string temp = k.argument(1, "void*"), count = k.argument(2, "u64*");
  k.add(std::string("using policy = ") + (g.rows.loops ? "compact_loops_policy<" : "compact_policy<") + item +
        ">;\nextern \"C\" __global__ void __launch_bounds__(policy::threads, policy::blocks) collect_rows(const __grid_constant__ words p) "
        "{\n"
        "  " +
        row + "* const out = " + out +
        ";\n"
        "  compact<policy, " +
        item + ">(" + n + ", " + temp + ", " + count + ",\n");
  if (g.by_number)
    k.add("    [&](u64 i, u64& item) { item = i; " + row + " row; return " + g.rows.name +
          "(p, i, row); },\n"
          "    [&](u64 at, const u64& i) { " +
          row + " row; " + g.rows.name + "(p, i, row); out[at] = row; });\n}\n");
  else
    k.add("    [&](u64 i, " + item + "& item) { return " + g.rows.name + "(p, i, item); },\n    " +
          (gpu::staged_rows_go_by_words(l.size, l.align) ? "rows_as_they_lie<" + item + ">{out}"
                                                         : "[&](u64 at, const " + item + "& item) { out[at] = item; }") +
          ");\n}\n");
}

}  // namespace

input_layout planned_layout(const planner::branch& b, const std::vector<bool>& fields) {
  const ir::type* row = source_row(b);
  return {row, choose_columns(row, fields_wanted(b, fields), b.source && b.source->what == detail::verb::source_columns)};
}

void plan_collect(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  if (bare(b)) {  // a loop's variable that functions capture
    if (!b.source || b.source->what != detail::verb::placeholder) throw not_generated("nothing to compute");
    check_host_form(b.row);
    return;
  }
  check_host_form(b.row);
  plan_collect_before(b);
}

void plan_collect_before(const planner::branch& b) {
  generated g;
  generate(g, b, planned_layout(b, fields_read(b, true)), rows_of_capture);
}

result_rows run_collect(const planner::vertex& v, vertex_run& run) { return run_collect_before(v.inputs.front(), run); }

result_rows run_collect_before(const planner::branch& b, vertex_run& run) {
  return run_collect_of(b, run.input(b, fields_read(b, true)), run);
}

result_rows run_collect_of(const planner::branch& b, const std::shared_ptr<const device_rows>& source, vertex_run& run) {
  if (bare(b)) {
    run.on().synchronize(run.context().cancel);  // they may have been brought over just now
    return std::const_pointer_cast<device_rows>(source);
  }
  const auto in = source->size() ? with_nearest(b, nullptr, source, run) : source;
  generated g;
  generate(g, b, in->layout(), run.captured_sizes());
  const ir::type* row = g.rows.out;
  const std::uint64_t n = in->size();
  const std::size_t row_bytes = device_layout(row).size;
  device_buffer out = run.allocate(std::max<std::uint64_t>(n, 1) * row_bytes);
  std::uint64_t kept = n;
  if (n) {
    const auto kernel = run.compile(g.source, "collect_rows");
    const std::array<const device_rows*, 1> inputs = {in.get()};
    if (g.source.makes_texts()) {
      run.reset_status();
      run.guess_room(n);
    }
    const auto launch_once = [&] {
      const std::size_t shared = run.shared_for_captured(g.source);
      if (g.rows.filters) {
        const item_policy policy = policy_of_size[(g.by_number ? 8 : row_bytes) - 1];
        const std::uint64_t tiles = gpu::divide_up(n, policy.tile),
                            resident = resident_blocks(*kernel, static_cast<unsigned>(policy.threads), shared);
        const std::size_t temp_bytes = 128 + gpu::tile_counts::bytes(tiles);
        const device_address temp = run.zeroed_for_launch(temp_bytes, temp_bytes);
        run.launch(g.source, *kernel,
                   {static_cast<unsigned>(std::clamp<std::uint64_t>(tiles, 1, resident)), static_cast<unsigned>(policy.threads), 0}, inputs,
                   std::array<std::uint64_t, 3>{out.address(), temp, run.status_word(1)});
      } else {
        const auto blocks = static_cast<unsigned>(
            gpu::smaller<std::uint64_t>(gpu::divide_up(n, 256), std::uint64_t{resident_blocks(*kernel, 256, shared)} * 16));
        run.launch(g.source, *kernel, {blocks, 256, 0}, inputs, std::array<std::uint64_t, 1>{out.address()});
      }
    };
    do {
      run.context().cancel.check();
      launch_once();
    } while (!run.finish_texts(g.source));
    if (g.rows.filters) kept = run.read(1);
  }
  return run.result(row, std::move(out), kept);
}

}  // namespace query::gpu_engine
