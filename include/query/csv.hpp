// How a CSV file is spelled: what read_csv and write_csv take beside the path.
//
//   auto flights = query::read_csv<Flight>("flights.csv", {.null_text = "NA", .columns = {{"dep_delay", "departure delay"}}});
//
// Columns of a row: a field is a column of its name; a nested record's fields are `outer.inner`; a std::array<T, N> is the
// columns `name_0` ... `name_{N-1}`; a row that is not a record is one column, `value`. std::vector fields are refused.
// Values: integers in decimal, floats as std::from_chars reads them (and a leading '+'), bool as true/false/t/f/1/0 in any
// case, enums as their integers, times and dates of std::chrono by ISO 8601, or by `time_format`; durations as "PT90S" and, when reading,
// also as counts of their unit. Quotes follow RFC 4180: only whole fields, a quote inside written twice.
// Nulls: an empty field, or `null_text`, without quotes. They need std::optional, except that an empty field is an empty
// std::string. In a std::optional<std::string>, `""` (with quotes) is an empty string and no null.
// Blank lines are skipped; in a file of one column that is read as std::optional, a blank line is a null.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <query/bad_lines.hpp>

namespace query {

// Field `field` of the row is column `column` of the file.
struct csv_column {
  std::string field, column;
};

struct csv_options {
  char delimiter = ',';
  bool header = true;               // first line: the columns' names, in any order; without it, columns go by position
  char quote = '"';                 // '\0': no quoting, quotes are text
  std::string null_text = {};       // what stands for a null, beside an empty field when reading
  bool trim = false;                // drop blanks and tabs around fields
  std::vector<csv_column> columns = {};  // where the names differ; needs the header
  std::string time_format = {};     // of times and dates: "%d.%m.%Y %H:%M" (docs/operators/times.md); empty: ISO 8601

  // ---- of reading
  std::string file_name_in = {};    // the std::string field that takes the path of the row's file; it has no column
  bad_lines on_error = bad_lines::stop;
  std::optional<rejected_lines> rejected = {};  // where bad_lines::collect puts them
};

}  // namespace query
