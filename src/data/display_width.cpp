#include "data/display_width.hpp"

#include <algorithm>
#include <cstdint>

namespace query::data {
namespace {

struct code_range {
  std::uint32_t first, last;
};

// The large blocks of Unicode's East_Asian_Width W and F (UAX 11); single wide signs outside of them count as one column.
constexpr code_range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},   {0x3400, 0x4DBF},   {0x4E00, 0x9FFF},
                               {0xA000, 0xA4CF},   {0xA960, 0xA97F},   {0xAC00, 0xD7A3},   {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},
                               {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},   {0x16FE0, 0x18CFF}, {0x1AFF0, 0x1B2FF}, {0x1F300, 0x1F64F},
                               {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x1FA70, 0x1FAFF}, {0x20000, 0x3FFFD}};
constexpr code_range combining[] = {{0x0300, 0x036F}, {0x0483, 0x0489}, {0x0591, 0x05BD}, {0x064B, 0x065F},
                                    {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F}, {0x20D0, 0x20FF},
                                    {0x302A, 0x302D}, {0x3099, 0x309A}, {0xFE00, 0xFE0F}, {0xFE20, 0xFE2F}};

template <std::size_t N> bool in(const code_range (&ranges)[N], std::uint32_t c) {
  return std::any_of(std::begin(ranges), std::end(ranges), [c](const code_range& r) { return c >= r.first && c <= r.last; });
}

// Takes the first character from the text and says how wide it is.
std::size_t take_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t bytes = std::min<std::size_t>(lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4, text.size());
  std::uint32_t c = bytes == 1 ? lead : lead & (0xFFu >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) c = c << 6 | (static_cast<unsigned char>(text[i]) & 0x3Fu);
  text.remove_prefix(bytes);
  return c < 0x300 ? 1 : in(combining, c) ? 0 : in(wide, c) ? 2 : 1;
}

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t columns = 0;
  while (!text.empty()) columns += take_character(text);
  return columns;
}

std::string cut_to_width(std::string text, std::size_t width, std::string_view mark) {
  if (display_width(text) <= width) return text;
  if (width == 0) return {};
  std::string_view rest = text;
  std::size_t columns = 0, kept = 0;
  while (!rest.empty() && (columns += take_character(rest)) < width) kept = text.size() - rest.size();
  text.resize(kept);
  return text.append(mark);
}

}  // namespace query::data
