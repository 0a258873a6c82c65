// How rows are printed as a table, and the statistics of a column that describe() prints.
//
//   flights.print({.rows = 20, .width = 120});
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace query {

struct print_options {
  std::size_t rows = 10;        // rows shown
  std::size_t width = 100;      // characters a line; columns in the middle are left out to fit; 0: no limit
  std::size_t text_width = 32;  // characters a cell; longer text is cut
  int digits = 6;               // significant digits of floats
  bool ascii = false;           // + - | instead of box drawing
};

// What describe() says about a column. Nested records and arrays are taken apart: `outer.inner`, `name_0`.
struct column_summary {
  std::string name, type;              // "i32", "f64?" for std::optional<double>
  std::uint64_t count = 0;              // values that are not null
  std::uint64_t nulls = 0;
  std::optional<double> mean, stddev;   // of numbers and bools; stddev of the sample (n - 1); empty if undefined
  std::string min, max;                 // as text; NaNs are left out; empty if there is no value
  std::optional<std::uint64_t> distinct;  // exact; NaNs count as one
};

}  // namespace query
