#include "gpu_engine/operators/nearest.hpp"

#include <algorithm>
#include <array>

#include "gpu_engine/device/nearest_wide.cuh"
#include "gpu_engine/operators/group_kernels.hpp"

namespace query::gpu_engine {

namespace {

// Smaller tables are looked through as fast as they are read; few rows are not worth four kernels.
constexpr std::uint64_t least_work = 512, least_columns = 16, least_rows = 4096;
constexpr std::uint64_t candidates_a_row = 3;
constexpr std::uint64_t least_wide_dims = 65, least_wide_rows = 128;  // where products are most of the work

enum argument : std::uint32_t {
  table_at,
  answers_at,
  pairs_at,
  pair_room,
  rows_at,
  counters_at,
  too_many_at,
  argument_count
};
enum status : std::size_t { too_many_word = 1 };

std::string number(std::uint64_t n) { return std::to_string(n); }

class writer {
 public:
  writer(search_kernels& g, const input_layout& in, const found_nearest& f) : g_(g), k_(g.source), in_(in), found_(f) {
    g_.search = f.search;
  }

  void write() {
    const nearest_search& s = g_.search;
    const bool wide = g_.wide;
    k_.include(wide ? "gpu_engine/device/nearest_wide.cuh" : "gpu_engine/device/nearest.cuh");
    if (wide) k_.use_architecture_specific();
    k_.keep_ieee();  // its bounds of error
    const std::string dims = number(s.dims), size = "(u32)" + k_.collection_size(s.slot, s.element);
    kernel("prepare_table", "nearest_prepare_threads",
           "  prepare_nearest<" + dims + (wide ? ", true" : "") + ">(" + arg(table_at, "uint4*") + ", " + size +
               ", [&](u64 j) { return " + place_of(k_, s, "j") + "; });\n");
    const std::string lists = "nearest_lists{" + arg(pairs_at, "nearest_pair*") + ", " + arg(counters_at, "u64*") +
                              ", " + arg(pair_room) + ", " + arg(rows_at, "nearest_listed*") + ", " +
                              arg(counters_at, "u64*") + " + 1}";
    const auto search = [&](const char* name, const char* again) {
      kernel(name,
             wide           ? "nearest_wide_threads, 1"
             : s.dims <= 48 ? "nearest_threads, 2"
                            : "nearest_threads, 1",
             std::string("  extern __shared__ __align__(128) uint4 shared[];\n  nearest_") +
                 (wide ? "wide_rows_of<" : "rows<") + dims + ", " + number(s.align) + ", " + again + ">(" + rows() +
                 ", " + arg(table_at, "const uint4*") + ", " + number(s.additions) + ", [&](u64 i) { return " +
                 point_of(k_, s, in_, "i") + "; }, " + arg(answers_at, "u64*") + ", " + lists + ", shared);\n");
    };
    search("find_nearest_rows", "false");
    search("find_candidates", "true");
    distance();
    kernel("compare_candidates", "256",
           "  compare_exactly(" + lists + ", " + arg(answers_at, "u64*") + ", " + arg(too_many_at, "u64*") +
               ", [&](u64 i, u64 j) { return written_distance(p, i, j); });\n");
  }

 private:
  std::string arg(argument a, std::string_view type = "u64") { return k_.argument(a, type); }
  std::string rows() { return k_.parameter({word::role::rows, 0, 0, 0}, "u64"); }
  void kernel(const std::string& name, const std::string& bounds, const std::string& body) {
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name +
           "(const __grid_constant__ words p) {\n" + body + "}\n");
  }

  // The expression as it was written, of row i and element j.
  void distance() {
    const ir::node* n = found_.arg_min;
    const nearest_search& s = g_.search;
    expressions e(k_, k_.site(found_.of->label, found_.of->where));
    e.bind(0, input_rows(k_, in_, 0, "i"));
    e.bind(n->id, row_source::of_value(k_.collection(s.slot, s.element) + "[j]", s.element));
    const std::string v = e.value(n->kids[1]);
    k_.add("__device__ __forceinline__ float written_distance(const words& p, u64 i, u64 j) {\n" + e.take() +
           "  return " + v + ";\n}\n");
  }

  search_kernels& g_;
  kernel_source& k_;
  const input_layout& in_;
  const found_nearest& found_;
};

// Which rows there are, and how they lie, as before; and the answers.
std::shared_ptr<const device_rows> beside(std::shared_ptr<const device_rows> in, const nearest_search& s,
                                          device_buffer answers, vertex_run& run) {
  auto both = std::make_shared<device_rows>(run.shared_gpu(), in->layout().row, in->size());
  for (std::size_t c = 0; c < in->layout().columns.size(); ++c) both->add(in->layout().columns[c], in->column(c));
  both->add_answers(std::make_shared<const nearest_search>(s), std::move(answers));
  for (const auto& heap : in->heaps()) both->keep_heap(heap);
  both->keep(std::move(in));
  return both;
}

class searching {
 public:
  searching(const search_kernels& g, const device_rows& in, std::uint64_t table_rows, vertex_run& run)
      : g_(g), in_(in), table_rows_(table_rows), run_(run) {}

  // False if there were more near ties than there was room for.
  bool go(device_buffer& answers) {
    const std::uint64_t n = in_.size(), room = n * candidates_a_row;
    const std::uint32_t dims = g_.search.dims;
    const device_buffer table = run_.allocate(gpu::nearest_table_bytes(table_rows_, dims, g_.wide)),
                        pairs = run_.allocate(room * 8), rows = run_.allocate(n * 8), counters = run_.zeroed(16);
    answers = run_.allocate(n * 8);
    args_[table_at] = table.address();
    args_[answers_at] = answers.address();
    args_[pairs_at] = pairs.address();
    args_[pair_room] = room;
    args_[rows_at] = rows.address();
    args_[counters_at] = counters.address();
    args_[too_many_at] = run_.status_word(too_many_word);
    launch("prepare_table", 1, gpu::nearest_prepare_threads);
    const std::size_t shared =
        g_.wide ? gpu::nearest_wide_shared_bytes(dims) : gpu::nearest_shared_bytes(table_rows_, dims);
    const unsigned threads = g_.wide ? gpu::nearest_wide_threads : gpu::nearest_threads;
    const std::uint64_t blocks = gpu::divide_up(n, g_.wide ? gpu::nearest_wide_rows : gpu::nearest_block_rows);
    for (const char* entry : {"find_nearest_rows", "find_candidates"})
      launch(entry, grid(entry, threads, shared, blocks), threads, shared);
    launch("compare_candidates", grid("compare_candidates", 256, 0, gpu::divide_up(n, 256)), 256);
    run_.finish(g_.source);
    const bool fits = run_.read(too_many_word) == 0;
    run_.reset_status();
    return fits;
  }

 private:
  unsigned grid(const char* entry, unsigned block, std::size_t shared, std::uint64_t most) {
    return static_cast<unsigned>(
        std::min<std::uint64_t>(most, resident_blocks(*run_.compile(g_.source, entry), block, shared)));
  }
  void launch(const char* entry, unsigned blocks, unsigned threads, std::size_t shared = 0) {
    const std::array<const device_rows*, 1> inputs = {&in_};
    run_.launch(g_.source, *run_.compile(g_.source, entry), {std::max(blocks, 1u), threads, shared}, inputs, args_);
  }

  const search_kernels& g_;
  const device_rows& in_;
  std::uint64_t table_rows_;
  vertex_run& run_;
  std::array<std::uint64_t, argument_count> args_{};
};

bool worth_it(const nearest_search& s, std::uint64_t rows, std::uint64_t table_rows) {
  return rows >= least_rows && rows <= ~std::uint32_t{0} && table_rows >= least_columns && table_rows <= (1u << 24) &&
         table_rows * s.dims >= least_work;
}

}  // namespace

std::shared_ptr<const device_rows> with_nearest(const planner::branch& b, const detail::logical* keyed,
                                                std::shared_ptr<const device_rows> in, vertex_run& run) {
  search_kernels g;
  const auto found = find_nearest(g.source, b, in->layout(), keyed);
  if (!found) return in;
  (void)g.source.collection(found->search.slot, found->search.element);
  const std::uint64_t table_rows = run.captured_rows(g.source.used(found->search.slot));
  if (!worth_it(found->search, in->size(), table_rows)) return in;
  try {
    g.wide = run.gpu().on().compute_capability() == 90 && found->search.dims >= least_wide_dims &&
             table_rows >= least_wide_rows;
    writer(g, in->layout(), *found).write();
    device_buffer answers;
    if (!searching(g, *in, table_rows, run).go(answers)) return in;
    return beside(std::move(in), g.search, std::move(answers), run);
  } catch (const out_of_memory&) {
    run.context().cancel.check();
    return in;
  }
}

std::optional<search_kernels> generate_search(const planner::branch& b, const detail::logical* keyed,
                                              const input_layout& in, bool wide) {
  search_kernels g;
  g.wide = wide;
  const auto found = find_nearest(g.source, b, in, keyed);
  if (!found) return std::nullopt;
  writer(g, in, *found).write();
  return g;
}

std::string nearest_note(const planner::branch& b, const detail::logical* keyed) {
  const ir::type* row = source_row(b);
  try {
    if (!generate_search(b, keyed, {row, field_columns(row)}, false)) return {};
  } catch (const not_generated&) {
    return {};  // a field that nobody reads may have no form on the device
  }
  return "nearest rows by squared distance: of large tables on tensor cores, near ties as written";
}

namespace {

std::optional<group_pairs> nearest_groups(const planner::vertex& v, const std::shared_ptr<const device_rows>& in, group_output output,
                                          vertex_run& run) {
  if (!in->layout().nearest || v.ordered) return std::nullopt;
  const nearest_search& s = *in->layout().nearest;
  kernel_source k;
  if (!keyed_by_nearest(k, v.inputs.front(), in->layout(), *v.node)) return std::nullopt;
  group_kernels g = generate_group_kernels(v, in->layout(), group_program::labelled, output);
  if (!g.aggregates.spread) return std::nullopt;
  (void)k.collection(s.slot, s.element);
  const std::size_t bytes = output == group_output::pairs ? g.partial_bytes : device_layout(g.out).size;
  return sum_labelled_groups(g, in, run.captured_rows(k.used(s.slot)), bytes, run);
}

}  // namespace

result_rows run_nearest_groups(const planner::vertex& v, const std::shared_ptr<const device_rows>& in,
                               vertex_run& run) {
  auto groups = nearest_groups(v, in, group_output::rows, run);
  return groups ? run.result(v.node->row, std::move(groups->memory), groups->n) : nullptr;
}

std::optional<group_pairs> run_nearest_pairs(const planner::vertex& v, const std::shared_ptr<const device_rows>& in,
                                             vertex_run& run) {
  return nearest_groups(v, in, group_output::pairs, run);
}

}  // namespace query::gpu_engine
