// What makes rows of the records of a text, one call a record: CSV and JSON lines have one each.
//
//   if (!parser.read(row)) { report(parser.error()); text = parser.reject(); }
#pragma once

#include <string>
#include <string_view>

namespace query::data {

struct record_error {
  const char* at = nullptr;  // in the text
  bool row_matters = false;  // the text goes on with the number of the row
  std::string what;
  std::string column = {};   // or field; empty where it is the record as a whole
};

class record_parser {
 public:
  virtual ~record_parser() = default;
  // Fills the value-initialised row from the next record; false if it is wrong. There must be another record.
  virtual bool read(void* row) = 0;
  virtual const record_error& error() const = 0;
  // Once read() has been false: goes behind the record, and gives its text without the line's end.
  virtual std::string_view reject() = 0;
};

}  // namespace query::data
