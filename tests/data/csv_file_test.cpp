#include "data/csv_file.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "data/csv_fixture.hpp"

namespace query::data {

enum class color : std::uint8_t { red, green = 7 };
struct one { std::int32_t a; };
QUERY_RECORD(one, a);
struct pair_row { std::int32_t a; std::string b; };
QUERY_RECORD(pair_row, a, b);
struct maybe { std::optional<std::int32_t> a; std::optional<std::string> b; };
QUERY_RECORD(maybe, a, b);
struct lone { std::optional<std::int32_t> a; };
QUERY_RECORD(lone, a);
struct text_row { std::string s; };
QUERY_RECORD(text_row, s);
struct point { double x, y; };
QUERY_RECORD(point, x, y);
struct shot { point at; std::array<std::int16_t, 2> hits; };
QUERY_RECORD(shot, at, hits);
struct scalars { std::int8_t i8; std::uint8_t u8; std::int64_t i64; std::uint64_t u64; float f32; double f64; bool b; color c; };
QUERY_RECORD(scalars, i8, u8, i64, u64, f32, f64, b, c);

class csv_file_test : public csv_test {
 protected:
  template <class T, class M> std::vector<M> column(std::string_view text, M T::*member, csv_options options = {}) const {
    std::vector<M> values;
    for (T& row : this->read<T>(text, std::move(options))) values.push_back(row.*member);
    return values;
  }
};
using ints = std::vector<std::int32_t>;
using strings = std::vector<std::string>;

TEST_F(csv_file_test, columns_are_matched_by_name_in_any_order_and_others_are_ignored) {
  const auto rows = read<pair_row>("x,b,y,a\n9,hello,9,1\n9,world,9,2\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].a, 1);
  EXPECT_EQ(rows[1].b, "world");
}

TEST_F(csv_file_test, columns_may_have_other_names_than_fields) {
  EXPECT_EQ(column("the a,b\n5,x\n", &pair_row::a, {.columns = {{"a", "the a"}}}), ints{5});
}

TEST_F(csv_file_test, without_header_columns_go_by_position) {
  EXPECT_EQ(column("1,x,more\n2,y,more\n", &pair_row::a, {.header = false}), (ints{1, 2}));
}

TEST_F(csv_file_test, every_scalar_type_is_read_at_its_limits) {
  const auto rows = read<scalars>(
      "i8,u8,i64,u64,f32,f64,b,c\n"
      "-128,255,-9223372036854775808,18446744073709551615,1.5,+2.5e-3,TRUE,7\n"
      "+127,0,9223372036854775807,0,inf,nan,f,0\n"
      "007,1,0,00000000000000000000001,-inf,1e-400,1,0\n");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].i8, -128);
  EXPECT_EQ(rows[0].u8, 255);
  EXPECT_EQ(rows[0].i64, std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(rows[0].u64, std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(rows[0].f32, 1.5f);
  EXPECT_EQ(rows[0].f64, 0.0025);
  EXPECT_TRUE(rows[0].b);
  EXPECT_EQ(rows[0].c, color::green);
  EXPECT_EQ(rows[1].i8, 127);
  EXPECT_EQ(rows[1].f32, std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(rows[1].f64));
  EXPECT_FALSE(rows[1].b);
  EXPECT_EQ(rows[2].i8, 7);
  EXPECT_EQ(rows[2].u64, 1u);
  EXPECT_EQ(rows[2].f64, 0.0);
}

TEST_F(csv_file_test, nested_records_and_arrays_are_columns_of_their_own) {
  const auto rows = read<shot>("at.y,at.x,hits_1,hits_0\n2,1,4,3\n");
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].at.x, 1);
  EXPECT_EQ(rows[0].at.y, 2);
  EXPECT_EQ(rows[0].hits, (std::array<std::int16_t, 2>{3, 4}));
}

TEST_F(csv_file_test, a_row_that_is_no_record_is_the_column_value) {
  EXPECT_EQ(read<double>("value\n1.5\n2\n"), (std::vector<double>{1.5, 2}));
}

TEST_F(csv_file_test, empty_fields_and_null_text_are_nulls_unless_quoted) {
  const auto rows = read<maybe>("a,b\n,\n1,\"\"\nNA,NA\n\"\",\"NA\"\n\"NA\",x\n", {.null_text = "NA"});
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].a, std::nullopt);
  EXPECT_EQ(rows[0].b, std::nullopt);
  EXPECT_EQ(rows[1].a, 1);
  EXPECT_EQ(rows[1].b, "");
  EXPECT_EQ(rows[2].a, std::nullopt);
  EXPECT_EQ(rows[2].b, std::nullopt);
  EXPECT_EQ(rows[3].a, std::nullopt);
  EXPECT_EQ(rows[3].b, "NA");
  EXPECT_EQ(rows[4].a, std::nullopt);
}

TEST_F(csv_file_test, quoted_fields_hold_separators_line_ends_and_doubled_quotes) {
  EXPECT_EQ(column("a,b\n1,\"x,\"\"y\"\"\r\nz\"\n2,\"\"\"\"\n3,\"\"\n", &pair_row::b), (strings{"x,\"y\"\r\nz", "\"", ""}));
}

TEST_F(csv_file_test, quotes_may_be_text) {
  EXPECT_EQ(column("a,b\n1,5\" pipe\n", &pair_row::b, {.quote = '\0'}), strings{"5\" pipe"});
  EXPECT_EQ(column("a;b\n'1';'x''y;'\n", &pair_row::b, {.delimiter = ';', .quote = '\''}), strings{"x'y;"});
}

TEST_F(csv_file_test, line_ends_may_be_crlf_and_the_last_one_missing) {
  EXPECT_EQ(column("a,b\r\n1,x\r\n2,y", &pair_row::b), (strings{"x", "y"}));
  EXPECT_EQ(column("a,b\n1,x\n2,", &pair_row::b), (strings{"x", ""}));
}

TEST_F(csv_file_test, a_byte_order_mark_is_skipped) {
  EXPECT_EQ(column("\xEF\xBB\xBF" "a,b\n1,x\n", &pair_row::a), ints{1});
  EXPECT_EQ(column("\xEF\xBB\xBF" "1,x\n", &pair_row::a, {.header = false}), ints{1});
}

TEST_F(csv_file_test, blank_lines_are_skipped) {
  EXPECT_EQ(column("\n\r\na,b\n\n1,x\n\r\n2,y\n\n\r\n\r", &pair_row::a), (ints{1, 2}));
  EXPECT_EQ(column("a\n1\n\n2\n\n", &one::a), (ints{1, 2}));
}

TEST_F(csv_file_test, a_blank_line_is_a_null_of_an_optional_that_is_the_only_column) {
  EXPECT_EQ(column("a\n1\n\n3\n\n", &lone::a), (std::vector<std::optional<std::int32_t>>{1, {}, 3, {}}));
  EXPECT_EQ(column("a,b\n1,\n\n3,\n\n", &lone::a), (std::vector<std::optional<std::int32_t>>{1, 3}));
}

TEST_F(csv_file_test, blanks_are_kept_unless_trimmed) {
  EXPECT_EQ(column("a,b\n1, x \n", &pair_row::b), strings{" x "});
  EXPECT_EQ(column(" a ,\tb\n 1 , x y\t\n2, \" z \" \n", &pair_row::b, {.trim = true}), (strings{"x y", " z "}));
}

TEST_F(csv_file_test, empty_file_has_no_rows_without_header) {
  EXPECT_TRUE(read<pair_row>("", {.header = false}).empty());
  EXPECT_TRUE(read<pair_row>("\n\n", {.header = false}).empty());
  EXPECT_TRUE(read<pair_row>("\xEF\xBB\xBF", {.header = false}).empty());
}

TEST_F(csv_file_test, a_header_alone_has_no_rows) {
  EXPECT_TRUE(read<pair_row>("a,b").empty());
  EXPECT_TRUE(read<pair_row>("a,b\r\n").empty());
}

TEST_F(csv_file_test, unwanted_fields_stay_value_initialised_and_are_not_converted) {
  csv_file f(file("a,b\nwrong,x\nwrong,y\n"), {}, ir::describe<pair_row>());
  const bool wanted[] = {false, true};
  const auto rows = rows_of<pair_row>(f, wanted);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].a, 0);
  EXPECT_EQ(rows[1].b, "y");
}

TEST_F(csv_file_test, a_wanted_record_takes_all_its_columns) {
  csv_file f(file("at.x,at.y,hits_0,hits_1\n1,2,3,4\n"), {}, ir::describe<shot>());
  const bool wanted[] = {true, false};
  const auto rows = rows_of<shot>(f, wanted);
  EXPECT_EQ(rows[0].at.y, 2);
  EXPECT_EQ(rows[0].hits[1], 0);
}

TEST_F(csv_file_test, chunks_add_up_whatever_their_size) {
  std::string text = "a,b\n";
  for (int i = 0; i < 200; ++i)
    text += std::to_string(i) + (i % 7 == 0 ? ",\"x\n,\"\"\n" + std::string(static_cast<std::size_t>(i), 'z') + "\"\r\n" : ",plain\n") +
            (i % 11 == 0 ? "\n" : "");
  const strings expected = column(text, &pair_row::b);
  ASSERT_EQ(expected.size(), 200u);
  for (const std::size_t chunk_bytes : {1, 2, 3, 7, 16, 63, 64, 65, 100, 1000, 100000}) {
    csv_file f(file(text), {}, ir::describe<pair_row>(), chunk_bytes);
    const auto rows = rows_of<pair_row>(f);
    ASSERT_EQ(rows.size(), 200u) << chunk_bytes;
    std::size_t first = 0;
    for (std::size_t c = 0; c < f.chunks(); first += f.rows_in(c), ++c) ASSERT_EQ(f.first_row(c), first);
    for (int i = 0; i < 200; ++i) {
      ASSERT_EQ(rows[static_cast<std::size_t>(i)].a, i) << chunk_bytes;
      ASSERT_EQ(rows[static_cast<std::size_t>(i)].b, expected[static_cast<std::size_t>(i)]) << chunk_bytes;
    }
  }
}

TEST_F(csv_file_test, a_pipe_is_read_whole) {
  const std::string name = path("pipe");
  file("a\n4\n");
  ASSERT_EQ(std::system(("mkfifo " + name + " && (cat " + path() + " > " + name + " &)").c_str()), 0);
  csv_file f(name, {}, ir::describe<one>());
  EXPECT_EQ(rows_of<one>(f)[0].a, 4);
}

TEST_F(csv_file_test, a_failing_scheduler_leaves_nothing_constructed) {
  std::string text = "a,b\n";
  for (int i = 0; i < 50; ++i) text += std::to_string(i) + ",a string that is too long to be kept inside\n";
  csv_file f(file(text), {}, ir::describe<pair_row>(), 100);
  f.index(serially);
  std::allocator<pair_row> memory;
  pair_row* rows = memory.allocate(f.rows());
  const auto stops = [](std::size_t n, function_ref<void(std::size_t)> task) {
    for (std::size_t i = 0; i < n / 2; ++i) task(i);
    throw cancelled("stopped");
  };
  EXPECT_THROW(f.read(stops, {}, rows), cancelled);  // leaks, if any, are the leak sanitizer's to find
  memory.deallocate(rows, f.rows());
}

}  // namespace query::data
