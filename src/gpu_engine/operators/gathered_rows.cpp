// concat, reverse, sample, zip, chunk and window: row k of the result is made of rows whose numbers follow from k.
#include <algorithm>
#include <vector>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/input_part.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_primitives/types.cuh"
#include "runtime/drawn_rows.hpp"

namespace query::gpu_engine {

using detail::verb;

namespace {

enum argument : std::uint32_t { out, total, numbers, length, step, argument_count };
using arguments = std::array<std::uint64_t, argument_count>;

// gather_rows: out[k] for all k < total.
void generate_kernel(kernel_source& k, const ir::type* row, const std::string& before, const std::string& value) {
  const std::string type = k.type_name(row);
  k.include("gpu_primitives/row_writes.cuh");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {\n  write_rows<256>(" +
        k.argument(total, "u64") + ", " + k.argument(out, type + "*") + ", [&](u64 k) -> " + type + " {\n" + before +
        "    return " + value + ";\n  });\n}\n");
}

// Row `number`, an expression of k, of one input.
kernel_source generate_gather(const ir::type* row, const input_layout& in, const std::string& number) {
  kernel_source k;
  const std::string before = "    const u64 i = " + number + ";\n";
  generate_kernel(k, row, before, expressions::part_of(input_rows(k, in, 0, "i"), 0, row, k));
  return k;
}
std::string as_they_come() { return "k"; }
kernel_source generate_reverse(const ir::type* row, const input_layout& in) {
  kernel_source k;
  const std::string n = k.parameter({word::role::rows, 0, 0, 0}, "u64");
  generate_kernel(k, row, "    const u64 i = " + n + " - 1 - k;\n", expressions::part_of(input_rows(k, in, 0, "i"), 0, row, k));
  return k;
}
kernel_source generate_sample(const ir::type* row, const input_layout& in) {
  kernel_source k;
  const std::string drawn = k.argument(numbers, "const u64*");
  generate_kernel(k, row, "    const u64 i = " + drawn + "[k];\n", expressions::part_of(input_rows(k, in, 0, "i"), 0, row, k));
  return k;
}
kernel_source generate_zip(const detail::logical& n, const input_layout& left, const input_layout& right) {
  kernel_source k;
  generate_pair(k, n, n.functions.front(), input_rows(k, left, 0, "a"), false, input_rows(k, right, 1, "b"), false);
  generate_kernel(k, n.row, "", "pair_of(p, k, k)");
  return k;
}
// The lists of chunk and window.
const ir::type* lists_of(const detail::logical& n) { return n.all ? n.row : n.functions.front().row; }

// Lists that view the rows of input 0, which lie side by side, or what a function gives of them; a chunk's last one may be shorter.
kernel_source generate_runs(const detail::logical& n) {
  kernel_source k;
  ir::traced t;
  if (!n.all) t = k.trace(n, n.functions.front());  // throws for those that are not traced
  const ir::type* lists = lists_of(n);
  const std::string type = k.type_name(lists), element = k.type_name(lists->element);
  if (!n.all) {
    expressions e(k, k.site(n.label, n.where));
    e.bind(0, row_source::of_value("run", lists));
    const std::string v = e.converted(e.value(t.root), t.root->type, n.row);
    k.add("__device__ __forceinline__ " + k.type_name(n.row) + " result_of(const words& p, const " + type + "& run) {\n" + e.take() +
          "  return " + v + ";\n}\n");
  }
  const std::string rows = k.parameter({word::role::column, 0, 0, 0}, "const " + element + "*"),
                    count = k.parameter({word::role::rows, 0, 0, 0}, "u64"), most = k.argument(length, "u64"), by = k.argument(step, "u64");
  const std::string list = type + "{" + rows + " + first, left < " + most + " ? left : " + most + "}";
  generate_kernel(k, n.row, "    const u64 first = k * " + by + ", left = " + count + " - first;\n",
                  n.all ? list : "result_of(p, " + list + ")");
  return k;
}

void launch(const kernel_source& k, vertex_run& run, std::span<const device_rows* const> inputs, const arguments& args) {
  if (!args[total]) return;
  const auto f = run.compile(k, "gather_rows");
  const auto blocks = std::min<std::uint64_t>(gpu::divide_up(args[total], 256), std::uint64_t{resident_blocks(*f, 256)} * 8);
  run.launch(k, *f, {static_cast<unsigned>(blocks), 256, 0}, inputs, args);
  run.finish(k);
}
device_buffer room_for(std::uint64_t n, const ir::type* row, vertex_run& run) {
  return run.allocate(std::max<std::uint64_t>(n, 1) * device_layout(row).size);
}

// The rows of `part` at `to`, side by side.
void put(const device_rows& part, const ir::type* row, device_address to, vertex_run& run) {
  if (part.whole()) {
    run.copy(to, part.column(0), part.size() * device_layout(row).size);
    return;
  }
  const std::array<const device_rows*, 1> inputs = {&part};
  launch(generate_gather(row, part.layout(), as_they_come()), run, inputs, {to, part.size()});
}

result_rows concat(const planner::vertex& v, vertex_run& run) {
  const ir::type* row = v.node->row;
  std::vector<shared_rows> parts;
  std::uint64_t n = 0;
  for (const planner::branch& b : v.inputs) {
    if (n >= v.limit) break;
    parts.push_back(input_part(b, run).first(v.limit - n));
    n += parts.back()->size();
  }
  device_buffer rows = room_for(n, row, run);
  std::uint64_t done = 0;
  for (const shared_rows& part : parts) {
    put(*part, row, rows.address() + done * device_layout(row).size, run);
    done += part->size();
  }
  return run.result(row, std::move(rows), n);
}

result_rows reversed(const planner::vertex& v, vertex_run& run) {
  const ir::type* row = v.node->row;
  input_part in(v.inputs.front(), run);
  const auto size = in.size();
  const shared_rows rows = size && *size > v.limit ? in.range(*size - v.limit, v.limit) : in.all();
  const std::uint64_t n = std::min(rows->size(), v.limit);
  device_buffer to = room_for(n, row, run);
  const std::array<const device_rows*, 1> inputs = {rows.get()};
  launch(generate_reverse(row, rows->layout()), run, inputs, {to.address(), n});
  return run.result(row, std::move(to), n);
}

result_rows sampled(const planner::vertex& v, vertex_run& run) {
  const ir::type* row = v.node->row;
  const shared_rows rows = input_part(v.inputs.front(), run).all();
  if (v.node->count >= rows->size()) return std::const_pointer_cast<device_rows>(rows);
  // Each draw depends on those before: the numbers are the host's.
  std::vector<std::uint64_t> drawn;
  drawn.reserve(static_cast<std::size_t>(v.node->count));
  runtime::draw_rows(rows->size(), v.node->count, v.node->seed, [&](std::uint64_t i) { drawn.push_back(i); },
                     [&] { run.context().cancel.check(); });
  device_buffer to = room_for(drawn.size(), row, run);
  const device_buffer ids = run.allocate(std::max<std::size_t>(drawn.size(), 1) * 8);
  if (!drawn.empty())
    run.gpu().copies().upload_plain(ids.address(), drawn.data(), drawn.size() * 8, run.on(), run.context().scheduler,
                                    run.context().cancel);
  const std::array<const device_rows*, 1> inputs = {rows.get()};
  launch(generate_sample(row, rows->layout()), run, inputs, {to.address(), drawn.size(), ids.address()});
  return run.result(row, std::move(to), drawn.size());
}

result_rows zipped(const planner::vertex& v, vertex_run& run) {
  input_part a(v.inputs[0], run), b(v.inputs[1], run);
  // No more of either side than the other has, as far as that is known.
  const std::uint64_t most = std::min({v.limit, a.size().value_or(~0ull), b.size().value_or(~0ull)});
  const shared_rows left = a.first(most), right = b.first(std::min(most, left->size()));
  const std::uint64_t n = std::min({left->size(), right->size(), v.limit});
  device_buffer rows = room_for(n, v.node->row, run);
  const std::array<const device_rows*, 2> inputs = {left.get(), right.get()};
  launch(generate_zip(*v.node, left->layout(), right->layout()), run, inputs, {rows.address(), n});
  return run.result(v.node->row, std::move(rows), n);
}

result_rows runs(const planner::vertex& v, vertex_run& run) {
  const detail::logical& n = *v.node;
  const ir::type* element = lists_of(n)->element;
  const bool chunks = n.what == verb::chunk;
  // The rows side by side, in a heap of the result's.
  const shared_rows in = input_part(v.inputs.front(), run).all();
  device_buffer side_by_side = room_for(in->size(), element, run);
  put(*in, element, side_by_side.address(), run);
  const auto heap = std::make_shared<const device_buffer>(std::move(side_by_side));
  device_rows rows(run.shared_gpu(), element, in->size());
  rows.add({0, element}, heap->address());
  const std::uint64_t all = chunks                 ? in->size() / n.count + (in->size() % n.count ? 1 : 0)
                            : in->size() < n.count ? 0
                                                   : (in->size() - n.count) / n.step + 1,
                      count = std::min(all, v.limit);
  device_buffer lists = room_for(count, n.row, run);
  const std::array<const device_rows*, 1> inputs = {&rows};
  launch(generate_runs(n), run, inputs, {lists.address(), count, 0, n.count, chunks ? n.count : n.step});
  auto result = run.result(n.row, std::move(lists), count);
  if (count && !same_on_device(n.row)) result->keep_heap(heap);
  return result;
}

}  // namespace

void plan_gathered(const planner::vertex& v) {
  const detail::logical& n = *v.node;
  if (n.what != verb::reverse && n.what != verb::sample) check_not_handed_on(v);
  for (const planner::branch& b : v.inputs) plan_input(b);
  const input_layout first = planned_input(v.inputs.front());
  check_host_form(n.row);
  switch (n.what) {
    case verb::zip:
      (void)generate_zip(n, first, planned_input(v.inputs.back()));
      break;
    case verb::chunk:
    case verb::window:
      (void)generate_runs(n);
      break;
    default:
      (void)generate_gather(n.row, first, as_they_come());
  }
}

result_rows run_gathered(const planner::vertex& v, vertex_run& run) {
  run.reset_status();
  result_rows rows;
  switch (v.node->what) {
    case verb::concat:
      rows = concat(v, run);
      break;
    case verb::reverse:
      rows = reversed(v, run);
      break;
    case verb::sample:
      rows = sampled(v, run);
      break;
    case verb::zip:
      rows = zipped(v, run);
      break;
    default:
      rows = runs(v, run);
  }
  run.on().synchronize(run.context().cancel);  // copies
  return rows;
}

}  // namespace query::gpu_engine
