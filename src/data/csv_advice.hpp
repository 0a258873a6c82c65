// Advice for mistakes in a CSV file or in its csv_options: the second half of an error's text.
//
//   fail("no column 'id'; the file has: id;price; " + advice_for_header("id;price", names, "id", "id", options));   // .delimiter = ';' ...
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <query/csv.hpp>
#include <query/detail/type.hpp>

#include "data/csv_field.hpp"

namespace query::data {

// `names`, those of the header's line, lack the column `wanted` of a field.
std::string advice_for_header(std::string_view line, const std::vector<std::string>& names, std::string_view wanted,
                              std::string_view field, const csv_options& options);
// For quotes that are wrong in the first line, from the character `at` on. The result is empty or begins with a semicolon.
std::string advice_for_quotes(quoting how, char at, const csv_options& options);
// The first line of a file without a header has fewer than `wanted` fields.
std::string advice_for_few_columns(std::string_view line, std::size_t wanted, const csv_options& options);
// The text is no value of the type.
std::string advice_for_value(const ir::type* type, std::string_view text);
// It is a number, and out of the type's range.
std::string advice_for_large_number(std::string_view text);

}  // namespace query::data
