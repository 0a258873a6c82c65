// Text to scalar and back, by the kind of a type: std::from_chars, std::to_chars (shortest that reads back as itself).
//
//   std::int32_t year;
//   parse_scalar(ir::kind::i32, "2013", &year);   // parsed::ok
#pragma once

#include <string>
#include <string_view>

#include <query/detail/type.hpp>

namespace query::data {

enum class parsed : unsigned char { ok, malformed, out_of_range };

// Writes the value at `to`; the whole text must be the value. Kinds: arithmetic and string.
parsed parse_scalar(ir::kind kind, std::string_view text, void* to);

// Appends the value at `from`. Kinds: arithmetic; bool as true or false.
void append_scalar(std::string& out, ir::kind kind, const void* from);

}  // namespace query::data
