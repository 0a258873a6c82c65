// hash_partitioned_by, range_partitioned_by, partitioned: rows side by side by partition, each in the order of the source, and where
// each partition ends. A row gets the number of its partition, row numbers are sorted by those, stable, and rows gathered once. By hash
// the number follows from the key, with the CPU's hash; by range from where the row comes in the order of the keys. Runs are the rows
// as they lie.
#include <algorithm>
#include <optional>

#include <query/detail/failure.hpp>
#include <query/errors.hpp>

#include "gpu_engine/codegen/group_keys.hpp"
#include "gpu_engine/codegen/partition_hash.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/join_kernels.hpp"
#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_engine/operators/row_gather.hpp"
#include "gpu_engine/operators/word_sort.hpp"
#include "gpu_engine/row_numbers.hpp"
#include "gpu_primitives/radix_layout.cuh"
#include "planner/partitions.hpp"
#include "runtime/partition_bounds.hpp"

namespace query::gpu_engine {

using way = planner::partition_way;

namespace {

enum argument : std::uint32_t { numbers, parts, row_order, starts, out, argument_count };

way way_of(const planner::vertex& v) { return static_cast<way>(v.node->step); }

class writer {
 public:
  // `exchanged`: rows that devices exchange, which are written as order_by writes them.
  writer(kernel_source& k, const planner::vertex& v, const input_layout& in, bool wide_numbers, bool exchanged)
      : k_(k), n_(*v.node), in_(in), number_(wide_numbers ? "u64" : "u32"), exchanged_(exchanged) {}

  // Nothing: the numbers are there.
  void write(std::optional<way> w) {
    if (w) key();
    if (w == way::hash) number_hashes();
    if (w == way::range) by_range();
    else starts_of_numbers();
    const std::string type = k_.type_name(n_.row);
    if (exchanged_) {
      add_gather(k_, "gather_parts", in_, n_.row, {rows(), arg(out, type + "*"), order() + "[j]"});
      return;
    }
    k_.include("gpu_primitives/row_writes.cuh");
    kernel("gather_parts", "  write_rows<256>(" + rows() + ", " + arg(out, type + "*") + ", [&](u64 j) -> " + type +
                               " {\n    const u64 i = " + order() + "[j];\n    return " +
                               expressions::part_of(input_rows(k_, in_, 0, "i"), 0, n_.row, k_) + ";\n  });\n");
  }

 private:
  std::string arg(argument a, std::string_view type = "u64") { return k_.argument(a, type); }
  std::string rows() { return k_.parameter({word::role::rows, 0, 0, 0}, "u64"); }
  std::string order() { return arg(row_order, "const " + number_ + "*"); }
  void kernel(const std::string& name, const std::string& body) {
    k_.add("extern \"C\" __global__ void __launch_bounds__(256) " + name + "(const __grid_constant__ words p) {\n" + body + "}\n");
  }
  void each(const std::string& name, const std::string& i, const std::string& n, const std::string& body) {
    kernel(name, "  for (u64 " + i + " = blockIdx.x * 256ull + threadIdx.x; " + i + " < " + n + "; " + i + " += gridDim.x * 256ull) {\n" +
                     body + "  }\n");
  }

  // partition_key(p, i)
  void key() {
    const ir::traced t = k_.trace(n_, n_.functions.front());
    expressions e(k_, k_.site(n_.label, n_.where));
    e.bind(0, input_rows(k_, in_, 0, "i"));
    const std::string v = e.converted(e.value(t.root), t.root->type, n_.key);
    k_.add("__device__ __forceinline__ " + k_.type_name(n_.key) + " partition_key(const words& p, u64 i) {\n" + e.take() + "  return " + v +
           ";\n}\n");
  }

  void number_hashes() {
    const std::string hash = generate_partition_hash(k_, n_.key);
    each("number_parts", "i", rows(),
         "    " + arg(numbers, "u32*") + "[i] = partition_of(" + hash + "(partition_key(p, i)), " + arg(parts) + ");\n");
  }
  // The rows are in the order of their partitions: where does one begin?
  void starts_of_numbers() {
    each("starts_of_hashes", "part", arg(parts),
         "    const u32* const number = " + arg(numbers, "const u32*") + ";\n    u64 from = 0, to = " + rows() +
             ";\n    while (from < to) {\n      const u64 j = from + (to - from) / 2;\n      if (number[" + order() +
             "[j]] < part) from = j + 1;\n      else to = j;\n    }\n    " + arg(starts, "u64*") + "[part] = from;\n");
  }

  void by_range() {
    k_.include("gpu_primitives/hash_keys.cuh");
    const std::string same = generate_key_equality(k_, n_.key);
    // Runs of about equal length of the rows in order; one that would begin amid equal keys begins behind them.
    each("starts_of_ranges", "part", arg(parts),
         "    const u64 n = " + rows() + ", parts = " + arg(parts) +
             ", rest = n % parts, begin = n / parts * part + (part < rest ? part : rest);\n    u64 from = begin;\n"
             "    if (begin > 0 && begin < n) {\n      const auto last = partition_key(p, " +
             order() + "[begin - 1]);\n      for (u64 to = n; from < to;) {\n        const u64 j = from + (to - from) / 2;\n        if (" +
             same + "(partition_key(p, " + order() + "[j]), last)) from = j + 1;\n        else to = j;\n      }\n    }\n    " +
             arg(starts, "u64*") + "[part] = from;\n");
    each("number_ranges", "j", rows(),
         "    const u64* const starts = " + arg(starts, "const u64*") + ";\n    u64 from = 1, to = " + arg(parts) +
             ";\n    while (from < to) {\n      const u64 part = from + (to - from) / 2;\n      if (starts[part] <= j) from = part + 1;\n"
             "      else to = part;\n    }\n    " +
             arg(numbers, "u32*") + "[" + order() + "[j]] = u32(from - 1);\n");
  }

  kernel_source& k_;
  const detail::logical& n_;
  const input_layout& in_;
  std::string number_;
  bool exchanged_;
};

void generate(kernel_source& k, const planner::vertex& v, const input_layout& in, bool wide_numbers, std::optional<way> w,
              bool exchanged = false) {
  writer(k, v, in, wide_numbers, exchanged).write(w);
}

class partitioning {
 public:
  partitioning(const planner::vertex& v, const device_rows& in, std::optional<way> w, std::size_t parts_wanted, vertex_run& run,
               bool exchanged = false)
      : v_(v),
        way_(w),
        run_(run),
        in_(in),
        inputs_{&in},
        n_(in.size()),
        parts_(parts_wanted),
        wide_(wide_row_numbers(n_)),
        sort_(parts_ <= 256     ? 8
              : parts_ <= 65536 ? 16
                                : 32,
              wide_) {
    generate(k_, v, in.layout(), wide_, w, exchanged);
  }

  result_rows go() { return go(run_.allocate(n_ * 4)); }
  // `number_memory`: the rows' partitions, u32, where nothing else says them.
  result_rows go(const device_buffer& number_memory) {
    run_.reset_status();
    if (!known_or_begun(run_, k_)) (void)known_or_begun(run_, sort_.source());
    const device_buffer start_memory = run_.zeroed(parts_ * 8);
    args_[numbers] = number_memory.address();
    args_[parts] = parts_;
    args_[starts] = start_memory.address();
    if (way_ != way::range) {
      if (way_) launch("number_parts", n_);
      sort_by_part();
      launch("starts_of_hashes", parts_);
    } else {
      order_ = ordered_numbers(v_, in_, run_);
      args_[row_order] = order_.address();
      launch("starts_of_ranges", parts_);
      launch("number_ranges", n_);
      sort_by_part();
    }
    run_.context().cancel.check();
    device_buffer rows = run_.allocate(n_ * device_layout(v_.node->row).size);
    args_[out] = rows.address();
    const auto gather = run_.compile(k_, "gather_parts");
    const std::uint64_t blocks = std::min<std::uint64_t>(gpu::divide_up(n_, 256), std::uint64_t{resident_blocks(*gather, 256)} * 8);
    run_.launch(k_, *gather, {static_cast<unsigned>(blocks), 256, 0}, inputs_, args_);
    run_.finish(k_);
    ends_ = ends_from(start_memory);
    result_rows result = run_.result(v_.node->row, std::move(rows), n_);
    run_.reset_status();
    return result;
  }
  std::vector<std::size_t> ends() && { return std::move(ends_); }

 private:
  void launch(const char* entry, std::uint64_t work) {
    run_.launch(k_, *run_.compile(k_, entry), {run_.blocks(work), 256, 0}, inputs_, args_);
  }

  // The rows' numbers by their partitions, those of one in the order in which the rows lie.
  void sort_by_part() {
    run_.context().cancel.check();
    const std::uint64_t number_bytes = wide_ ? 8 : 4;
    const bool several = gpu::radix_passes(sort_.bits()) > 1;
    device_buffer by_part = run_.allocate(n_ * number_bytes);
    const device_buffer keys = several ? run_.allocate(n_ * 4) : device_buffer(),
                        values = several ? run_.allocate(n_ * number_bytes) : device_buffer();
    // The numbers of the partitions are read again behind a sort by hash: no pass may write over them.
    const device_buffer more_keys = gpu::radix_passes(sort_.bits()) > 2 ? run_.allocate(n_ * 4) : device_buffer();
    word_sort::places at;
    at.keys[0] = keys.address();
    at.keys[1] = more_keys.address();
    at.values = values.address();
    at.order_out = by_part.address();
    sort_.run({args_[numbers], 4}, at, n_, run_);
    order_ = std::move(by_part);
    args_[row_order] = order_.address();
  }

  std::vector<std::size_t> ends_from(const device_buffer& start_memory) {
    std::vector<std::uint64_t> begin(parts_ + 1, n_);
    run_.gpu().copies().download_plain(begin.data(), start_memory.address(), parts_ * 8, run_.on(), run_.context().scheduler,
                                       run_.context().cancel);
    if (begin.front() != 0 || !std::is_sorted(begin.begin(), begin.end()))
      throw internal_error("gpu: " + v_.node->label + ": partitions begin in no order");
    return {begin.begin() + 1, begin.end()};
  }

  const planner::vertex& v_;
  std::optional<way> way_;
  vertex_run& run_;
  const device_rows& in_;
  std::array<const device_rows*, 1> inputs_;
  std::uint64_t n_;
  std::size_t parts_;
  bool wide_;
  word_sort sort_;
  kernel_source k_;
  std::array<std::uint64_t, argument_count> args_{};
  device_buffer order_;
  std::vector<std::size_t> ends_;
};

// The same rows, as rows of their own.
result_rows view_of(const std::shared_ptr<const device_rows>& rows, vertex_run& run) {
  auto view = std::make_shared<device_rows>(run.shared_gpu(), rows->layout().row, rows->size());
  for (std::size_t c = 0; c < rows->layout().columns.size(); ++c) view->add(rows->layout().columns[c], rows->column(c));
  view->keep(rows);
  for (const auto& heap : rows->heaps()) view->keep_heap(heap);
  run.on().synchronize(run.context().cancel);  // they may have been brought over just now
  return view;
}

}  // namespace

void plan_partition(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(b.row);
  plan_input(b);
  (void)device_layout(b.row);
  if (way_of(v) == way::runs) return;
  if (v.node->keys.equal) throw not_generated("keys have an equality of the user's own");
  if (way_of(v) == way::range) plan_ordered_numbers(v);
  kernel_source k;
  generate(k, v, planned_input(b), false, way_of(v));
}

result_rows run_partition(const planner::vertex& v, vertex_run& run) {
  const detail::logical& n = *v.node;
  if (round_recording* r = round_recording::here()) r->spoil("the host reads where partitions end");
  const planner::branch& b = v.inputs.front();
  const auto rows = run_input(b, all_fields(b.row), run);
  if (n.count > planner::most_partitions) detail::fail(n.label, "more than 1048576 partitions: " + std::to_string(n.count), n.where);
  const std::size_t parts_wanted = n.count ? static_cast<std::size_t>(n.count) : planner::default_partitions;
  const auto size = static_cast<std::size_t>(rows->size());
  result_rows result;
  std::vector<std::size_t> ends;
  if (size == 0 || way_of(v) == way::runs) {
    result = view_of(rows, run);
    for (std::size_t p = 1; p <= parts_wanted; ++p) ends.push_back(runtime::even_end(size, parts_wanted, p));
  } else {
    partitioning making(v, *rows, way_of(v), parts_wanted, run);
    result = making.go();
    ends = std::move(making).ends();
  }
  // Whoever names no number does not ask for empty partitions either.
  result->set_ends(n.count ? std::move(ends) : runtime::ends_without_empty(std::move(ends)));
  return result;
}

namespace {

// A vertex that stands for the rows of a verb, of which `key` says the partitions.
rows_apart put_apart(const detail::logical& verb, const detail::user_function* key, const std::shared_ptr<const device_rows>& in,
                     const device_buffer* numbers, std::size_t parts, vertex_run& run) {
  rows_apart apart;
  if (in->size() == 0) {
    apart.rows = view_of(in, run);
    apart.ends.assign(parts, 0);
    return apart;
  }
  detail::logical n = verb;
  n.row = in->layout().row;
  if (key) n.functions = {*key};
  planner::vertex v;
  v.node = &n;
  partitioning making(v, *in, key ? std::optional(way::hash) : std::nullopt, parts, run, true);
  apart.rows = numbers ? making.go(*numbers) : making.go();
  apart.ends = std::move(making).ends();
  return apart;
}

}  // namespace

rows_apart apart_by_hash(const detail::logical& keyed, const detail::user_function& key, const std::shared_ptr<const device_rows>& in,
                         std::size_t parts, vertex_run& run) {
  return put_apart(keyed, &key, in, nullptr, parts, run);
}
rows_apart apart_by_numbers(const detail::logical& verb, const std::shared_ptr<const device_rows>& in, const device_buffer& numbers,
                            std::size_t parts, vertex_run& run) {
  return put_apart(verb, nullptr, in, &numbers, parts, run);
}

}  // namespace query::gpu_engine
