// How many columns a text takes on a terminal: two for a wide character (CJK, kana, Hangul, most emoji), none for a combining one.
//
//   display_width("東京")   // 4
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace query::data {

// Of valid UTF-8 without control characters.
std::size_t display_width(std::string_view text);
// At most `width` columns; cut text ends in `mark`, one column.
std::string cut_to_width(std::string text, std::size_t width, std::string_view mark = "\u2026");

}  // namespace query::data
