// How the rows of a file of JSON lines are read and written: what read_json_lines and write_json_lines take beside the path.
//
//   auto events = query::read_json_lines<Event>("events.jsonl", {.columns = {{"user_id", "user-id"}}});
//
// Each line is one JSON value: an object whose keys are the names of the record's fields, or, of rows that are no records, the value.
// Values: integers and enums are numbers without a fraction, floating-point numbers any numbers, bools true and false, strings and single
// chars strings, nested records objects, std::array and std::vector arrays. std::optional takes null, and a key that is missing. Keys that
// no field has are passed over, or are an error (`unknown_fields`). nan and infinities are written as null.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <query/csv.hpp>

namespace query {

enum class unknown_fields : std::uint8_t { ignore, refuse };

struct json_options {
  std::vector<csv_column> columns = {};  // where a key is not the name of its field; fields of nested records as `outer.inner`

  // ---- of reading
  unknown_fields unknown = unknown_fields::ignore;
  std::string file_name_in = {};    // the std::string field that takes the path of the row's file; it has no key
  bad_lines on_error = bad_lines::stop;
  std::optional<rejected_lines> rejected = {};  // where bad_lines::collect puts them
};

}  // namespace query
