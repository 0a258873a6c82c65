#include "data/display_width.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include <query/record.hpp>

#include "data/table_print.hpp"

namespace query::data {

struct town { std::string name; int people; };
QUERY_RECORD(town, name, people);

TEST(display_width, counts_columns_of_a_terminal) {
  EXPECT_EQ(display_width(""), 0u);
  EXPECT_EQ(display_width("abc"), 3u);
  EXPECT_EQ(display_width("Łódź…"), 5u);
  EXPECT_EQ(display_width("東京"), 4u);
  EXPECT_EQ(display_width("서울 ﾜｲ"), 7u);   // half-width kana are narrow
  EXPECT_EQ(display_width("e\u0301"), 1u);    // combining acute
  EXPECT_EQ(display_width("🙂"), 2u);
  EXPECT_EQ(display_width("𠮷"), 2u);
}

TEST(display_width, cuts_between_characters) {
  EXPECT_EQ(cut_to_width("abcdef", 6), "abcdef");
  EXPECT_EQ(cut_to_width("abcdef", 5), "abcd…");
  EXPECT_EQ(cut_to_width("東京都", 6), "東京都");
  EXPECT_EQ(cut_to_width("東京都", 5), "東京…");
  EXPECT_EQ(cut_to_width("東京都", 4), "東…");
  EXPECT_EQ(cut_to_width("東", 1), "…");
  EXPECT_EQ(cut_to_width("東", 0), "");
}

TEST(display_width, aligns_the_lines_of_a_table) {
  const std::vector<town> towns{{"東京", 1}, {"Bergen", 2}, {"서울특별시", 3}};
  std::istringstream lines(print_table(ir::describe<town>(), towns.data(), towns.size(), towns.size(), {}));
  std::string line;
  std::getline(lines, line);
  const std::size_t width = display_width(line);
  while (std::getline(lines, line)) EXPECT_EQ(display_width(line), width) << line;
}

}  // namespace query::data
