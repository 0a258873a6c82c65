// order_by: row numbers sorted by order-preserving keys, the last key first (each pass is stable), then rows gathered once.
// Strings are ranked before: their rank is what the rows are sorted by. The sorts are the library's own programs (word_sort.hpp); a query
// compiles what makes the words of its keys, unless they are plain numbers, and what gathers its rows. Where few rows of many are wanted,
// those that may be among them are found first (first_in_order.hpp). Rows that are their key (sorted_numbers.hpp), or a key and little
// more (sorted_pairs.hpp), are sorted without numbers.
#include <algorithm>
#include <optional>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"
#include "gpu_engine/host_unpacking.hpp"
#include "gpu_engine/operators/first_in_order.hpp"
#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/row_gather.hpp"
#include "gpu_engine/operators/sorted_numbers.hpp"
#include "gpu_engine/operators/sorted_pairs.hpp"
#include "gpu_engine/operators/word_sort.hpp"
#include "gpu_engine/row_numbers.hpp"
#include "gpu_primitives/radix_layout.cuh"
#include "gpu_primitives/scan.cuh"

namespace query::gpu_engine {

namespace {

// Arguments of the kernels. The ranks of the keys' strings come behind them, a column each.
enum argument : std::uint32_t {
  order_in,
  temp,
  made_words,
  out,
  out_rows,
  text_round,
  ranks_before,
  ranks_after,
  unresolved,
  first_ranks
};
constexpr std::size_t unresolved_word = 1;  // of the status block

// A number of 32 or 64 bits in a column of the input, as sorts read it.
struct plain_number {
  std::uint32_t column = 0;
  std::size_t offset = 0, stride = 0;
  gpu::number_form<gpu::u64> form = {0, 0, false};
};

struct generated {
  kernel_source source;
  std::vector<word_sort> sorts;  // by words of different widths
  std::vector<sort_pass> passes;
  std::vector<std::optional<plain_number>> plain;  // of the passes; of the others a kernel makes the words
  std::vector<std::string> texts;                  // names of the strings to rank
  std::size_t row_number_bytes = 4;

  const word_sort& sort_of(std::uint32_t bits) const {
    return *std::find_if(sorts.begin(), sorts.end(), [&](const word_sort& s) { return s.bits() == word_sort::rounded(bits); });
  }
};

class writer {
 public:
  writer(generated& g, const planner::vertex& v, const input_layout& in, bool wide_numbers)
      : g_(g), k_(g.source), n_(*v.node), in_(in), number_(wide_numbers ? "u64" : "u32"), wide_(wide_numbers) {
    g.row_number_bytes = wide_numbers ? 8 : 4;
    // The sort takes rows as they lie: row-wise work before it has run.
    row_ = input_rows(k_, in, 0, "i");
  }

  void write(bool rows_too) {
    if (std::any_of(n_.order.begin(), n_.order.end(), [](const detail::order_key& o) { return o.custom.less != nullptr; }))
      throw not_generated("the order is the user's own function");
    k_.include("gpu_primitives/sort_keys.cuh");
    k_.add("using number = " + number_ + ";\n");
    keys();
    k_.add("__device__ __forceinline__ u64 row_at(const words& p, u64 j) {\n  const number* order = " +
           k_.argument(order_in, "const number*") + ";\n  return order ? order[j] : j;\n}\n");
    for (std::size_t s = 0; s < g_.passes.size(); ++s) {
      const sort_pass& p = g_.passes[s];
      if (!p.text.empty()) ranks(p);
      if (!g_.plain[s])
        words(std::to_string(s), p.bits, "  const auto v = key_" + std::to_string(p.of) + "(p, row);\n  return " + p.key + ";\n");
      uses(p.bits);
    }
    if (rows_too) gather();
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
      const detail::order_key order = i < n_.order.size() ? n_.order[i] : detail::order_key{};
      take_key_apart(key, order, i, wide_ ? 64 : 32, rank_of_row, g_.passes);
      const std::optional<plain_number> plain = plain_key(t.root, key, order);
      g_.plain.resize(g_.passes.size(), plain);
      if (plain) continue;
      expressions e(k_, k_.key_site(n_, i));
      e.bind(0, row_);
      const std::string text = e.converted(e.value(t.root), t.root->type, key);
      k_.add("__device__ __forceinline__ " + type + " " + name + "(const words& p, u64 i) {\n" + e.take() + "  return " + text + ";\n}\n");
    }
  }

  std::optional<plain_number> plain_key(const ir::node* n, const ir::type* key, const detail::order_key& order) const {
    if ((n->what != ir::op::row && n->what != ir::op::field) || n->id != 0 || n->type->k != key->k) return std::nullopt;
    if (!ir::is_arithmetic(key->k) || (key->size != 4 && key->size != 8)) return std::nullopt;
    const std::size_t offset = n->what == ir::op::field ? n->bits : 0;
    for (std::uint32_t c = 0; c < in_.columns.size(); ++c) {
      const input_column& column = in_.columns[c];
      if (offset < column.offset || offset + key->size > column.offset + column.type->size) continue;
      if (!same_on_device(column.type)) return std::nullopt;
      return plain_number{c, offset - column.offset, device_layout(column.type).size, word_column::form_of(key, order.descending)};
    }
    return std::nullopt;
  }

  void uses(std::uint32_t bits) {
    const std::uint32_t rounded = word_sort::rounded(bits);
    if (std::none_of(g_.sorts.begin(), g_.sorts.end(), [&](const word_sort& s) { return s.bits() == rounded; }))
      g_.sorts.emplace_back(rounded, wide_);
  }

  // words_<name>: the word that `body` returns for each row, as the rows lie.
  void words(const std::string& name, std::uint32_t bits, const std::string& body) {
    const std::string word = bits <= 32 ? "u32" : "u64";
    k_.add("__device__ __forceinline__ " + word + " sort_word_" + name + "(const words& p, u64 row) {\n" + body + "}\n");
    k_.add("extern \"C\" __global__ void __launch_bounds__(256) words_" + name + "(const __grid_constant__ words p) {\n  " + word +
           "* const made = " + k_.argument(made_words, word + "*") + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " + rows() +
           "; i += gridDim.x * 256ull) made[i] = sort_word_" + name + "(p, i);\n}\n");
  }

  // The rank of a string among all rows': rows are sorted by one word of it a round, and rows that are equal so far share a
  // rank. Rounds end when no two rows of a rank go on.
  void ranks(const sort_pass& p) {
    const std::string name = "text_" + std::to_string(g_.texts.size());
    if (g_.texts.empty()) {
      k_.include("gpu_engine/device/text_order.cuh");
      k_.include("gpu_primitives/scan.cuh");
      uses(64);
      uses(wide_ ? 64 : 32);
    }
    g_.texts.push_back(name);
    k_.add("__device__ __forceinline__ u64 word_of_" + name + "(const words& p, u64 row) {\n  const auto v = key_" + std::to_string(p.of) +
           "(p, row);\n  return text_word(" + p.text + ", " + k_.argument(text_round, "u64") + ");\n}\n");
    words(name, 64, "  return word_of_" + name + "(p, row);\n");
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
    const std::string to = k_.argument(out, k_.type_name(n_.row) + "*"), n = k_.argument(out_rows, "u64");
    add_gather(k_, "gather_rows", in_, n_.row, {n, to, "row_at(p, j)"});
  }

  generated& g_;
  kernel_source& k_;
  const detail::logical& n_;
  const input_layout& in_;
  row_source row_;
  std::string number_;
  bool wide_;
};

generated generate(const planner::vertex& v, const input_layout& in, bool wide_numbers, bool rows_too = true) {
  generated g;
  writer(g, v, in, wide_numbers).write(rows_too);
  return g;
}

class sorting {
 public:
  sorting(const planner::vertex& v, const device_rows& in, vertex_run& run, bool rows_too = true)
      : run_(run),
        inputs_{&in},
        n_(in.size()),
        wide_(wide_row_numbers(n_)),
        g_(generate(v, in.layout(), wide_, rows_too)),
        args_(first_ranks + g_.texts.size(), 0) {}

  // `rows_out`: room for the first `kept` rows in order, which holds what the passes need until the rows are gathered.
  void go(device_address rows_out, std::uint64_t kept, std::size_t row_bytes) {
    begin();
    const buffers passes(*this, rows_out, kept * row_bytes);
    sort_all();
    args_[out] = rows_out;
    args_[out_rows] = kept;
    const auto f = compiled("gather_rows");
    run_.launch(g_.source, *f,
                {static_cast<unsigned>(std::clamp<std::uint64_t>(gpu::divide_up(kept, 256), 1, resident(*f, 256) * 8)), 256, 0}, inputs_,
                args_);
    run_.finish(g_.source);
  }

  // The numbers of the rows in order.
  device_buffer numbers() {
    begin();
    buffers passes(*this, 0, 0);
    sort_all();
    run_.finish(g_.source);
    return passes.last_order();
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
      const bool makes_words = std::any_of(s.g_.plain.begin(), s.g_.plain.end(), [](const auto& plain) { return !plain; });
      // A sort of one pass needs nothing in between, one of two needs the first buffer; words that are made lie in the second.
      std::array<part, 4> parts{{{&s.between_.keys[0], passes > 1 ? keys : 0},
                                 {&s.between_.keys[1], passes > 2 || makes_words ? keys : 0},
                                 {&s.between_.values, passes > 1 ? numbers : 0},
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

    // That of the last sort.
    device_buffer last_order() { return std::move(own_.front()); }

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

  void begin() {
    if (!known_or_begun(run_, g_.source))
      for (const word_sort& s : g_.sorts) (void)known_or_begun(run_, s.source());
  }
  // By all keys: order_in is then the order of the rows.
  void sort_all() {
    for (std::size_t t = 0; t < g_.texts.size(); ++t) rank(t);
    start();
    for (std::size_t s = 0; s < g_.passes.size(); ++s) {
      const std::uint32_t bits = g_.passes[s].bits;
      if (const auto& plain = g_.plain[s])
        sort({inputs_[0]->column(plain->column) + plain->offset, plain->stride, plain->form}, bits);
      else
        sort(made(std::to_string(s), bits), bits);
    }
  }

  device_buffer column() { return run_.allocate(n_ * g_.row_number_bytes); }
  std::shared_ptr<const kernel> compiled(const std::string& entry) { return run_.compile(g_.source, entry.c_str()); }
  static std::uint64_t resident(const kernel& f, std::uint64_t threads) { return resident_blocks(f, static_cast<unsigned>(threads), 0); }

  // The order of the rows as they lie.
  void start() { args_[order_in] = 0; }

  // From order_in to the other of the two orders, beginning with the first.
  void sort(const word_column& by, std::uint32_t bits) {
    run_.context().cancel.check();
    between_.order_in = args_[order_in];
    between_.order_out = order_[args_[order_in] == order_[0] ? 1 : 0];
    g_.sort_of(bits).run(by, between_, n_, run_);
    args_[order_in] = between_.order_out;
  }
  // The words of a kernel, until the sort by them begins.
  word_column made(const std::string& name, std::uint32_t bits) {
    args_[made_words] = between_.keys[1];
    run_.launch(g_.source, *compiled("words_" + name), {run_.blocks(n_), 256, 0}, inputs_, args_);
    return {between_.keys[1], bits <= 32 ? 4u : 8u};
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
      sort(made(name, 64), 64);
      if (before) sort({before.address(), wide_ ? 8u : 4u}, wide_ ? 64 : 32);
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
  word_sort::places between_;
  device_address order_[2] = {0, 0};
  std::vector<device_buffer> ranks_;
};

}  // namespace

void plan_ordered_numbers(const planner::vertex& v) {
  const ir::type* row = v.inputs.front().row;
  (void)generate(v, {row, {{0, row}}}, false, false);
}
device_buffer ordered_numbers(const planner::vertex& v, const device_rows& in, vertex_run& run) {
  return sorting(v, in, run, false).numbers();
}

void plan_order_by(const planner::vertex& before) {
  planner::vertex v = before;
  v.inputs.front() = plan_text_making(before.inputs.front());
  const planner::branch& b = v.inputs.front();
  check_host_form(v.node->row);
  if (!b.stages.empty() || !b.prefilters.empty()) plan_collect_before(b);
  const input_layout in{b.row, {{0, b.row}}};
  if (!plan_sorted_numbers(v, in)) (void)generate(v, in, false);
  if (v.limit != ~0ull) plan_first_in_order(v);
}

namespace {

// The kernels of the sort of few rows, which lie side by side.
void begin_sort(const planner::vertex& v, vertex_run& run) {
  const input_layout in{v.inputs.front().row, {{0, v.inputs.front().row}}};
  if (begin_sorted_numbers(v, in, run)) return;
  const generated g = generate(v, in, false);
  (void)known_or_begun(run, g.source);
  for (const word_sort& s : g.sorts) (void)known_or_begun(run, s.source());
}

}  // namespace

result_rows run_order_by(const planner::vertex& before, vertex_run& run) {
  planner::vertex v = before;
  v.inputs.front() = run_text_making(before.inputs.front(), run);
  const planner::branch& b = v.inputs.front();
  std::shared_ptr<const device_rows> in = run.input(b, fields_read(b, true));
  result_rows few;
  if (worth_selecting(in->size(), v.limit, run)) few = first_in_order(v, in, v.limit, run, [&] { begin_sort(v, run); });
  if (few) in = few;
  else if (!b.stages.empty() || !b.prefilters.empty()) in = run_collect_of(b, in, run);
  const ir::type* row = v.node->row;
  const std::uint64_t kept = std::min<std::uint64_t>(in->size(), v.limit);
  const std::size_t row_bytes = device_layout(row).size;
  device_buffer rows_out = run.allocate(std::max<std::uint64_t>(kept, 1) * row_bytes);
  if (kept && !sort_numbers(v, *in, rows_out.address(), kept, run) && !sort_pairs(v, *in, rows_out.address(), kept, run))
    sorting(v, *in, run).go(rows_out.address(), kept, row_bytes);
  return run.result(row, std::move(rows_out), kept);
}

}  // namespace query::gpu_engine
