// lower and upper of query/strings.hpp.
#include <algorithm>
#include <cstring>
#include <span>

#include <ir/letter_case_tables.hpp>
#include <ir/utf8.hpp>
#include <query/strings.hpp>

namespace query::detail {
namespace {

using view = std::string_view;

bool is_ascii(view s) {
  std::uint64_t all = 0, word = 0;
  for (; s.size() >= sizeof word; s.remove_prefix(sizeof word)) {
    std::memcpy(&word, s.data(), sizeof word);
    all |= word;
  }
  for (const char c : s) all |= static_cast<unsigned char>(c);
  return (all & 0x8080808080808080u) == 0;
}

// Of a valid code point of n > 1 bytes.
std::uint32_t decoded(view s, std::size_t n) {
  std::uint32_t c = static_cast<unsigned char>(s[0]) & (0x7Fu >> n);
  for (std::size_t i = 1; i < n; ++i) c = c << 6 | (static_cast<unsigned char>(s[i]) & 0x3Fu);
  return c;
}
void append(std::string& to, std::uint32_t c) {
  const auto continuation = [&](int shift) { to += static_cast<char>(0x80u | ((c >> shift) & 0x3Fu)); };
  if (c < 0x80) {
    to += static_cast<char>(c);
  } else if (c < 0x800) {
    to += static_cast<char>(0xC0u | (c >> 6));
    continuation(0);
  } else if (c < 0x10000) {
    to += static_cast<char>(0xE0u | (c >> 12));
    continuation(6);
    continuation(0);
  } else {
    to += static_cast<char>(0xF0u | (c >> 18));
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

std::uint32_t mapped(std::uint32_t c, std::span<const ir::case_run> table) {
  const auto after = std::upper_bound(table.begin(), table.end(), c, [](std::uint32_t x, const ir::case_run& r) { return x < r.first; });
  if (after == table.begin()) return c;
  const ir::case_run& r = after[-1];
  return c <= r.last && (c - r.first) % r.step == 0 ? c + static_cast<std::uint32_t>(r.by) : c;
}

// ascii: changes the letters of ASCII.
std::string changed(view s, std::string (*ascii)(view), std::span<const ir::case_run> table) {
  std::string to = ascii(s);
  if (is_ascii(s)) return to;
  to.clear();
  while (!s.empty()) {
    const std::size_t n = ir::code_point_bytes(s);
    if (n > 1) append(to, mapped(decoded(s, n), table));
    else to += ascii(s.substr(0, 1));
    s.remove_prefix(std::max<std::size_t>(n, 1));
  }
  return to;
}

}  // namespace

std::string lower_fn::native(view s) { return changed(s, to_lower_fn::native, ir::to_lower_case); }
std::string upper_fn::native(view s) { return changed(s, to_upper_fn::native, ir::to_upper_case); }

}  // namespace query::detail
