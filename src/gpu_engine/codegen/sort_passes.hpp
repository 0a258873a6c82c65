// The keys of an order_by as radix sorts by one word each: scalars by their order-preserving bits, strings by their rank.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "gpu_engine/codegen/kernel_source.hpp"

namespace query::gpu_engine {

// One sort: by a scalar of a key, by several small ones side by side, by the flag of an optional one, or by where a string comes among all
// rows' strings.
struct sort_pass {
  std::string key;  // text of the order-preserving word of `v`, the key's value, or of its rank
  std::uint32_t bits = 64;
  std::size_t of = 0;  // number of the key
  std::string text;    // that of the string in `v` whose rank the pass sorts by
};

// A key's passes, the least significant first. `rank(i)` is the text that reads the rank of a row's string, if it is the i-th
// among the passes so far; `rank_bits` are 32 or 64. Throws not_generated for types without an order.
using rank_text = std::function<std::string(std::size_t)>;
void take_key_apart(const ir::type* t, const detail::order_key& order, std::size_t of, std::uint32_t rank_bits, const rank_text& rank,
                    std::vector<sort_pass>& passes);

// The inverse for a number: the text of the value whose word, as wide as the value, is `key`.
std::string value_of_key(const ir::type* number, const detail::order_key& order, const std::string& key);

}  // namespace query::gpu_engine
