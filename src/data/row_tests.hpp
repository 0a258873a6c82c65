// What the readers of a file's rows ask of them, as far as statistics of the file can answer it: comparisons of a field with a constant.
//
// The planner finds them (planner/file_row_tests.hpp); readers of files that have statistics leave out what no row of which passes.
//
//   row_tests tests = {{{"price", row_test::is::gt, test_value::of(5.0)}}};        // where(price > 5)
//   if (!may_pass(tests, [&](const std::string& field) { return range_of(group, field); })) skip(group);
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace query::data {

struct test_value {
  enum class is : std::uint8_t { nothing, signed_integer, unsigned_integer, floating, text } what = is::nothing;
  std::uint64_t bits = 0;
  std::string text = {};

  static test_value of(std::int64_t n) { return {is::signed_integer, static_cast<std::uint64_t>(n)}; }
  static test_value of(std::uint64_t n) { return {is::unsigned_integer, n}; }
  static test_value of(double x);
  static test_value of(std::string s) { return {is::text, 0, std::move(s)}; }
  bool operator==(const test_value&) const = default;
};
// -1, 0, 1; nothing: they cannot be compared (a NaN, a number and a text).
std::optional<int> compare(const test_value& a, const test_value& b);

struct row_test {
  std::string field;      // "price"; "pos.x" of a nested record
  enum class is : std::uint8_t { eq, ne, lt, le, gt, ge, null, present } how = is::eq;
  test_value value = {};  // of null and present: none
  bool operator==(const row_test&) const = default;
};
// Rows are wanted for which all tests of one of the lists hold. No list: all rows are.
using row_tests = std::vector<std::vector<row_test>>;

// The known bounds of a field's values in some rows.
struct value_range {
  std::optional<test_value> least = {}, most = {};  // of those that are neither null nor NaN; bounds at least
  std::optional<std::uint64_t> nulls = {};
  std::uint64_t rows = 0;
};

bool may_pass(const row_tests& tests, const std::function<value_range(const std::string& field)>& range_of);

// "price > 5 and day = 3 or price is null".
std::string show(const row_tests& tests);

}  // namespace query::data
