#include "data/csv_cursor.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace query::data {
namespace {

std::vector<std::size_t> separators(const std::string& text, char quote) {
  separator_cursor cursor(text.data(), text.data() + text.size(), ',', quote);
  std::vector<std::size_t> found;
  for (const char* p; (p = cursor.next()) != text.data() + text.size();) found.push_back(static_cast<std::size_t>(p - text.data()));
  EXPECT_EQ(cursor.next(), text.data() + text.size()) << "the end is final";
  return found;
}

std::vector<std::size_t> separators_byte_by_byte(const std::string& text, char quote) {
  std::vector<std::size_t> found;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == quote && quote != '\0') quoted = !quoted;
    else if (!quoted && (text[i] == ',' || text[i] == '\n')) found.push_back(i);
  }
  return found;
}

TEST(csv_cursor_test, finds_what_a_byte_by_byte_scan_finds) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    std::string text(random() % 300, 'x');
    const auto rare = 1 + random() % 40;
    for (char& c : text)
      if (random() % rare == 0) c = "\",\n\0z"[random() % 5];
    EXPECT_EQ(separators(text, '"'), separators_byte_by_byte(text, '"')) << "seed 7, round " << round;
    EXPECT_EQ(separators(text, '\0'), separators_byte_by_byte(text, '\0')) << "seed 7, round " << round;
  }
}

TEST(csv_cursor_test, block_masks_tell_bytes_apart) {
  std::string text(64, 'a');
  text[0] = text[63] = text[17] = ',';
  text[18] = ',' ^ '\x80';
  text[19] = ',' + 1;
  EXPECT_EQ(text_block(text.data()).equal(','), std::uint64_t{1} | std::uint64_t{1} << 63 | std::uint64_t{1} << 17);
}

TEST(csv_cursor_test, counts_records_with_and_without_blank_lines) {
  const auto count = [](const std::string& text, bool blank) { return count_records(text.data(), text.data() + text.size(), '"', blank); };
  for (const std::size_t before : {0, 1, 5, 61, 62, 63, 64, 65}) {  // the interesting bytes at every place of a block
    const std::string x(before, 'x');
    const std::size_t first = before == 0 ? 0 : 1;
    EXPECT_EQ(count(x + "\n\n\r\ny\r\n", true), 4u) << before;
    EXPECT_EQ(count(x + "\n\n\r\ny\r\n", false), first + 1) << before;
    EXPECT_EQ(count(x + "\n\r\n\r\ny", false), first + 1) << before;
    EXPECT_EQ(count(x + "\n\"\n\n\"\n\r", false), first + 1) << before;
  }
  EXPECT_EQ(count("", false), 0u);
  EXPECT_EQ(count("\r", false), 0u);
}

}  // namespace
}  // namespace query::data
