#include "gpu_engine/operators/first_in_order.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"
#include "gpu_engine/operators/kernels_ahead.hpp"
#include "gpu_engine/operators/nearest.hpp"
#include "gpu_primitives/compact.cuh"
#include "gpu_primitives/sampled_bound.cuh"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { samples, place, by_row, keys, counts, bound, temp, kept, out, room, argument_count };
constexpr std::size_t kept_word = 1, bound_word = 2;  // of the status block; the bound has two

struct generated {
  kernel_source source;
  bool whole_keys = true;  // does the word tell all keys apart?
};

class writer {
 public:
  writer(const planner::vertex& v, const input_layout& in, bool wide_numbers)
      : k_(g_.source), n_(*v.node), b_(v.inputs.front()), in_(in), number_(wide_numbers ? "u64" : "u32") {}

  generated write() && {
    if (std::any_of(n_.order.begin(), n_.order.end(), [](const detail::order_key& o) { return o.custom.less != nullptr; }))
      throw not_generated("the order is the user's own function");
    k_.include("gpu_primitives/sampled_bound.cuh");
    k_.include("gpu_primitives/compact.cuh");
    k_.include("gpu_primitives/sort_keys.cuh");
    first_word();
    kernels();
    return std::move(g_);
  }

 private:
  std::string arg(argument a, std::string_view type = "u64") { return k_.argument(a, type); }

  // first_word(p, i, word): false if row i is filtered out. All keys are computed, as a sort of all rows would: they may fail.
  void first_word() {
    const row_pipeline rows = generate_pipeline(k_, b_, in_, 0);
    loops_ = rows.loops;
    std::string body = rows.body;
    std::uint32_t used = 0;
    for (std::size_t f = 0; f < n_.functions.size(); ++f) {
      const ir::traced t = k_.trace(n_, n_.functions[f]);
      const ir::type* key = n_.functions[f].result ? n_.functions[f].result : t.root->type;
      expressions e(k_, k_.key_site(n_, f));
      e.bind(0, rows.row);
      const std::string text = e.converted(e.value(t.root), t.root->type, key), name = "key_" + std::to_string(f);
      loops_ = loops_ || e.loops();
      body += e.take() + "  const " + k_.type_name(key) + " " + name + " = " + text + ";\n";
      const detail::order_key order = f < n_.order.size() ? n_.order[f] : detail::order_key{};
      std::vector<sort_pass> passes;
      take_key_apart(key, order, f, 32, [](std::size_t) { return std::string("0u"); }, passes);
      for (auto p = passes.rbegin(); p != passes.rend(); ++p) add(*p, order.descending, name, used, body);
    }
    // Where there are loops, its kernels have one call of it.
    k_.add("__device__ __forceinline__ bool first_word(const words& p, u64 i, u64& word) {\n  word = 0;\n" + body + "  return true;\n}\n");
  }

  // A part of a key behind the `used` bits that the word has; what does not fit is cut off.
  void add(const sort_pass& p, bool descending, const std::string& key, std::uint32_t& used, std::string& body) {
    if (used == 64) {
      g_.whole_keys = false;
      return;
    }
    const bool is_text = !p.text.empty();
    if (is_text) k_.include("gpu_engine/device/text_order.cuh");
    loops_ = loops_ || is_text;  // as much code as a loop
    const std::string text = is_text ? (descending ? "descending_key(text_word(" : "(text_word(") + p.text + ", 0))" : p.key;
    const std::uint32_t bits = is_text ? 64 : p.bits, fit = std::min(bits, 64 - used);
    g_.whole_keys = g_.whole_keys && fit == bits && !is_text;
    body += "  {\n    const auto& v = " + key + ";\n    word = " + (used ? "word << " + std::to_string(fit) + " | " : "") + "u64(" + text +
            ")" + (fit < bits ? " >> " + std::to_string(bits - fit) : "") + ";\n  }\n";
    // Nothing that follows a string's beginning decides before the rest of the string does.
    used = is_text ? 64 : used + fit;
  }

  void kernels() {
    const row_function row = generate_rows(k_, b_, in_, 0);
    const std::string type = k_.type_name(row.out), n = k_.parameter({word::role::rows, 0, 0, 0}, "u64");
    const auto kernel = [&](const std::string& bounds, const char* name, const std::string& body) {
      k_.add("extern \"C\" __global__ void __launch_bounds__(" + bounds + ") " + name + "(const __grid_constant__ words p) {\n" + body +
             "}\n");
    };
    kernel("128", "sample_first",
           "  sample_keys(" + n + ", (u32)" + arg(samples) + ", " + arg(keys, "u64*") + ", " + arg(counts, "u8*") +
               ", [&](u64 i, u64& word) { return first_word(p, i, word); });\n");
    kernel("sampled_bound_policy::threads", "bound_first",
           "  sampled_bound<sampled_bound_policy>(" + n + ", (u32)" + arg(samples) + ", (u32)" + arg(place) + ", " + arg(by_row) +
               " != 0, " + arg(keys, "const u64*") + ", " + arg(counts, "const u8*") + ", " + arg(bound, "u64*") + ");\n");
    k_.add("using number = " + number_ + ";\nusing policy = compact" + std::string(loops_ ? "_loops" : "") + "_policy<number>;\n");
    kernel("policy::threads, policy::blocks", "keep_first",
           "  " + type + "* const out = " + arg(out, type + "*") + ";\n  const u64 room = " + arg(room) + ";\n  const u64* const bound = " +
               arg(bound, "const u64*") + ";\n  const u64 last_word = bound[0], last_row = bound[1];\n  compact<policy, number>(" + n +
               ", " + arg(temp, "void*") + ", " + arg(kept, "u64*") +
               ",\n    [&](u64 i, number& item) {\n      item = (number)i;\n      u64 word;\n"
               "      return first_word(p, i, word) && (word < last_word || (word == last_word && i <= last_row));\n    },\n"
               "    [&](u64 at, const number& i) {\n      if (at >= room) return;\n      " +
               type + " row;\n      " + row.name + "(p, i, row);\n      out[at] = row;\n    });\n");
  }

  generated g_;
  kernel_source& k_;
  const detail::logical& n_;
  const planner::branch& b_;
  const input_layout& in_;
  std::string number_;
  bool loops_ = false;
};

std::optional<generated> generate(const planner::vertex& v, const input_layout& in, bool wide_numbers) {
  const planner::branch& b = v.inputs.front();
  try {
    // A search for nearest rows is a kernel of its own, before all others.
    if (!nearest_note(b, nullptr).empty()) return std::nullopt;
    return writer(v, in, wide_numbers).write();
  } catch (const not_generated&) {  // strings that are made on the way
    return std::nullopt;
  }
}

template <class Number> std::pair<std::uint64_t, std::uint64_t> tile_and_threads() {
  using policy = gpu::compact_policy<Number>;
  return {gpu::compact_tile<policy>(), policy::threads};
}

class selection {
 public:
  selection(generated g, const device_rows& in, bool wide, vertex_run& run) : g_(std::move(g)), in_(in), wide_(wide), run_(run) {}

  result_rows go(const ir::type* row, std::uint64_t k) {
    const std::uint64_t n = in_.size();
    const order_sample sample = order_sample::of(n, k);
    const std::size_t row_bytes = device_layout(row).size;
    std::uint64_t fits = sample.room;
    device_buffer rows = run_.allocate(fits * row_bytes);
    const device_buffer sampled = run_.allocate(std::uint64_t{sample.rows} * 9);
    args_[samples] = sample.rows;
    args_[place] = sample.place;
    args_[by_row] = g_.whole_keys ? 1 : 0;
    args_[keys] = sampled.address();
    args_[counts] = sampled.address() + std::uint64_t{sample.rows} * 8;
    prepare(n);
    const std::array<const device_rows*, 1> inputs{&in_};
    const auto looks = static_cast<unsigned>(gpu::divide_up(sample.rows, 128));
    run_.launch(g_.source, *run_.compile(g_.source, "sample_first"), {looks, 128, 0}, inputs, args_);
    run_.launch(g_.source, *run_.compile(g_.source, "bound_first"), {1, gpu::sampled_bound_policy::threads, 0}, inputs, args_);
    std::uint64_t left = keep(rows.address(), fits);
    if (left > fits) {
      // Many rows begin with the same word.
      if (left > n / 2) return nullptr;
      rows = device_buffer();
      fits = left;
      rows = run_.allocate(fits * row_bytes);
      prepare(n);
      left = keep(rows.address(), fits);
    }
    if (left < k && !(run_.read(bound_word) == ~0ull && run_.read(bound_word + 1) == ~0ull)) return nullptr;  // the sample was unlucky
    return run_.result(row, std::move(rows), left);
  }

 private:
  // What the last kernel finds zero; before anything asks for a status word.
  void prepare(std::uint64_t n) {
    const auto [tile, threads] = wide_ ? tile_and_threads<gpu::u64>() : tile_and_threads<gpu::u32>();
    tiles_ = gpu::divide_up(n, tile);
    threads_ = threads;
    const std::size_t bytes = 128 + gpu::tile_counts::bytes(tiles_);
    args_[temp] = run_.zeroed_for_launch(bytes, bytes);
    args_[kept] = run_.status_word(kept_word);
    args_[bound] = run_.status_word(bound_word);
  }
  std::uint64_t keep(device_address rows, std::uint64_t fits) {
    run_.context().cancel.check();
    args_[out] = rows;
    args_[room] = fits;
    const auto f = run_.compile(g_.source, "keep_first");
    const std::uint64_t resident = resident_blocks(*f, static_cast<unsigned>(threads_), 0);
    const std::array<const device_rows*, 1> inputs{&in_};
    run_.launch(g_.source, *f, {static_cast<unsigned>(std::clamp<std::uint64_t>(tiles_, 1, resident)), static_cast<unsigned>(threads_), 0},
                inputs, args_);
    run_.finish(g_.source);
    return run_.read(kept_word);
  }

  generated g_;
  const device_rows& in_;
  bool wide_;
  vertex_run& run_;
  std::vector<std::uint64_t> args_ = std::vector<std::uint64_t>(argument_count, 0);
  std::uint64_t tiles_ = 0, threads_ = 0;
};

}  // namespace

// Of the first k rows, about k * rows / n are in the sample, and fewer than five standard deviations and four more: that fails once in ten
// million times, and then all rows are sorted. What is below a place varies by the root of the place: the room is eight times that more.
order_sample order_sample::of(std::uint64_t n, std::uint64_t k) {
  order_sample s;
  s.rows = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(n / 8, 1, gpu::sampled_bound_policy::most));
  const double run = static_cast<double>(n) / s.rows, wanted = static_cast<double>(k) / run;
  const double at = std::floor(wanted + 5 * std::sqrt(wanted)) + 4;
  s.place = static_cast<std::uint32_t>(at);
  s.room = std::min<std::uint64_t>(n, static_cast<std::uint64_t>(run * (at + 8 * std::sqrt(at) + 16)));
  return s;
}

bool worth_selecting(std::uint64_t n, std::uint64_t k, vertex_run& run) {
  // A round that is recorded can be repeated only if as many rows are left again (round_recording.hpp): there, more has to be saved.
  const std::uint64_t least = run.gpu().least_selected() * (round_recording::here() ? 8 : 1);
  return k && n >= std::max<std::uint64_t>(least, 1) && k <= n / 4;
}

result_rows first_in_order(const planner::vertex& v, const std::shared_ptr<const device_rows>& rows, std::uint64_t k, vertex_run& run,
                           const std::function<void()>& begin_sort) {
  const bool wide = rows->size() >> 32 != 0;
  std::optional<generated> g = generate(v, rows->layout(), wide);
  if (!g) return nullptr;
  if (!known_or_begun(run, g->source)) begin_sort();
  return selection(std::move(*g), *rows, wide, run).go(v.inputs.front().row, k);
}

void plan_first_in_order(const planner::vertex& v) {
  const planner::branch& b = v.inputs.front();
  (void)generate(v, planned_layout(b, fields_read(b, true)), false);
}

}  // namespace query::gpu_engine
