#include "gpu_engine/codegen/sort_passes.hpp"

#include <algorithm>

namespace query::gpu_engine {

using ir::kind;

namespace {

std::string word_of(std::uint32_t bits) { return bits <= 32 ? "u32" : "u64"; }

// A key in the direction that is asked for; its own inverse.
std::string directed(const ir::type* number, const detail::order_key& order, const std::string& key) {
  if (!order.descending) return key;
  return number->k == kind::boolean ? "(" + key + " ^ 1)" : "descending_key(" + key + ")";
}

struct key_parts {
  const detail::order_key& order;
  std::size_t of;
  std::uint32_t rank_bits;
  const rank_text& rank;

  void take(const ir::type* t, const std::string& path, std::vector<sort_pass>& passes, std::size_t& texts) const {
    if (ir::is_arithmetic(t->k)) {
      const auto bits = static_cast<std::uint32_t>(t->k == kind::boolean ? 1 : t->size * 8);
      // Within the key's own width: the bits above stay zero.
      const std::string key = directed(t, order, "sort_key(" + path + ")");
      passes.push_back({word_of(bits) + "(" + key + ")", bits, of, ""});
      return;
    }
    switch (t->k) {
      case kind::string: {
        const std::string at = rank(texts++);
        passes.push_back({order.descending ? "descending_key(" + at + ")" : at, rank_bits, of, path});
        return;
      }
      case kind::record:
        for (std::size_t i = t->field_list.size(); i-- > 0;) take(t->field_list[i].of, path + ".f" + std::to_string(i), passes, texts);
        return;
      case kind::array:
        if (t->count > 16) throw not_generated("sorting by an array of more than 16 elements");
        for (std::size_t i = t->count; i-- > 0;) take(t->element, path + ".a[" + std::to_string(i) + "]", passes, texts);
        return;
      case kind::optional: {
        // Nulls are equal: their values count as one.
        std::vector<sort_pass> inner;
        take(t->element, path + ".v", inner, texts);
        for (sort_pass& p : inner) {
          p.key = "(" + path + ".has ? " + p.key + " : " + word_of(p.bits) + "(0))";
          if (!p.text.empty()) p.text = "(" + path + ".has ? " + p.text + " : text{nullptr, 0})";
          passes.push_back(std::move(p));
        }
        passes.push_back({std::string("u32(null_key(") + path + ".has, " + (order.nulls_first ? "true" : "false") + "))", 1, of, ""});
        return;
      }
      default:
        throw not_generated("sorting by " + std::string(t->name) + " has no form on the GPU yet");
    }
  }
};

}  // namespace

void take_key_apart(const ir::type* t, const detail::order_key& order, std::size_t of, std::uint32_t rank_bits, const rank_text& rank,
                    std::vector<sort_pass>& passes) {
  auto texts = static_cast<std::size_t>(std::count_if(passes.begin(), passes.end(), [](const sort_pass& p) { return !p.text.empty(); }));
  key_parts{order, of, rank_bits, rank}.take(t, "v", passes, texts);
}

std::string value_of_key(const ir::type* number, const detail::order_key& order, const std::string& key) {
  return "from_sort_key<" + std::string(scalar_text(number->k)) + ">(" + directed(number, order, key) + ")";
}

}  // namespace query::gpu_engine
