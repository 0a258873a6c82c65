// A value of a described type as people read it: 1.5, null, [1, 2], {name: "x", at: {x: 1, y: 2}}.
//
//   format_value(ir::describe<Point>(), &p);   // {x: 1, y: 2}
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <query/detail/type.hpp>

namespace query::data {

// Strings are quoted inside records, arrays and lists, and bare on their own; control characters are escaped, bytes that are
// no UTF-8 become U+FFFD. Floats have `digits` significant digits, without zeros at the end. Lists are cut after 16 elements.
std::string format_value(const ir::type* type, const void* value, int digits = 6);
void append_value(std::string& out, const ir::type* type, const void* value, int digits = 6);

// `digits` significant digits, without zeros at the end: 0.5, 1e+300, nan.
std::string format_number(double x, int digits);

// 336,776
std::string format_count(std::uint64_t n);

// Control characters as \n, \t, \x1b; bytes that are no UTF-8 as U+FFFD.
std::string printable(std::string_view text);

// Code points of valid UTF-8: the width of a text on a terminal, unless it has wide or combining characters.
std::size_t code_points(std::string_view text);

// At most `width` code points; cut text ends in `mark`, one code point.
std::string cut_text(std::string text, std::size_t width, std::string_view mark = "\u2026");

}  // namespace query::data
