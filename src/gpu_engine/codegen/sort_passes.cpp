#include "gpu_engine/codegen/sort_passes.hpp"

#include <algorithm>
#include <utility>

namespace query::gpu_engine {

using ir::kind;

namespace {

std::string word_of(std::uint32_t bits) { return bits <= 32 ? "u32" : "u64"; }

// A key in the direction that is asked for; its own inverse.
std::string directed(const ir::type* number, const detail::order_key& order, const std::string& key) {
  if (!order.descending) return key;
  return number->k == kind::boolean ? "(" + key + " ^ 1)" : "descending_key(" + key + ")";
}

constexpr std::uint64_t most_bytes = 128;  // of an array: a pass goes over all rows

// What a sort by one word costs, in passes of the radix sort over 32-bit words: one for each eight bits, and the word that is made for each
// row and found again by the row's number.
double cost_of(std::uint32_t bits) { return bits <= 8 ? 4 : bits <= 16 ? 5 : bits <= 32 ? 7 : 3 + 8 * 1.5; }

// Numbers side by side in one word, the later (more significant) above: as one sort, where that is cheaper than one for each. The ten bytes
// that a record begins with are three sorts so.
std::vector<sort_pass> side_by_side(std::vector<sort_pass> passes) {
  const std::size_t n = passes.size();
  std::vector<double> cost(n + 1, 0);
  std::vector<std::size_t> begin(n + 1, 0);  // of the group that ends there
  for (std::size_t end = 1; end <= n; ++end) {
    cost[end] = cost[end - 1] + cost_of(passes[end - 1].bits);
    begin[end] = end - 1;
    std::uint32_t bits = 0;
    for (std::size_t i = end; i-- > 0 && passes[i].text.empty() && (bits += passes[i].bits) <= 64;)
      if (cost[i] + cost_of(bits) < cost[end]) cost[end] = cost[i] + cost_of(bits), begin[end] = i;
  }
  std::vector<sort_pass> grouped;
  for (std::size_t end = n; end > 0; end = begin[end]) {
    sort_pass p = std::move(passes[begin[end]]);
    for (std::size_t i = begin[end] + 1; i < end; ++i) {
      const std::string word = word_of(p.bits + passes[i].bits);
      p.key = word + "(" + word + "(" + passes[i].key + ") << " + std::to_string(p.bits) + " | " + p.key + ")";
      p.bits += passes[i].bits;
    }
    grouped.push_back(std::move(p));
  }
  std::reverse(grouped.begin(), grouped.end());
  return grouped;
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
        if (t->count * t->element->size > most_bytes)
          throw not_generated("sorting by an array of more than " + std::to_string(most_bytes) + " bytes");
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
  std::vector<sort_pass> own;
  key_parts{order, of, rank_bits, rank}.take(t, "v", own, texts);
  for (sort_pass& p : side_by_side(std::move(own))) passes.push_back(std::move(p));
}

std::string value_of_key(const ir::type* number, const detail::order_key& order, const std::string& key) {
  return "from_sort_key<" + std::string(scalar_text(number->k)) + ">(" + directed(number, order, key) + ")";
}

}  // namespace query::gpu_engine
