// group_join: the right rows lie side by side by their key, each left row sees its matches as a list that views them.
//
// A thread goes through all matches of a left row: what a function computes of them is computed in their order.
#include <algorithm>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/grouped_build.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/row_numbers.hpp"
#include "gpu_primitives/radix_sort.cuh"
#include "ir/analysis.hpp"
#include "ir/visit.hpp"

namespace query::gpu_engine {

namespace {


enum argument : std::uint32_t { out, total, groups, offsets, matches, argument_count };

const ir::type* list_of(const detail::logical& n) { return static_cast<const ir::type*>(n.source.get()); }
join_sides sides_of(const detail::logical& n) { return {&n, false}; }

// Does the function look at the matches, or only count them?
bool reads_matches(const detail::logical& n) {
  kernel_source k;  // traces need one
  const ir::traced t = k.trace(n, n.functions[2]);
  const auto is_list = [](const ir::node* x) { return x->what == ir::op::row && x->id == 1; };
  bool reads = is_list(t.root);
  ir::each_node(t.root, [&](const ir::node* x) {
    reads = reads || (x->what != ir::op::size && std::any_of(x->kids.begin(), x->kids.end(), is_list));
  });
  return reads;
}

join_program program_of(const detail::logical& n) { return reads_matches(n) ? join_program::grouped_rows : join_program::grouped; }

// The fields of the right side's rows that are brought over.
std::vector<bool> build_fields(const detail::logical& n) {
  const ir::type* row = n.functions[1].row;
  if (reads_matches(n)) return all_fields(row);
  std::vector<bool> fields(all_fields(row).size());
  kernel_source k;
  ir::fields_used(k.trace(n, n.functions[1]).root, 0, row, fields);
  return fields;
}

// join_lists: the result of each left row.
kernel_source generate_lists(const detail::logical& n, const input_layout& left) {
  check_host_form(n.row);
  kernel_source k;
  k.may_run_again();
  k.include("gpu_primitives/grouper.cuh");
  const ir::type* list = list_of(n);
  const std::string result = k.type_name(n.row), type = k.type_name(list), element = k.type_name(list->element);
  const ir::traced t = k.trace(n, n.functions[2]);
  expressions e(k, k.site(n.label, n.where));
  e.bind(0, input_rows(k, left, 0, "i"));
  e.bind(1, row_source::of_value("matches", list));
  const std::string v = e.converted(e.value(t.root), t.root->type, n.row);
  k.add("__device__ __forceinline__ " + result + " row_of(const words& p, u64 i, const " + type + "& matches) {\n" + e.take() +
        "  return " + v + ";\n}\n");
  k.include("gpu_primitives/row_writes.cuh");
  k.add("extern \"C\" __global__ void __launch_bounds__(256) join_lists(const __grid_constant__ words p) {\n  const u32* const groups = " +
        k.argument(groups, "const u32*") +
        ";\n  const u64* const offsets = " + k.argument(offsets, "const u64*") + ";\n  const " + element +
        "* const rows = " + k.argument(matches, "const " + element + "*") +
        ";\n  write_rows<256>(" + k.argument(total, "u64") + ", " + k.argument(out, result + "*") + ", [&](u64 i) -> " + result +
        " {\n    const u32 group = groups[i];\n    return row_of(p, i, group == no_id ? " + type + "{nullptr, 0} : " + type +
        "{rows + offsets[group], offsets[group + 1] - offsets[group]});\n  });\n}\n");
  return k;
}

class joining_lists {
 public:
  joining_lists(const planner::vertex& v, const device_rows& left, build_side right, vertex_run& run)
      : v_(v), n_(*v.node), run_(run), side_(std::move(right)), inputs_{&left, side_.rows.get()} {}

  result_rows go() {
    run_.reset_status();
    const join_kernels kernels = generate_join_kernels(sides_of(n_), inputs_[0]->layout(), inputs_[1]->layout(), program_of(n_),
                                                       wide_row_numbers(inputs_[1]->size()));
    const grouped_build grouped(kernels, run_, inputs_, args_, n_, side_, false);
    const auto heap = std::make_shared<const device_buffer>(rows_by_group(kernels));
    const std::uint64_t n = std::min(inputs_[0]->size(), v_.limit);
    device_buffer rows = run_.allocate(std::max<std::uint64_t>(n, 1) * device_layout(n_.row).size);
    if (n) join(rows.address(), n, heap->address());
    const result_rows result = run_.result(n_.row, std::move(rows), n);
    if (n && !same_on_device(n_.row)) result->keep_heap(heap);
    run_.reset_status();
    return result;
  }

 private:
  device_buffer rows_by_group(const join_kernels& kernels) {
    const std::uint64_t n = inputs_[1]->size();
    if (!n || !reads_matches(n_)) return run_.allocate(1);
    device_buffer rows = run_.allocate(n * device_layout(list_of(n_)->element).size);
    args_[join_out] = rows.address();
    const auto f = run_.compile(kernels.source, "gather_build");
    run_.launch(kernels.source, *f, {blocks(*f, n), 256, 0}, inputs_, args_);
    run_.finish(kernels.source);
    return rows;
  }
  void join(device_address to, std::uint64_t n, device_address heap) {
    const kernel_source k = generate_lists(n_, inputs_[0]->layout());
    const auto f = run_.compile(k, "join_lists");
    run_.reset_status();
    if (k.makes_texts()) run_.guess_room(n);
    const std::array<std::uint64_t, argument_count> args = {to, n, args_[join_group_of_probe], args_[join_offsets], heap};
    do {
      run_.context().cancel.check();
      run_.launch(k, *f, {blocks(*f, n), 256, 0}, inputs_, args);
    } while (!run_.finish_texts(k));
  }
  unsigned blocks(const kernel& f, std::uint64_t items) const {
    return static_cast<unsigned>(std::min<std::uint64_t>(gpu::divide_up(items, 256), std::uint64_t{resident_blocks(f, 256)} * 16));
  }

  const planner::vertex& v_;
  const detail::logical& n_;
  vertex_run& run_;
  build_side side_;
  std::array<const device_rows*, 2> inputs_;
  join_arguments args_{};
};

}  // namespace

void plan_group_join(const planner::vertex& v) {
  const detail::logical& n = *v.node;
  for (const planner::branch& b : v.inputs) plan_input(b);
  const ir::type *left = v.inputs[0].row, *right = v.inputs[1].row;
  const input_layout in = {left, choose_columns(left, fields_joined(sides_of(n), false), false)};
  (void)generate_join_kernels(sides_of(n), in, {right, choose_columns(right, build_fields(n), false)}, program_of(n), false);
  (void)generate_lists(n, in);
}

result_rows run_group_join(const planner::vertex& v, vertex_run& run) {
  const detail::logical& n = *v.node;
  build_side right = {run_input(v.inputs[1], build_fields(n), run), stays(v.inputs[1])};
  const auto left = run_input(v.inputs[0], fields_joined(sides_of(n), false), run);
  return joining_lists(v, *left, std::move(right), run).go();
}

std::vector<bool> group_join_fields(const detail::logical& n, bool right) {
  return right ? build_fields(n) : fields_joined(sides_of(n), false);
}

result_rows run_group_join_of(const planner::vertex& v, const device_rows& left, std::shared_ptr<const device_rows> right,
                              bool stays, vertex_run& run) {
  return joining_lists(v, left, {std::move(right), stays}, run).go();
}

}  // namespace query::gpu_engine
