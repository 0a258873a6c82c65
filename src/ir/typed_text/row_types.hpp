// Descriptions of rows whose columns are chosen when the program runs: records without a C++ type.
//
//   const type* row = row_type_of({{"symbol", describe<int>()}, {"amount", describe<double>()}});
//
// Equal lists of columns share one description. It is never destroyed, like the descriptions of C++ types. A column may have any type
// whose bytes are its value, or be a std::string or a std::optional<std::string>.
#pragma once

#include <span>
#include <string>

#include <query/detail/type.hpp>

namespace query::ir::typed_text {

struct row_column {
  std::string name;
  const type* of = nullptr;
};
bool can_be_column(const type* t);
// Throws resource_error where the program has too many kinds of such rows: 256 layouts, each of which serves any names. Sizes are coarse,
// so that columns of any number make few layouts; only rows with strings, by how many of these there are, can become too many.
const type* row_type_of(std::span<const row_column> columns);

}  // namespace query::ir::typed_text
