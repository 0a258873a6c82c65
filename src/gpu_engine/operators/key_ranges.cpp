#include "gpu_engine/operators/key_ranges.hpp"

#include <algorithm>
#include <array>

#include "gpu_engine/codegen/expressions.hpp"
#include "gpu_engine/codegen/sort_passes.hpp"

namespace query::gpu_engine {

namespace {

enum argument : std::uint32_t { samples, bounds_at, parts_wanted, out };

}  // namespace

key_ranges::key_ranges(const planner::vertex& v, std::shared_ptr<const device_rows> rows, vertex_run& run)
    : rows_(std::move(rows)), run_(run) {
  const detail::logical& n = *v.node;
  k_.include("gpu_primitives/sort_keys.cuh");
  const row_source row = input_rows(k_, rows_->layout(), 0, "i");
  const auto no_rank = [](std::size_t) -> std::string { throw not_generated("ranges of keys that hold strings"); };
  // As order_by takes keys apart; the most significant words come last there.
  std::vector<sort_pass> passes;
  for (std::size_t f = n.functions.size(); f-- > 0;) {
    const ir::traced t = k_.trace(n, n.functions[f]);
    const ir::type* key = n.functions[f].result ? n.functions[f].result : t.root->type;
    take_key_apart(key, f < n.order.size() ? n.order[f] : detail::order_key{}, f, 64, no_rank, passes);
    expressions e(k_, k_.key_site(n, f));
    e.bind(0, row);
    const std::string text = e.converted(e.value(t.root), t.root->type, key);
    k_.add("__device__ __forceinline__ " + k_.type_name(key) + " key_" + std::to_string(f) + "(const words& p, u64 i) {\n" + e.take() +
           "  return " + text + ";\n}\n");
  }
  width_ = passes.size();
  std::string body;
  std::size_t of = n.functions.size();
  for (std::size_t w = 0; w < width_; ++w) {
    const sort_pass& pass = passes[width_ - 1 - w];
    if (pass.of != of) body += std::string(w ? "  }\n" : "") + "  {\n    const auto v = key_" + std::to_string(of = pass.of) + "(p, i);\n";
    body += "    to[" + std::to_string(w) + "] = " + pass.key + ";\n";
  }
  const std::string width = std::to_string(width_), count = k_.parameter({word::role::rows, 0, 0, 0}, "u64");
  k_.add("__device__ __forceinline__ void key_words(const words& p, u64 i, u64* to) {\n" + body + "  }\n}\n");
  k_.add(
      "extern \"C\" __global__ void __launch_bounds__(256) sample_keys(const __grid_constant__ words p) {\n"
      "  const u64 j = blockIdx.x * 256ull + threadIdx.x, step = " +
      count + " / " + k_.argument(samples, "u64") + ";\n  if (j < " + k_.argument(samples, "u64") +
      ") key_words(p, j * step + (j * 0x9E3779B97F4A7C15ull >> 33) % step, " + k_.argument(out, "u64*") + " + j * " + width + ");\n}\n");
  k_.add(
      "extern \"C\" __global__ void __launch_bounds__(256) number_keys(const __grid_constant__ words p) {\n"
      "  const u64* __restrict__ const bounds = " +
      k_.argument(bounds_at, "const u64*") + ";\n  const u32 most = u32(" + k_.argument(parts_wanted, "u64") +
      ") - 1;\n  u32* const out = " + k_.argument(out, "u32*") + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " + count +
      "; i += gridDim.x * 256ull) {\n    u64 w[" + width +
      "];\n    key_words(p, i, w);\n    u32 part = 0;\n    for (; part < most; ++part) {\n"
      "      const u64* const bound = bounds + part * " +
      width +
      ";\n      bool before = false, same = true;\n#pragma unroll\n"
      "      for (u32 k = 0; k < " +
      width +
      "; ++k) {\n        before = before || (same && w[k] < bound[k]);\n        same = same && w[k] == bound[k];\n      }\n"
      "      if (before) break;\n    }\n    out[i] = part;\n  }\n}\n");
}

void key_ranges::launch(const char* entry, std::uint64_t work, std::span<const std::uint64_t> arguments) {
  const std::array<const device_rows*, 1> inputs = {rows_.get()};
  run_.launch(k_, *run_.compile(k_, entry), {run_.blocks(work), 256, 0}, inputs, arguments);
}

std::vector<std::uint64_t> key_ranges::sample(std::uint64_t most) {
  const std::uint64_t n = std::min(rows_->size(), most);
  std::vector<std::uint64_t> words(n * width_);
  if (!n) return words;
  const device_buffer at = run_.allocate(words.size() * 8);
  launch("sample_keys", n, std::array<std::uint64_t, 4>{n, 0, 0, at.address()});
  run_.finish(k_);
  run_.gpu().copies().download_plain(words.data(), at.address(), words.size() * 8, run_.on(), run_.context().scheduler,
                                     run_.context().cancel);
  return words;
}

device_buffer key_ranges::numbers(const std::vector<std::uint64_t>& bounds, std::size_t parts) {
  device_buffer made = run_.allocate(std::max<std::uint64_t>(rows_->size(), 1) * 4);
  if (!rows_->size() || parts < 2) {
    run_.fill(made.address(), 0, made.size());
    return made;
  }
  const device_buffer at = run_.allocate(bounds.size() * 8);
  run_.gpu().copies().upload_plain(at.address(), bounds.data(), bounds.size() * 8, run_.on(), run_.context().scheduler,
                                   run_.context().cancel);
  launch("number_keys", rows_->size(), std::array<std::uint64_t, 4>{0, at.address(), parts, made.address()});
  return made;
}

}  // namespace query::gpu_engine
