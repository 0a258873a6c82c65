// A row as JSON has it: the keys of its objects, and where their values go.
//
//   const json_shape shape = json_shape_of(ir::describe<Trade>(), options, "read_json_lines");   // shape.keys[0] == "symbol"
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <query/detail/type.hpp>
#include <query/json_lines.hpp>

namespace query::data {

struct json_shape {
  const ir::type* of;
  std::vector<std::string> keys;           // of a record: those of its fields
  std::vector<json_shape> parts;           // of a record: its fields; of array, optional and list: the element
};

// Throws user_error if such rows cannot be read from or written to JSON, or options.columns does not fit them.
json_shape json_shape_of(const ir::type* row, const json_options& options, std::string_view verb);

}  // namespace query::data
