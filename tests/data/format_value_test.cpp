#include "data/format_value.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include <query/record.hpp>

namespace query::data {

struct spot { double x; std::optional<std::int32_t> n; };
QUERY_RECORD(spot, x, n);
struct named_spot { std::string name; spot at; std::array<float, 2> size; std::vector<int> seen; };
QUERY_RECORD(named_spot, name, at, size, seen);
struct hidden { explicit hidden(int) {} };

template <class T> std::string text(const T& value, int digits = 6) { return format_value(ir::describe<T>(), &value, digits); }

TEST(format_value_test, scalars_are_bare) {
  EXPECT_EQ(text(-5), "-5");
  EXPECT_EQ(text(std::uint64_t{18446744073709551615u}), "18446744073709551615");
  EXPECT_EQ(text(true), "true");
  EXPECT_EQ(text(std::string("a \"b\"")), "a \"b\"");
  EXPECT_EQ(text(std::optional<int>{}), "null");
  EXPECT_EQ(text(std::optional<std::string>("x")), "x");
}

TEST(format_value_test, a_char_is_its_letter_and_other_bytes_are_numbers) {
  EXPECT_EQ(text('A'), "A");
  EXPECT_EQ(text('\n'), "\\n");
  EXPECT_EQ(text(std::optional('z')), "z");
  EXPECT_EQ(text(std::pair('A', std::int8_t{65})), "{first: 'A', second: 65}");
  EXPECT_EQ(text(static_cast<unsigned char>('A')), "65");
}

TEST(format_value_test, floats_have_six_digits_and_no_zeros_at_the_end) {
  EXPECT_EQ(text(0.5), "0.5");
  EXPECT_EQ(text(1.0 / 3), "0.333333");
  EXPECT_EQ(text(1.0 / 3, 3), "0.333");
  EXPECT_EQ(text(1e300), "1e+300");
  EXPECT_EQ(text(0.1f), "0.1");
  EXPECT_EQ(text(std::numeric_limits<double>::quiet_NaN()), "nan");
  EXPECT_EQ(text(-std::numeric_limits<double>::infinity()), "-inf");
}

TEST(format_value_test, records_arrays_and_lists_nest) {
  EXPECT_EQ(text(named_spot{"a\"\n", {1.5, std::nullopt}, {1, 2}, {7, 8}}),
            "{name: \"a\\\"\\n\", at: {x: 1.5, n: null}, size: [1, 2], seen: [7, 8]}");
  EXPECT_EQ(text(std::pair<int, std::string>(1, "x")), "{first: 1, second: \"x\"}");
  EXPECT_EQ(text(std::vector<int>{}), "[]");
  EXPECT_EQ(text(std::vector<int>(1020, 1)), "[1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, … 1,004 more]");
  EXPECT_EQ(text(hidden(1)), "<opaque>");
}

TEST(format_value_test, control_characters_and_broken_utf8_are_made_visible) {
  EXPECT_EQ(printable("a\n\t\r\x1b\x7f"), "a\\n\\t\\r\\x1b\\x7f");
  EXPECT_EQ(printable("caf\xC3\xA9 \xF0\x9F\x98\x80"), "caf\xC3\xA9 \xF0\x9F\x98\x80");
  EXPECT_EQ(printable("\xC3(\xFF\xED\xA0\x80\xC0\xAF"), "\uFFFD(\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(printable("\xE2\x82"), "\uFFFD\uFFFD");
}

TEST(format_value_test, text_is_cut_by_code_points) {
  EXPECT_EQ(cut_text("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_text("abcdef", 5), "abcd…");
  EXPECT_EQ(cut_text("ééééé", 3), "éé…");
  EXPECT_EQ(cut_text("abc", 1), "…");
  EXPECT_EQ(cut_text("abc", 0), "");
  EXPECT_EQ(code_points("é…x"), 3u);
}

TEST(format_value_test, counts_have_thousands_apart) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(1000), "1,000");
  EXPECT_EQ(format_count(336766), "336,766");
  EXPECT_EQ(format_count(1234567890), "1,234,567,890");
}

}  // namespace query::data
