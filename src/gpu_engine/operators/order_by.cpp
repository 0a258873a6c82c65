// order_by: row numbers sorted by order-preserving keys, the last key first (each pass is stable), then rows gathered once.
// Strings are ranked before: their rank is what the rows are sorted by.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/operators.hpp"
#include "gpu_primitives/radix_sort.cuh"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

// Arguments of the kernels. The ranks of the keys' strings come behind them, a column each.
enum argument : std::uint32_t {
  order_in,
  order_out,
  temp,
  keys_0,
  keys_1,
  values_0,
  pass,
  out,
  out_rows,
  text_round,
  ranks_before,
  ranks_after,
  unresolved,
  first_ranks
};
constexpr std::size_t unresolved_word = 1;  // of the status block

struct generated {
  kernel_source source;
  std::vector<sort_pass> passes;
  std::vector<std::string> texts;  // names of the strings to rank
  std::size_t row_number_bytes = 4;
};

class writer {
 public:
  writer(generated& g, const planner::vertex& v, const input_layout& in, bool wide_numbers)
      : g_(g), k_(g.source), n_(*v.node), number_(wide_numbers ? "u64" : "u32"), wide_(wide_numbers) {
    g.row_number_bytes = wide_numbers ? 8 : 4;
    // The sort takes rows as they lie: row-wise work before it has run.
    row_ = input_rows(k_, in, 0, "i");
  }

  void write() {
    if (std::any_of(n_.order.begin(), n_.order.end(), [](const detail::order_key& o) { return o.custom.less != nullptr; }))
      throw not_generated("the order is the user's own function");
    k_.include("gpu_primitives/radix_sort.cuh");
    k_.include("gpu_primitives/sort_keys.cuh");
    k_.add("using number = " + number_ + ";\n");
    keys();
    k_.add("__device__ __forceinline__ u64 row_at(const words& p, u64 j) {\n  const number* order = " +
           k_.argument(order_in, "const number*") + ";\n  return order ? order[j] : j;\n}\n");
    for (std::size_t s = 0; s < g_.passes.size(); ++s) {
      const sort_pass& p = g_.passes[s];
      if (!p.text.empty()) ranks(p);
      radix(std::to_string(s), p.bits, "const auto v = key_" + std::to_string(p.of) + "(p, row_at(p, j)); return " + p.key + ";");
    }
    gather();
  }

 private:
  std::string rows() { return k_.parameter({word::role::rows, 0, 0, 0}, "u64"); }

  void keys() {
    const auto rank_of_row = [this](std::size_t i) {
      return k_.argument(first_ranks + static_cast<std::uint32_t>(i), "const number*") + "[row_at(p, j)]";
    };
    for (std::size_t i = n_.functions.size(); i-- > 0;) {
      const ir::traced t = k_.trace(n_, n_.functions[i]);
      const ir::type* key = n_.functions[i].result ? n_.functions[i].result : t.root->type;
      const std::string type = k_.type_name(key), name = "key_" + std::to_string(i);
      expressions e(k_, k_.site(n_.label, n_.where));
      e.bind(0, row_);
      const std::string text = e.converted(e.value(t.root), t.root->type, key);
      k_.add("__device__ __forceinline__ " + type + " " + name + "(const words& p, u64 i) {\n" + e.take() + "  return " + text + ";\n}\n");
      take_key_apart(key, i < n_.order.size() ? n_.order[i] : detail::order_key{}, i, wide_ ? 64 : 32, rank_of_row, g_.passes);
    }
  }

  // count_<name> and sweep_<name>: one sort by the word that `key` returns for place j of the order so far.
  void radix(const std::string& name, std::uint32_t key_bits, const std::string& key_body) {
    const std::string key = key_bits <= 32 ? "u32" : "u64", bits = std::to_string(key_bits), policy = "radix_policy<" + key + ", number>",
                      key_of = "[&](u64 j) -> " + key + " { " + key_body + " }";
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::histogram_threads) count_" + name +
           "(const __grid_constant__ words p) {\n  radix_histogram<" + policy + ", " + bits + ">(" + rows() + ", " +
           k_.argument(temp, "void*") + ", " + key_of + ");\n}\n");
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::threads, " + policy + "::blocks) sweep_" + name +
           "(const __grid_constant__ words p) {\n  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<" + key +
           ", number> between{{" + k_.argument(keys_0, key + "*") + ", " + k_.argument(keys_1, key + "*") + "}, {" +
           k_.argument(values_0, "number*") + ", " + k_.argument(order_out, "number*") + "}};\n  radix_sweep<" + policy + ", " + bits +
           ", " + key + ", number, " + number_ + ">((u32)" + k_.argument(pass, "u64") + ", " + rows() + ", " + k_.argument(temp, "void*") +
           ", between, shared,\n    " + key_of + ", [&](u64 j) { return number(row_at(p, j)); },\n    [](u64, " + key +
           ") {}, [&](u64 at, number row) { " + k_.argument(order_out, "number*") + "[at] = row; });\n}\n");
  }

  // The rank of a string among all rows': rows are sorted by one word of it a round, and rows that are equal so far share a
  // rank. Rounds end when no two rows of a rank go on.
  void ranks(const sort_pass& p) {
    const std::string name = "text_" + std::to_string(g_.texts.size());
    if (g_.texts.empty()) {
      k_.include("gpu_engine/device/text_order.cuh");
      k_.include("gpu_primitives/scan.cuh");
      radix("ranks", wide_ ? 64 : 32, "return " + k_.argument(ranks_before, "const number*") + "[row_at(p, j)];");
    }
    g_.texts.push_back(name);
    k_.add("__device__ __forceinline__ u64 word_of_" + name + "(const words& p, u64 row) {\n  const auto v = key_" + std::to_string(p.of) +
           "(p, row);\n  return text_word(" + p.text + ", " + k_.argument(text_round, "u64") + ");\n}\n");
    radix(name, 64, "return word_of_" + name + "(p, row_at(p, j));");
    // Out of line: the scan has many calls of it, and compiling that many copies would take seconds.
    k_.add("__device__ __noinline__ number begins_rank_of_" + name + "(const words& p, u64 j) {\n  const number* const before = " +
           k_.argument(ranks_before, "const number*") +
           ";\n  if (j == 0) return 0;\n  const u64 row = row_at(p, j), last = row_at(p, j - 1);\n"
           "  if (before && before[row] != before[last]) return 1;\n  const u64 word = word_of_" +
           name + "(p, row);\n  if (word != word_of_" + name + "(p, last)) return 1;\n  if (text_goes_on(word)) store_relaxed(" +
           k_.argument(unresolved, "u64*") + ", u64(1));\n  return 0;\n}\n");
    k_.add("extern \"C\" __global__ void __launch_bounds__(scan_policy<number>::threads, scan_policy<number>::blocks) rank_" + name +
           "(const __grid_constant__ words p) {\n  number* const after = " + k_.argument(ranks_after, "number*") +
           ";\n  inclusive_scan<scan_policy<number>, number>(" + rows() + ", " + k_.argument(temp, "void*") +
           ", number(0), [&](u64 j) -> number { return begins_rank_of_" + name +
           "(p, j); },\n    [](number a, number b) { return number(a + b); }, "
           "[&](u64 j, number rank) { after[row_at(p, j)] = rank; }, [](number) {});\n}\n");
  }

  void gather() {
    const std::string type = k_.type_name(n_.row);
    k_.add("extern \"C\" __global__ void __launch_bounds__(256) gather_rows(const __grid_constant__ words p) {\n  " + type +
           "* const out = " + k_.argument(out, type + "*") +
           ";\n"
           "  for (u64 j = blockIdx.x * 256ull + threadIdx.x; j < " +
           k_.argument(out_rows, "u64") + "; j += gridDim.x * 256ull) {\n    const u64 i = row_at(p, j);\n    out[j] = " +
           expressions::part_of(row_, 0, n_.row, k_) + ";\n  }\n}\n");
  }

  generated& g_;
  kernel_source& k_;
  const detail::logical& n_;
  row_source row_;
  std::string number_;
  bool wide_;
};

generated generate(const planner::vertex& v, const input_layout& in, bool wide_numbers) {
  generated g;
  writer(g, v, in, wide_numbers).write();
  return g;
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
  static sweep_shape of(std::uint64_t n, bool wide_numbers, std::uint32_t bits) {
    if (bits <= 32) return wide_numbers ? of<gpu::u32, gpu::u64>(n) : of<gpu::u32, gpu::u32>(n);
    return wide_numbers ? of<gpu::u64, gpu::u64>(n) : of<gpu::u64, gpu::u32>(n);
  }
};

class sorting {
 public:
  sorting(const planner::vertex& v, const device_rows& in, vertex_run& run)
      : run_(run),
        inputs_{&in},
        n_(in.size()),
        wide_(!gpu::radix_fits_32_bit_counts(n_)),
        g_(generate(v, in.layout(), wide_)),
        args_(first_ranks + g_.texts.size(), 0) {}

  void go(device_address rows_out, std::uint64_t kept) {
    for (device_buffer& o : order_) o = column();
    const device_buffer numbers = column(), keys[2] = {run_.allocate(n_ * 8), run_.allocate(n_ * 8)};
    args_[values_0] = numbers.address();
    args_[keys_0] = keys[0].address();
    args_[keys_1] = keys[1].address();
    for (std::size_t t = 0; t < g_.texts.size(); ++t) rank(t);
    start();
    for (std::size_t s = 0; s < g_.passes.size(); ++s) sort(std::to_string(s), g_.passes[s].bits);
    args_[out] = rows_out;
    args_[out_rows] = kept;
    const auto f = compiled("gather_rows");
    run_.launch(g_.source, *f, {blocks(gpu::divide_up(kept, 256), resident(*f, 256) * 8), 256, 0}, inputs_, args_);
    run_.finish(g_.source);
  }

 private:
  device_buffer column() { return run_.allocate(n_ * g_.row_number_bytes); }
  std::shared_ptr<const kernel> compiled(const std::string& entry) { return run_.compile(g_.source, entry.c_str()); }
  static unsigned blocks(std::uint64_t tiles, std::uint64_t most) {
    return static_cast<unsigned>(std::clamp<std::uint64_t>(tiles, 1, most));
  }
  static std::uint64_t resident(const kernel& f, std::uint64_t threads) { return resident_blocks(f, static_cast<unsigned>(threads), 0); }

  // The order of the rows as they lie.
  void start() { args_[order_in] = 0; }

  // From order_in to the other of the two orders.
  void sort(const std::string& name, std::uint32_t bits) {
    run_.context().cancel.check();
    const sweep_shape shape = sweep_shape::of(n_, wide_, bits);
    const device_buffer temporary = run_.zeroed(shape.temp_bytes);
    const device_buffer& to = order_[args_[order_in] == order_[0].address() ? 1 : 0];
    args_[temp] = temporary.address();
    args_[order_out] = to.address();
    const auto count = compiled("count_" + name), sweep = compiled("sweep_" + name);
    run_.launch(g_.source, *count,
                {blocks(gpu::divide_up(n_, shape.histogram_threads * shape.histogram_items), resident(*count, shape.histogram_threads)),
                 static_cast<unsigned>(shape.histogram_threads), 0},
                inputs_, args_);
    for (std::uint32_t p = 0; p < gpu::radix_passes(bits); ++p) {
      args_[pass] = p;
      run_.launch(g_.source, *sweep,
                  {static_cast<unsigned>(gpu::divide_up(n_, shape.rows_of_tile)), static_cast<unsigned>(shape.threads), shape.shared},
                  inputs_, args_);
    }
    args_[order_in] = to.address();
  }

  void rank(std::size_t t) {
    const std::string& name = g_.texts[t];
    device_buffer before, after = column();
    const auto f = compiled("rank_" + name);
    args_[unresolved] = run_.status_word(unresolved_word);
    start();
    for (args_[text_round] = 0;; ++args_[text_round]) {
      args_[ranks_before] = before.address();
      args_[ranks_after] = after.address();
      sort(name, 64);
      if (before) sort("ranks", wide_ ? 64 : 32);
      run_.fill(run_.status_word(unresolved_word), 0, 8);
      if (wide_)
        scan_ranks<std::uint64_t>(*f);
      else
        scan_ranks<std::uint32_t>(*f);
      run_.finish(g_.source);
      if (!run_.read(unresolved_word)) break;
      if (!before) before = column();
      before.swap(after);
    }
    args_[first_ranks + t] = after.address();
    ranks_.push_back(std::move(after));
  }
  template <class Number> void scan_ranks(const kernel& f) {
    using scan = gpu::scan_policy<Number>;
    const device_buffer temporary = run_.zeroed(gpu::scan_temp_bytes<scan, Number>(n_));
    args_[temp] = temporary.address();
    run_.launch(g_.source, f, {static_cast<unsigned>(gpu::scan_blocks<scan>(n_, resident(f, scan::threads))), scan::threads, 0}, inputs_,
                args_);
  }

  vertex_run& run_;
  std::array<const device_rows*, 1> inputs_;
  std::uint64_t n_;
  bool wide_;
  generated g_;
  std::vector<std::uint64_t> args_;
  device_buffer order_[2];
  std::vector<device_buffer> ranks_;
};

}  // namespace

void plan_order_by(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(v.node->row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
  (void)generate(v, {b.row, {{0, b.row}}}, false);
}

result_rows run_order_by(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const bool bare = b.stages.empty() && b.prefilters.empty();
  const std::shared_ptr<const device_rows> in = bare ? run.input(b, fields_read(b, true)) : run_collect_before(b, run);
  const ir::type* row = v.node->row;
  const std::uint64_t kept = std::min<std::uint64_t>(in->size(), v.limit);
  device_buffer rows_out = run.allocate(std::max<std::uint64_t>(kept, 1) * device_layout(row).size);
  if (kept) sorting(v, *in, run).go(rows_out.address(), kept);
  return run.result(row, std::move(rows_out), kept);
}

}  // namespace query::gpu_engine
