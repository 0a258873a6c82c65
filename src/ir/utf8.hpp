// UTF-8: which bytes are a code point.
//
//   for (std::size_t at = 0; at < s.size(); at += ir::character_bytes(s.substr(at))) ...
#pragma once

#include <cstddef>
#include <string_view>

namespace query::ir {

inline bool is_continuation(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

// Bytes of the valid code point at the start of text, or 0 if there is none (RFC 3629, section 4). text is not empty.
inline std::size_t code_point_bytes(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t n = first >= 0xC2 && first <= 0xDF ? 2 : (first & 0xF0) == 0xE0 ? 3 : first >= 0xF0 && first <= 0xF4 ? 4 : 0;
  if (n == 0 || text.size() < n) return 0;
  for (std::size_t i = 1; i < n; ++i)
    if (!is_continuation(text[i])) return 0;
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second > 0x9F, too_large = first == 0xF4 && second > 0x8F;
  return overlong || surrogate || too_large ? 0 : n;
}

// Bytes of what functions of strings count as one code point, valid or not: a byte and the continuation bytes after it.
inline std::size_t character_bytes(std::string_view text) {
  std::size_t n = 1;
  while (n < text.size() && is_continuation(text[n])) ++n;
  return n;
}

// The first `most` bytes, or fewer where a code point begins before and ends after them.
inline std::string_view cut_between_characters(std::string_view text, std::size_t most) {
  if (text.size() <= most) return text;
  std::size_t end = most;
  while (end > 0 && most - end < 3 && is_continuation(text[end])) --end;
  return text.substr(0, is_continuation(text[end]) ? most : end);  // not UTF-8: anywhere
}

}  // namespace query::ir
