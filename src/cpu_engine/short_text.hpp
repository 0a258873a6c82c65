// The characters of short strings as words in registers, whatever their lengths are.
//
//   const short_text t(std::string("id042"));     // t.first: five characters, then zeros
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "cpu_engine/scalar_order.hpp"

namespace query::cpu {

inline constexpr auto first_bytes = [] {
  std::array<std::uint64_t, 9> masks{};
  for (std::size_t i = 1; i < masks.size(); ++i) masks[i] = masks[i - 1] << 8 | 0xff;
  return masks;
}();

// Masks of the first n of 16 bytes.
inline constexpr auto first_of_16 = [] {
  std::array<u128, 17> masks{};
  for (std::size_t i = 1; i < masks.size(); ++i) masks[i] = masks[i - 1] << 8 | 0xff;
  return masks;
}();

// Characters [0, n) or [8, 8 + n) of a string, n <= 8, in memory order, then zeros.
inline std::uint64_t characters_at(const std::string& s, std::size_t first, std::size_t n) {
#ifdef _GLIBCXX_STRING
  // Whether they lie in the string or on the heap, 16 bytes can be read there: the string's own buffer has 16, the heap's more. So lengths
  // cost no branch, which would be mispredicted where they differ.
  return load<std::uint64_t>(s.data() + first) & first_bytes[n];
#else
  return n ? load_bytes(s.data() + first, n) : 0;
#endif
}
// All characters of a string of at most 15.
struct short_text {
  std::uint64_t first, rest;
  explicit short_text(const std::string& s)
      : first(characters_at(s, 0, std::min<std::size_t>(s.size(), 8))), rest(characters_at(s, 8, std::max<std::size_t>(s.size(), 8) - 8)) {}
};

}  // namespace query::cpu
