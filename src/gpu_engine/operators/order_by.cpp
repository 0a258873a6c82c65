// order_by: row numbers sorted by order-preserving keys, the last key first (each pass is stable), then rows gathered once.
// Strings are ranked before: their rank is what the rows are sorted by.
#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/radix_launch.hpp"
#include "gpu_engine/operators/sorted_numbers.hpp"
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
      radix(std::to_string(s), p.bits, "const auto v = key_" + std::to_string(p.of) + "(p, row);\n  return " + p.key + ";");
    }
    gather();
  }

 private:
  std::string rows() { return k_.parameter({word::role::rows, 0, 0, 0}, "u64"); }

  void keys() {
    const auto rank_of_row = [this](std::size_t i) {
      return k_.argument(first_ranks + static_cast<std::uint32_t>(i), "const number*") + "[row]";
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

  // count_<name> and sweep_<name>: one sort by the word that `key` returns for a row. Digits are counted in the order in which
  // the rows lie, whatever their order so far.
  void radix(const std::string& name, std::uint32_t key_bits, const std::string& key_body) {
    const std::string key = key_bits <= 32 ? "u32" : "u64", bits = std::to_string(key_bits), policy = "radix_policy<" + key + ", number>",
                      word = "sort_word_" + name;
    k_.add("__device__ __forceinline__ " + key + " " + word + "(const words& p, u64 row) {\n  " + key_body + "\n}\n");
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::histogram_threads) count_" + name +
           "(const __grid_constant__ words p) {\n  radix_histogram<" + policy + ", " + bits + ">(" + rows() + ", " +
           k_.argument(temp, "void*") + ", [&](u64 row) { return " + word + "(p, row); });\n}\n");
    k_.add("extern \"C\" __global__ void __launch_bounds__(" + policy + "::threads, " + policy + "::blocks) sweep_" + name +
           "(const __grid_constant__ words p) {\n  extern __shared__ __align__(16) u8 shared[];\n  const radix_buffers<" + key +
           ", number> between{{" + k_.argument(keys_0, key + "*") + ", " + k_.argument(keys_1, key + "*") + "}, {" +
           k_.argument(values_0, "number*") + ", " + k_.argument(order_out, "number*") + "}};\n  radix_sweep<" + policy + ", " + bits +
           ", " + key + ", number, " + number_ + ">((u32)" + k_.argument(pass, "u64") + ", " + rows() + ", " + k_.argument(temp, "void*") +
           ", between, shared,\n    [&](u64 j) { return " + word +
           "(p, row_at(p, j)); },\n    [&](u64 j) { return number(row_at(p, j)); },\n    [](u64, " + key +
           ") {}, [&](u64 at, number row) { " + k_.argument(order_out, "number*") + "[at] = row; });\n}\n");
  }

  // The rank of a string among all rows': rows are sorted by one word of it a round, and rows that are equal so far share a
  // rank. Rounds end when no two rows of a rank go on.
  void ranks(const sort_pass& p) {
    const std::string name = "text_" + std::to_string(g_.texts.size());
    if (g_.texts.empty()) {
      k_.include("gpu_engine/device/text_order.cuh");
      k_.include("gpu_primitives/scan.cuh");
      radix("ranks", wide_ ? 64 : 32, "return " + k_.argument(ranks_before, "const number*") + "[row];");
    }
    g_.texts.push_back(name);
    k_.add("__device__ __forceinline__ u64 word_of_" + name + "(const words& p, u64 row) {\n  const auto v = key_" + std::to_string(p.of) +
           "(p, row);\n  return text_word(" + p.text + ", " + k_.argument(text_round, "u64") + ");\n}\n");
    radix(name, 64, "return word_of_" + name + "(p, row);");
    // Out of line: the scan has many calls of it, and compiling that many copies would take seconds.
    k_.add("__device__ __noinline__ number begins_rank_of_" + name +
           "(const words& p, u64 j) {\n  const number* const before = " + k_.argument(ranks_before, "const number*") +
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

radix_shape shape_of(std::uint64_t n, bool wide_numbers, std::uint32_t bits) {
  using gpu::u32, gpu::u64;
  if (bits <= 32) return wide_numbers ? radix_shape::of<u32, u64, u64>(n) : radix_shape::of<u32, u32, u32>(n);
  return wide_numbers ? radix_shape::of<u64, u64, u64>(n) : radix_shape::of<u64, u32, u32>(n);
}

class sorting {
 public:
  sorting(const planner::vertex& v, const device_rows& in, vertex_run& run)
      : run_(run),
        inputs_{&in},
        n_(in.size()),
        wide_(!gpu::radix_fits_32_bit_counts(n_)),
        g_(generate(v, in.layout(), wide_)),
        args_(first_ranks + g_.texts.size(), 0) {}

  // `rows_out`: room for the first `kept` rows in order, which holds what the passes need until the rows are gathered.
  void go(device_address rows_out, std::uint64_t kept, std::size_t row_bytes) {
    const buffers passes(*this, rows_out, kept * row_bytes);
    for (std::size_t t = 0; t < g_.texts.size(); ++t) rank(t);
    start();
    for (std::size_t s = 0; s < g_.passes.size(); ++s) sort(std::to_string(s), g_.passes[s].bits);
    args_[out] = rows_out;
    args_[out_rows] = kept;
    const auto f = compiled("gather_rows");
    run_.launch(g_.source, *f,
                {static_cast<unsigned>(std::clamp<std::uint64_t>(gpu::divide_up(kept, 256), 1, resident(*f, 256) * 8)), 256, 0}, inputs_,
                args_);
    run_.finish(g_.source);
  }

 private:
  // Keys and row numbers between passes, and the two orders that sorts go to in turn. The order that the rows are gathered by has memory of
  // its own, and of the others as much as fits lies where the rows will be.
  class buffers {
   public:
    buffers(sorting& s, device_address rows_out, std::uint64_t room) {
      std::uint32_t bits = s.g_.texts.empty() ? 0 : 64;
      for (const sort_pass& p : s.g_.passes) bits = std::max(bits, p.bits);
      const std::uint32_t passes = gpu::radix_passes(bits);
      const std::uint64_t numbers = s.n_ * s.g_.row_number_bytes, keys = s.n_ * (bits <= 32 ? 4 : 8);
      const std::size_t last = (s.g_.passes.size() + 1) % 2;
      s.order_[last] = take(s, numbers);
      struct part {
        device_address* at;
        std::uint64_t bytes;
      };
      // A sort of one pass needs nothing in between, one of two needs the first buffer.
      std::array<part, 4> parts{{{&s.args_[keys_0], passes > 1 ? keys : 0},
                                 {&s.args_[keys_1], passes > 2 ? keys : 0},
                                 {&s.args_[values_0], passes > 1 ? numbers : 0},
                                 {&s.order_[1 - last], s.g_.passes.size() > 1 || !s.g_.texts.empty() ? numbers : 0}}};
      const std::uint32_t inside = fullest(parts, room);
      for (std::uint32_t i = 0; i < parts.size(); ++i) {
        if (inside >> i & 1) {
          *parts[i].at = rows_out;
          rows_out += aligned(parts[i].bytes);
        } else {
          *parts[i].at = take(s, parts[i].bytes);
        }
      }
    }

   private:
    static std::uint64_t aligned(std::uint64_t bytes) { return gpu::round_up(bytes, 8); }  // keys and numbers are read one by one
    // Which of the parts fill the room best.
    template <class Parts> static std::uint32_t fullest(const Parts& parts, std::uint64_t room) {
      std::uint32_t best = 0;
      std::uint64_t most = 0;
      for (std::uint32_t set = 1; set < 1u << parts.size(); ++set) {
        std::uint64_t end = 0, used = 0;
        for (std::uint32_t i = 0; i < parts.size(); ++i) {
          if (!(set >> i & 1) || !parts[i].bytes) continue;
          used = end + parts[i].bytes;
          end += aligned(parts[i].bytes);
        }
        if (used > most && used <= room) best = set, most = used;
      }
      return best;
    }
    device_address take(sorting& s, std::uint64_t bytes) {
      if (!bytes) return 0;
      own_.push_back(s.run_.allocate(bytes));
      return own_.back().address();
    }

    std::vector<device_buffer> own_;
  };

  device_buffer column() { return run_.allocate(n_ * g_.row_number_bytes); }
  std::shared_ptr<const kernel> compiled(const std::string& entry) { return run_.compile(g_.source, entry.c_str()); }
  static std::uint64_t resident(const kernel& f, std::uint64_t threads) { return resident_blocks(f, static_cast<unsigned>(threads), 0); }

  // The order of the rows as they lie.
  void start() { args_[order_in] = 0; }

  // From order_in to the other of the two orders, beginning with the first.
  void sort(const std::string& name, std::uint32_t bits) {
    run_.context().cancel.check();
    args_[order_out] = order_[args_[order_in] == order_[0] ? 1 : 0];
    const auto count = compiled("count_" + name), sweep = compiled("sweep_" + name);
    radix_launch radix(run_, g_.source, *count, *sweep, shape_of(n_, wide_, bits), bits);
    radix.count(inputs_, args_, temp);
    radix.passes(inputs_, args_, pass);
    args_[order_in] = args_[order_out];
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
  device_address order_[2] = {0, 0};
  std::vector<device_buffer> ranks_;
};

}  // namespace

void plan_order_by(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  check_host_form(v.node->row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
  const input_layout in{b.row, {{0, b.row}}};
  if (!plan_sorted_numbers(v, in)) (void)generate(v, in, false);
}

result_rows run_order_by(const planner::vertex& v, vertex_run& run) {
  const planner::branch& b = v.inputs.front();
  const bool bare = b.stages.empty() && b.prefilters.empty();
  const std::shared_ptr<const device_rows> in = bare ? run.input(b, fields_read(b, true)) : run_collect_before(b, run);
  const ir::type* row = v.node->row;
  const std::uint64_t kept = std::min<std::uint64_t>(in->size(), v.limit);
  const std::size_t row_bytes = device_layout(row).size;
  device_buffer rows_out = run.allocate(std::max<std::uint64_t>(kept, 1) * row_bytes);
  if (kept && !sort_numbers(v, *in, rows_out.address(), kept, run)) sorting(v, *in, run).go(rows_out.address(), kept, row_bytes);
  return run.result(row, std::move(rows_out), kept);
}

}  // namespace query::gpu_engine
