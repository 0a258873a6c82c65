#include "planner/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace query::planner {

namespace {

// The length of the character that begins there, as UTF-8; 0: it is none.
std::size_t character_at(std::string_view s, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[at + i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t length = first >= 0xC2 && first < 0xE0 ? 2 : (first & 0xF0) == 0xE0 ? 3 : first >= 0xF0 && first < 0xF5 ? 4 : 0;
  if (!length || at + length > s.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  // Longer than need be; half of a pair of UTF-16; beyond the last character.
  const unsigned char second = byte(1);
  if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F) || (first == 0xF0 && second < 0x90) ||
      (first == 0xF4 && second > 0x8F))
    return 0;
  return length;
}

}  // namespace

std::string json_quoted(std::string_view s) {
  std::string q = "\"";
  for (std::size_t at = 0; at < s.size();) {
    const std::size_t length = character_at(s, at);
    const char c = s[at];
    if (!length) q += "\\ufffd";
    else if (c == '"' || c == '\\') (q += '\\') += c;
    else if (c == '\n') q += "\\n";
    else if (c == '\t') q += "\\t";
    else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
      q += code;
    } else q += s.substr(at, length);
    at += std::max<std::size_t>(length, 1);
  }
  return q + '"';
}

void json_text::member(std::string_view name, double value) {
  begin(name);
  if (!std::isfinite(value)) {
    out_ += "null";
    return;
  }
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.6g", value);
  std::replace(digits, digits + sizeof digits, ',', '.');  // of the program's locale
  out_ += digits;
}

void json_text::begin(std::string_view name) {
  if (!first_) out_ += ',';
  if (depth_) line();
  first_ = false;
  if (!name.empty()) (out_ += json_quoted(name)) += ": ";
}

void json_text::line() {
  constexpr int deepest = 40;  // loops may lie in each other as deep as they like
  out_ += '\n';
  out_.append(static_cast<std::size_t>(std::min(depth_, deepest)) * 2, ' ');
}

}  // namespace query::planner
