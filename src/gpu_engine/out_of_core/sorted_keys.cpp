#include "gpu_engine/out_of_core/sorted_keys.hpp"

#include <algorithm>

#include <query/errors.hpp>

#include "gpu_engine/codegen/expressions.hpp"

namespace query::gpu_engine {

namespace {

using ir::kind;

enum argument : std::uint32_t { out };

// The words of a key at `path`, the most significant first; `present` is the text of a test, empty where there is none.
void key_words(const ir::type* t, const std::string& path, const detail::order_key& order, const std::string& present,
               std::vector<std::string>& words) {
  if (ir::is_arithmetic(t->k)) {
    std::string key = "sort_key(" + path + ")";
    // Within the key's own width: the bits above stay zero.
    if (order.descending) key = t->k == kind::boolean ? "(" + key + " ^ 1)" : "descending_key(" + key + ")";
    words.push_back(present.empty() ? "u64(" + key + ")" : "(" + present + " ? u64(" + key + ") : 0ull)");
    return;
  }
  switch (t->k) {
    case kind::record:
      for (std::size_t i = 0; i < t->field_list.size(); ++i)
        key_words(t->field_list[i].of, path + ".f" + std::to_string(i), order, present, words);
      return;
    case kind::array:
      for (std::size_t i = 0; i < t->count; ++i)
        key_words(t->element, path + ".a[" + std::to_string(i) + "]", order, present, words);
      return;
    case kind::optional: {
      // Nulls are equal: their values count as one.
      const std::string has = path + ".has",
                        null = "null_key(" + has + ", " + (order.nulls_first ? "true" : "false") + ")";
      words.push_back(present.empty() ? "u64(" + null + ")" : "(" + present + " ? u64(" + null + ") : 0ull)");
      key_words(t->element, path + ".v", order, present.empty() ? has : present + " && " + has, words);
      return;
    }
    default:
      throw resource_error("gpu: memory: blocks sorted by keys of type " + std::string(t->name) + " are not merged");
  }
}

}  // namespace

sorted_keys run_sorted_keys(const planner::vertex& v, const device_rows& rows, vertex_run& run) {
  const detail::logical& n = *v.node;
  const input_layout& in = rows.layout();
  kernel_source k;
  k.include("gpu_primitives/sort_keys.cuh");
  const row_source row = input_rows(k, in, 0, "i");
  std::string body;
  std::vector<std::string> texts;
  for (std::size_t f = 0; f < n.functions.size(); ++f) {
    const ir::traced t = k.trace(n, n.functions[f]);
    const ir::type* key = n.functions[f].result ? n.functions[f].result : t.root->type;
    const std::string number = std::to_string(f), type = k.type_name(key);
    expressions e(k, k.key_site(n, f));
    e.bind(0, row);
    const std::string text = e.converted(e.value(t.root), t.root->type, key);
    k.add("__device__ __forceinline__ " + type + " key_" + number + "(const words& p, u64 i) {\n" + e.take() +
          "  return " + text + ";\n}\n");
    body += "    const auto v" + number + " = key_" + number + "(p, i);\n";
    key_words(key, "v" + number, f < n.order.size() ? n.order[f] : detail::order_key{}, "", texts);
  }
  for (std::size_t w = 0; w < texts.size(); ++w)
    body += "    out[i * " + std::to_string(texts.size()) + " + " + std::to_string(w) + "] = " + texts[w] + ";\n";
  k.add(
      "extern \"C\" __global__ void __launch_bounds__(256) write_keys(const __grid_constant__ words p) {\n  u64* const "
      "out = " +
      k.argument(out, "u64*") + ";\n  for (u64 i = blockIdx.x * 256ull + threadIdx.x; i < " +
      k.parameter({word::role::rows, 0, 0, 0}, "u64") + "; i += gridDim.x * 256ull) {\n" + body + "  }\n}\n");

  sorted_keys keys{texts.size(), run.allocate(std::max<std::uint64_t>(rows.size(), 1) * texts.size() * 8)};
  if (!rows.size()) return keys;
  const std::array<const device_rows*, 1> inputs = {&rows};
  const auto f = run.compile(k, "write_keys");
  const std::uint64_t blocks =
      std::min<std::uint64_t>((rows.size() + 255) / 256, std::uint64_t{resident_blocks(*f, 256)} * 8);
  run.launch(k, *f, {static_cast<unsigned>(blocks), 256, 0}, inputs,
             std::array<std::uint64_t, 1>{keys.memory.address()});
  run.finish(k);
  return keys;
}

}  // namespace query::gpu_engine
