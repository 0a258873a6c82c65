// Lays a table of texts out in lines: column widths, alignment, columns left out in the middle, the box around it.
//
//   render({{"year", "i32", true, {"2013", "2014"}}}, options)
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <query/print.hpp>

namespace query::data {

struct text_column {
  std::string name, type;
  bool right = false;  // aligned right, as numbers are
  std::vector<std::string> cells;
};

struct laid_out {
  std::string text;                  // ends in a line end
  std::vector<std::string> left_out;  // names of the columns that did not fit
};

// All columns have as many cells. At least the first column is shown, however narrow the width.
laid_out lay_out(std::vector<text_column> columns, const print_options& options);

}  // namespace query::data
