// Arrow's types beside those of a record: how the values of a column become those of a field.
//
//   const arrow_values v = match_types(field.of, schema, "price");   // throws arrow_mismatch
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <query/arrow.hpp>
#include <query/detail/type.hpp>

namespace query::data {

enum class arrow_layout : std::uint8_t {
  null,         // every value
  bits,         // bool
  fixed,        // numbers, as they lie in memory
  widened,      // a date or a time of 32 bits that becomes one of 64
  seconds,      // milliseconds that become seconds: Parquet has no times in seconds
  date,         // days of 32 bits that become a year_month_day
  text,         // offsets of 32 bits, characters
  large_text,   // offsets of 64 bits
  text_view,    // 16 bytes each: the characters, or where they are
  structure,    // a child for each field
  list,         // offsets of 32 bits, a child
  large_list,   // offsets of 64 bits
  fixed_list,   // so many values of the child each
  dictionary,   // numbers of values
};

struct arrow_values {
  arrow_layout layout = arrow_layout::null;
  const ir::type* type = nullptr;      // what a value becomes
  const ir::type* optional = nullptr;  // of that type: where nulls may be
  std::size_t width = 0;               // fixed, widened, date, dictionary: bytes of a number
  bool is_signed = false;              // dictionary: its numbers
  std::size_t count = 0;               // fixed_list
  std::vector<arrow_values> children;  // one a field; of a list the element's; of a dictionary the values'
  std::vector<std::size_t> columns;    // structure: the child's number, for each field
  std::string field, arrow_name;       // for messages: "legs[].price", "list<double>"

  const ir::type* whole() const { return optional ? optional : type; }
};

// An error without its verb: "field 'price' is f64, the Arrow column is int32".
struct arrow_mismatch : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// "int32", "timestamp", "list<utf8>", "dictionary<int32, utf8>".
std::string arrow_name(const ArrowSchema& s);

arrow_values match_types(const ir::type* t, const ArrowSchema& s, const std::string& field);
// Finds the columns of a record's fields in the struct that holds them. `prefix` stands before field names in errors.
void match_fields(const ir::type* record, const ArrowSchema& s, const std::string& prefix, arrow_values& to);

}  // namespace query::data
