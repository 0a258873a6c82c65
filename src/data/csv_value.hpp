// Text to scalar and back, by the kind of a type: std::from_chars, std::to_chars (shortest that reads back as itself). A char is
// its letter.
//
//   std::int32_t year;
//   parse_scalar(ir::describe<std::int32_t>(), "2013", &year);   // parsed::ok
#pragma once

#include <string>
#include <string_view>

#include <query/detail/type.hpp>

namespace query::data {

enum class parsed : unsigned char { ok, malformed, out_of_range };

// Writes the value at `to`; the whole text must be the value. Kinds: arithmetic and string, and dates.
// time_format: of times and dates (csv_options).
parsed parse_scalar(const ir::type* type, std::string_view text, void* to, std::string_view time_format = {});

// Appends the value at `from`. Kinds: arithmetic, and dates; bool as true or false.
void append_scalar(std::string& out, const ir::type* type, const void* from, std::string_view time_format = {});

// Is it a char? It is an i8 (or u8) to all but text.
inline bool is_letter(const ir::type* type) { return type->size == 1 && !type->is_enum && type->name == "char"; }

}  // namespace query::data
