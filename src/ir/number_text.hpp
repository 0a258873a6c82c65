// Numbers as texts have them.
//
//   if (std::from_chars(first, last, d).ec == std::errc::result_out_of_range && underflows({first, last})) d = 0;
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

namespace query::ir {

// Too close to zero for the type, rather than too large? `text` is a number that std::from_chars calls out of range, so it is far
// from 1. Zeros before its first digit, digits before its point and its exponent may all be many, and make up for each other.
inline bool underflows(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  if (digits.find_first_of("123456789") == std::string_view::npos) return true;
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  std::int64_t exponent = 0;
  if (e != text.size()) {
    std::string_view power = text.substr(e + 1);
    if (power.starts_with('+')) power.remove_prefix(1);
    if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec == std::errc::result_out_of_range)
      return power.starts_with('-');
  }
  return exponent < first - point;  // the number is about 10 to the power of exponent + point - first
}

}  // namespace query::ir
