// The text of every error of reading CSV.
#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "data/csv_fixture.hpp"

namespace query::data {

struct dated { std::int32_t year; std::string name; };
QUERY_RECORD(dated, year, name);
struct listed { std::int32_t a; std::vector<int> values; };
QUERY_RECORD(listed, a, values);
struct deep { std::optional<std::optional<int>> a; };
QUERY_RECORD(deep, a);
struct small { std::int8_t i; float f; bool b; };
QUERY_RECORD(small, i, f, b);

struct flagged { char flag; std::int8_t n; };
QUERY_RECORD(flagged, flag, n);

enum class color : std::int32_t { red };
struct painted { color paint; };
QUERY_RECORD(painted, paint);

class csv_errors_test : public csv_test {};

const std::string as_text = "read it as a std::string and convert that";
const std::string convert = as_text + ", as dates, decimal commas and thousands separators need it";
std::string null(const std::string& text) {
  return "if that is a null: .null_text = \"" + text + "\" and a std::optional field; else " + as_text;
}

TEST_F(csv_errors_test, wrong_values_name_line_column_type_and_text) {
  EXPECT_EQ(error<dated>("name,year\nx,2013\nx,20x3\n"), "read_csv: a.csv:3:3: expected i32 for column 'year', found '20x3'; " + convert);
  EXPECT_EQ(error<dated>("name,year\n\"x\n\",2013\n\n\xC3\xA9,2 \n"),
            "read_csv: a.csv:5:3: expected i32 for column 'year', found '2 '; .trim = true drops the blanks");
  EXPECT_EQ(error<dated>("name,year\nx,3.0\n"),
            "read_csv: a.csv:2:3: expected i32 for column 'year', found '3.0'; make the field a double");
  EXPECT_EQ(error<dated>("name,year\nx,+-3\n"), "read_csv: a.csv:2:3: expected i32 for column 'year', found '+-3'; " + convert);
  EXPECT_EQ(error<dated>("name,year\nx,\"a\nb\"\n"),
            "read_csv: a.csv:2:3: expected i32 for column 'year', found 'a\\nb'; " + convert);
  EXPECT_EQ(error<dated>("name,Y\nx,?\n", {.columns = {{"year", "Y"}}}),
            "read_csv: a.csv:2:3: expected i32 for column 'Y', found '?'; " + null("?"));
  EXPECT_EQ(error<dated>("name,year\nx," + std::string(100, '9') + "z\n"),
            "read_csv: a.csv:2:3: expected i32 for column 'year', found '" + std::string(39, '9') + "…'; " + convert);
  EXPECT_EQ(error<small>("i,f,b\n1,1.5.2,t\n"), "read_csv: a.csv:2:3: expected f32 for column 'f', found '1.5.2'; " + convert);
  EXPECT_EQ(error<small>("i,f,b\n1,+-1,t\n"), "read_csv: a.csv:2:3: expected f32 for column 'f', found '+-1'; " + convert);
  EXPECT_EQ(error<small>("i,f,b\n1,1,yes\n"),
            "read_csv: a.csv:2:5: expected bool for column 'b', found 'yes'; a bool is true, false, t, f, 1 or 0: " + as_text);
  EXPECT_EQ(error<dated>("name,year\nx,2013-01-05\n"),
            "read_csv: a.csv:2:3: expected i32 for column 'year', found '2013-01-05'; " + convert);
  EXPECT_EQ(error<small>("i;f;b\n1;1,5;t\n", {.delimiter = ';'}),
            "read_csv: a.csv:2:3: expected f32 for column 'f', found '1,5'; " + convert);
  EXPECT_EQ(error<dated>("name,year\nx,2 x\n"), "read_csv: a.csv:2:3: expected i32 for column 'year', found '2 x'; " + convert);
  EXPECT_EQ(error<painted>("paint\nred\n"),
            "read_csv: a.csv:2:1: expected " + type_name(ir::describe<color>()) + " for column 'paint', found 'red'; "
            "an enum is an integer in a file: " + as_text);
}

TEST_F(csv_errors_test, a_char_is_one_letter) {
  EXPECT_EQ(error<flagged>("flag,n\nA,1\n"), "no error");
  EXPECT_EQ(error<flagged>("flag,n\nAB,1\n"),
            "read_csv: a.csv:2:1: expected char for column 'flag', found 'AB'; a char is one letter: read it as a std::string");
  EXPECT_EQ(error<flagged>("flag,n\n,1\n"),
            "read_csv: a.csv:2:1: a null in column 'flag', which is char: make the field std::optional to allow nulls");
}

TEST_F(csv_errors_test, overflow) {
  EXPECT_EQ(error<small>("i,f,b\n128,1,t\n"),
            "read_csv: a.csv:2:1: out of range of i8 for column 'i': '128'; make the field a std::int64_t");
  EXPECT_EQ(error<small>("i,f,b\n-129,1,t\n"),
            "read_csv: a.csv:2:1: out of range of i8 for column 'i': '-129'; make the field a std::int64_t");
  EXPECT_EQ(error<small>("i,f,b\n1,1e39,t\n"), "read_csv: a.csv:2:3: out of range of f32 for column 'f': '1e39'; make the field a double");
  EXPECT_EQ(error<std::uint64_t>("value\n18446744073709551616\n"),
            "read_csv: a.csv:2:1: out of range of u64 for column 'value': '18446744073709551616'; make the field a double");
  EXPECT_EQ(error<std::int32_t>("value\n99999999999\n"),
            "read_csv: a.csv:2:1: out of range of i32 for column 'value': '99999999999'; make the field a std::int64_t");
  EXPECT_EQ(error<std::int64_t>("value\n9999999999999999999\n"),
            "read_csv: a.csv:2:1: out of range of i64 for column 'value': '9999999999999999999'; make the field a std::uint64_t");
  EXPECT_EQ(error<double>("value\n1e400\n"),
            "read_csv: a.csv:2:1: out of range of f64 for column 'value': '1e400'; no type of numbers holds it: " + as_text);
  EXPECT_EQ(error<std::uint32_t>("value\n-1\n"),
            "read_csv: a.csv:2:1: expected u32 for column 'value', found '-1'; make the field a std::int64_t");
}

// Digits before the point, zeros behind it and the exponent make up for each other.
TEST_F(csv_errors_test, of_long_numbers_the_size_counts) {
  const std::string nines(400, '9'), zeros(400, '0');
  const std::vector<std::string> large = {nines, "-" + nines, nines + ".5", nines + "e-5", "1" + zeros + "e-50", "1e400", "+1e+400",
                                          "0.001e99999999999999999999", "0." + zeros + "1e800"};
  for (const std::string& number : large)
    EXPECT_NE(error<double>("value\n" + number + "\n").find("out of range of f64 for column 'value'"), std::string::npos) << number;
  const std::vector<std::string> tiny = {"0." + zeros + "1", "0." + zeros + "1e5", "." + zeros + "1E+50", "1" + zeros + "e-800",
                                         nines + "e-900", "1e-400", "123e-99999999999999999999", "0e" + nines, "0." + zeros + "e9"};
  for (const std::string& number : tiny)
    EXPECT_EQ(read<double>("value\n" + number + "\n-" + number + "\n"), (std::vector<double>{0, 0})) << number;
  EXPECT_EQ(read<double>("value\n1" + zeros + "e-400\n0." + zeros + "1e401\n"), (std::vector<double>{1, 1}));
  EXPECT_NE(error<small>("i,f,b\n1," + std::string(50, '9') + "e-5,t\n").find("out of range of f32"), std::string::npos);
}

TEST_F(csv_errors_test, nulls_need_an_optional) {
  EXPECT_EQ(error<dated>("name,year\nx,\n"),
            "read_csv: a.csv:2:3: a null in column 'year', which is i32: make the field std::optional to allow nulls");
  EXPECT_EQ(error<dated>("name,year\nNA,1\n", {.null_text = "NA"}),
            "read_csv: a.csv:2:1: a null in column 'name', which is string: make the field std::optional to allow nulls");
  EXPECT_EQ(error<dated>("name,year\nx,-999\n", {.null_text = "-999"}),
            "read_csv: a.csv:2:3: a null in column 'year', which is i32: make the field std::optional to allow nulls");
}

TEST_F(csv_errors_test, ragged_rows) {
  EXPECT_EQ(error<dated>("name,year\nx,1\n\nx\n"),
            "read_csv: a.csv:4:1: the line has 1 field, and the header has 2; "
            "add the missing ones (row 2 of the data: the header and blank "
            "lines do not count)");
  EXPECT_EQ(error<dated>("name,year\nx,1\nx,1,,\n"),
            "read_csv: a.csv:3:1: the line has 4 fields, and the header has 2; "
            "put a field that holds the delimiter in quotes (row 2 of the "
            "data: the header and blank lines do not count)");
  EXPECT_EQ(error<dated>("1,x\n2,y,z\n", {.header = false}),
            "read_csv: a.csv:2:1: the line has 3 fields, and the first line has 2; "
            "put a field that holds the delimiter in quotes (row 2 of "
            "the data: blank lines do not count)");
}

TEST_F(csv_errors_test, quotes) {
  const std::string stray =
      "a quote inside a field without quotes: put the field in quotes and double those inside, or set csv_options.quote = '\\0' "
      "to take quotes as text";
  const std::string never = ": close it, or set csv_options.quote = '\\0' to take quotes as text";
  EXPECT_EQ(error<dated>("name,year\nx,1\nx\"y,2\n"), "read_csv: a.csv:3:2: " + stray);
  EXPECT_EQ(error<dated>("name,year\nx,1\nx\"y,2\nz\"y,3\n"), "read_csv: a.csv:3:2: " + stray);
  EXPECT_EQ(error<dated>("name,year,z\nx,1,5\"\nx,1,6\"\n"), "read_csv: a.csv:2:6: " + stray);
  EXPECT_EQ(error<dated>("name,year\n\"ok\",1\n\"x,2\ny,3\n"), "read_csv: a.csv:3:1: the quote opened here is never closed" + never);
  EXPECT_EQ(error<dated>("name,year\n\"a\"\"b\",1\n \"x\",2\n  \"y,3\n", {.trim = true}),
            "read_csv: a.csv:4:3: the quote opened here is never closed" + never);
  EXPECT_EQ(error<dated>("name,\"year\nx,1\n"), "read_csv: a.csv:1:6: the quote opened here is never closed" + never);
  EXPECT_EQ(error<dated>("name,year\n\"x\"y,1\n"),
            "read_csv: a.csv:2:4: text after the closing quote of a field: a quote inside a quoted field is written twice");
}

TEST_F(csv_errors_test, headers) {
  const std::string named = "for a column of another name: .columns = {{\"year\", \"its name\"}}";
  EXPECT_EQ(error<dated>("name,yeer,\"a\nb\"\nx,1,2\n"), "read_csv: a.csv: no column 'year'; the file has: name, yeer, a\\nb; " + named);
  EXPECT_EQ(error<dated>("name,year\n", {.columns = {{"year", "Y"}}}),
            "read_csv: a.csv: no column 'Y' for field 'year'; the file has: name, year; " + named);
  EXPECT_EQ(error<dated>("name,year,name\n"), "read_csv: a.csv: the file has more than one column 'name'; rename one of them in the file");
  EXPECT_EQ(error<dated>("name,x\n", {.columns = {{"year", "name"}}}),
            "read_csv: a.csv: column 'name' is asked for by 'year' and 'name'; name another one in csv_options.columns");
  EXPECT_EQ(error<dated>(""), "read_csv: a.csv: the file is empty; expected a line with the columns' names: year, name");
  EXPECT_EQ(error<dated>("5\n", {.header = false}),
            "read_csv: a.csv:1:1: expected 2 columns, found 1: year, name; take the fields that the file does not have "
            "out of the record");
}

// Files that other programs wrote, read with the default options.
TEST_F(csv_errors_test, options_that_the_file_asks_for) {
  const auto other = [](const std::string& d) { return "the line seems to have another delimiter: .delimiter = '" + d + "'"; };
  EXPECT_EQ(error<dated>("year;name\n1;x\n"), "read_csv: a.csv: no column 'year'; the file has: year;name; " + other(";"));
  EXPECT_EQ(error<dated>("name\tyear\r\nx\t1\r\n"), "read_csv: a.csv: no column 'year'; the file has: name\\tyear; " + other("\\t"));
  EXPECT_EQ(error<dated>("name | year\nx | 1\n"), "read_csv: a.csv: no column 'year'; the file has: name | year; " + other("|"));
  EXPECT_EQ(error<dated>("\"name, of it\";year;name\n"),
            "read_csv: a.csv:1:14: text after the closing quote of a field: a quote inside a quoted field is written twice; " + other(";"));
  EXPECT_EQ(error<dated>("year,name\n1,x\n", {.delimiter = ';'}),
            "read_csv: a.csv: no column 'year'; the file has: year,name; " + other(","));
  EXPECT_EQ(error<dated>("year, name\n1, x\n"),
            "read_csv: a.csv: no column 'name'; the file has: year,  name; blanks are part of a name: .trim = true drops them");
  EXPECT_EQ(error<dated>("2013,x\n"),
            "read_csv: a.csv: no column 'year'; the file has: 2013, x; if the first line holds no names: .header = false");
  EXPECT_EQ(error<dated>("1;x\n", {.header = false}), "read_csv: a.csv:1:1: expected 2 columns, found 1: year, name; " + other(";"));
}

TEST_F(csv_errors_test, rows_that_csv_cannot_hold) {
  EXPECT_EQ(error<listed>("a,values\n"),
            "read_csv: a column of a CSV file cannot hold a list: field 'values' is list<i32>; "
            "use a std::array, or one row for each element (select_many)");
  EXPECT_EQ(error<deep>("a\n"),
            "read_csv: a column of a CSV file holds a number, a bool, an enum or a string, or std::optional of those: field 'a' is "
            "optional<optional<i32>>");
  EXPECT_EQ(error<std::tuple<>>("a\n"), "read_csv: the row type has no columns: tuple");
}

TEST_F(csv_errors_test, options_that_contradict_each_other) {
  EXPECT_EQ(error<dated>("", {.delimiter = '.'}),
            "read_csv: csv_options.delimiter must not be a line end, a letter, a digit or one of . + -");
  EXPECT_EQ(error<dated>("", {.quote = '\n'}), "read_csv: csv_options.quote must not be a line end, a letter, a digit or one of . + -");
  EXPECT_EQ(error<dated>("", {.delimiter = '"'}), "read_csv: csv_options.quote and .delimiter are the same character");
  EXPECT_EQ(error<dated>("", {.delimiter = ' ', .trim = true}),
            "read_csv: csv_options.trim drops blanks and tabs: .delimiter and .quote must be neither");
  EXPECT_EQ(error<dated>("", {.null_text = "a,b"}), "read_csv: csv_options.null_text must not hold the delimiter, the quote or a line end");
  EXPECT_EQ(error<dated>("", {.null_text = " -", .trim = true}),
            "read_csv: csv_options.null_text starts or ends with blanks, which .trim drops");
  EXPECT_EQ(error<dated>("", {.header = false, .columns = {{"year", "y"}}}),
            "read_csv: csv_options.columns names columns of a header, and .header is false");
  EXPECT_EQ(error<dated>("", {.columns = {{"yeer", "y"}}}), "read_csv: csv_options.columns names a field that dated does not have: 'yeer'");
}

TEST_F(csv_errors_test, files_that_cannot_be_read) {
  const auto open = [&](const std::string& name) { return error_of([&] { csv_file(path(name), {}, ir::describe<dated>()); }); };
  EXPECT_EQ(open("none.csv"), "read_csv: cannot read the file: none.csv: No such file or directory");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(open("folder"), "read_csv: cannot read the file: folder: Is a directory");
  file("", "secret.csv");
  std::filesystem::permissions(path("secret.csv"), std::filesystem::perms::none);
  if (::geteuid() != 0) {
    EXPECT_EQ(open("secret.csv"), "read_csv: cannot read the file: secret.csv: Permission denied");
  }
}

TEST_F(csv_errors_test, files_that_are_no_csv) {
  EXPECT_EQ(error<dated>("\xFF\xFEn"), "read_csv: a.csv: it is UTF-16 text: save it as UTF-8");
  EXPECT_EQ(error<dated>("\xFD" "7zXZ"), "read_csv: a.csv: it is compressed (xz): unpack it first");
  EXPECT_EQ(error<dated>("PK\x03\x04"), "read_csv: a.csv: it is a zip archive or a spreadsheet: save it as text");
}

TEST_F(csv_errors_test, the_first_error_in_the_file_is_reported_whatever_the_order_of_the_tasks) {
  std::string text = "name,year\n";
  for (int i = 0; i < 100; ++i)
    text += i == 30 || i == 70 ? "x,bad" + std::to_string(i) + "\n" : "a string that is too long to be kept inside,1\n";
  csv_file f(file(text), {}, ir::describe<dated>(), 64);
  f.index(serially);
  ASSERT_GT(f.chunks(), 20u);
  std::allocator<dated> memory;
  dated* rows = memory.allocate(f.rows());
  const auto backwards = [](std::size_t n, function_ref<void(std::size_t)> task) {
    while (n > 0) task(--n);
  };
  EXPECT_EQ(error_of([&] { f.read(backwards, {}, rows); }),
            "read_csv: a.csv:32:3: expected i32 for column 'year', found 'bad30'; " + convert);
  memory.deallocate(rows, f.rows());
}

}  // namespace query::data
