// CSV files read block by block, as readers that may stop early do.
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "data/csv_fixture.hpp"

namespace query::data {

struct numbered_line { std::int32_t id; std::string text; };
QUERY_RECORD(numbered_line, id, text);

namespace {

class csv_blocks_test : public csv_test {
 protected:
  // The rows in front of what is wrong: so many as are wanted, and what else their last block holds.
  template <class T> struct prefix {
    std::vector<T> rows;
    std::string error;
    std::size_t blocks = 0;
  };
  template <class T>
  prefix<T> first(std::string_view text, std::size_t block_bytes, std::size_t rows_wanted = ~std::size_t{0}, csv_options options = {},
                  std::size_t chunk_bytes = csv_file::default_chunk_bytes) const {
    prefix<T> p;
    p.error = error_of([&] {
      csv_file f(file(text), std::move(options), ir::describe<T>(), chunk_bytes);
      while (p.rows.size() < rows_wanted && f.index_block(serially, block_bytes)) {
        ++p.blocks;
        std::allocator<T> memory;
        T* rows = memory.allocate(f.rows());
        std::exception_ptr wrong;
        const std::size_t n = f.read_until_wrong(serially, {}, rows, wrong);
        p.rows.insert(p.rows.end(), std::make_move_iterator(rows), std::make_move_iterator(rows + n));
        std::destroy_n(rows, n);
        memory.deallocate(rows, f.rows());
        if (wrong) std::rethrow_exception(wrong);
      }
    });
    return p;
  }
};

std::string numbered(int n, int wrong = -1) {
  std::string text = "\xEF\xBB\xBFtext,more,id\r\n";
  for (int i = 0; i < n; ++i)
    text += (i % 7 == 0 ? "\"a\r\n,\"\"\n" + std::string(static_cast<std::size_t>(i), 'z') + "\"" : "plain") + ",," +
            (i == wrong ? "bad" : std::to_string(i)) + "\r\n" + (i % 11 == 0 ? "\r\n" : "");
  return text;
}

TEST_F(csv_blocks_test, blocks_add_up_whatever_their_size) {
  const std::string text = numbered(200);
  const auto expected = read<numbered_line>(text);
  for (const std::size_t block : {1, 2, 3, 7, 16, 63, 64, 65, 100, 1000, 100000})
    for (const std::size_t chunk : {1, 10, 1000}) {
      const auto got = first<numbered_line>(text, block, ~std::size_t{0}, {}, chunk);
      EXPECT_EQ(got.error, "no error");
      ASSERT_EQ(got.rows.size(), 200u) << block << ", " << chunk;
      for (std::size_t i = 0; i < 200; ++i) {
        ASSERT_EQ(got.rows[i].id, static_cast<int>(i)) << block << ", " << chunk;
        ASSERT_EQ(got.rows[i].text, expected[i].text) << block << ", " << chunk;
      }
      EXPECT_GE(got.blocks, block == 1 ? 100u : 1u);
    }
}

TEST_F(csv_blocks_test, without_header_the_first_record_is_the_first_row) {
  const auto got = first<numbered_line>("1,\"x\ny\"\n2,z", 1, 2, {.header = false});
  ASSERT_EQ(got.rows.size(), 2u);
  EXPECT_EQ(got.rows[0].text, "x\ny");
  EXPECT_EQ(got.rows[1].id, 2);
  EXPECT_EQ(first<numbered_line>("id,text\n\n", 1).blocks, 1u);
  EXPECT_EQ(first<numbered_line>("id,text\n", 1).blocks, 0u);
}

TEST_F(csv_blocks_test, nothing_behind_the_last_block_is_looked_at) {
  const std::string text = numbered(200, 150) + "\"never closed";
  const auto got = first<numbered_line>(text, 256, 20);
  EXPECT_EQ(got.error, "no error");
  EXPECT_GE(got.rows.size(), 20u);
  EXPECT_LT(got.rows.size(), 40u);
}

TEST_F(csv_blocks_test, rows_in_front_of_a_wrong_one_are_given_and_its_error_is_that_of_the_whole_file) {
  const std::string text = numbered(200, 150);
  const std::string expected = error<numbered_line>(text);
  EXPECT_NE(expected.find("expected i32 for column 'id', found 'bad'"), std::string::npos) << expected;
  const std::string ragged = numbered(150) + "x\n1,2,3\n", width = error<numbered_line>(ragged);
  EXPECT_NE(width.find("the line has 1 field, and the header has 3; "
            "add the missing ones (row 151 of the data"), std::string::npos) << width;
  for (const std::size_t block : {1, 100, 5000, 1000000})
    for (const std::size_t chunk : {10, 1000, 1000000}) {
      const auto value = first<numbered_line>(text, block, ~std::size_t{0}, {}, chunk);
      EXPECT_EQ(value.error, expected);
      EXPECT_EQ(value.rows.size(), 150u) << block << ", " << chunk;
      const auto fields = first<numbered_line>(ragged, block, ~std::size_t{0}, {}, chunk);
      EXPECT_EQ(fields.error, width);
      EXPECT_EQ(fields.rows.size(), 150u) << block << ", " << chunk;
    }
}

TEST_F(csv_blocks_test, a_quote_that_is_never_closed_is_met_behind_the_rows_in_front_of_it) {
  const std::string text = numbered(50) + "\"open,,1\r\nplain,,2\r\n";
  const std::string expected = error<numbered_line>(text);
  EXPECT_NE(expected.find("never closed"), std::string::npos) << expected;
  for (const std::size_t block : {1, 100, 100000}) {
    const auto got = first<numbered_line>(text, block);
    EXPECT_EQ(got.error, expected);
    EXPECT_EQ(got.rows.size(), 50u) << block;
  }
}

// What is mapped is gone then, or other than the rows before.
TEST_F(csv_blocks_test, a_file_that_is_changed_while_it_is_read_is_an_error) {
  const std::string text = numbered(200);
  for (const std::string& now : {numbered(3), std::string(text.size(), 'x')}) {
    csv_file f(file(text), {}, ir::describe<numbered_line>());
    ASSERT_TRUE(f.index_block(serially, 100));
    std::ofstream(path(), std::ios::binary) << now;
    std::filesystem::last_write_time(path(), std::filesystem::last_write_time(path()) + std::chrono::seconds(1));  // clocks are coarse
    const std::string error = error_of([&] { f.index_block(serially, 100); });
    EXPECT_NE(error.find("it was changed while it was read"), std::string::npos) << error;
  }
  csv_file f(file(text), {}, ir::describe<numbered_line>());
  ASSERT_TRUE(f.index_block(serially, 100));
  std::ofstream(path(), std::ios::binary | std::ios::app) << "more,,1\r\n";  // as logs grow
  EXPECT_TRUE(f.index_block(serially, 100));
  file("");  // another file of its name
  EXPECT_TRUE(f.index_block(serially, 100));
}

// Any bytes at all: the rows and the error of the whole file, but that an odd quote does not come before what is wrong in front of it.
TEST_F(csv_blocks_test, arbitrary_text_reads_the_same_in_blocks_of_any_size) {
  static constexpr const char* pieces[] = {"1", "x", "\"", "\"\"", ",", "\n", "\r\n", "\r", "\n\n", " ", "\"a\nb\"", "5,y\n", ""};
  std::mt19937_64 random;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    random.seed(seed);
    std::string text = "i8,s\n";
    for (std::uint64_t n = random() % 30; n > 0; --n) text += pieces[random() % std::size(pieces)];
    using row_type = std::pair<std::optional<int>, std::string>;
    const csv_options o{.trim = random() % 2 == 0, .columns = {{"first", "i8"}, {"second", "s"}}};
    std::vector<row_type> whole;
    const std::string error = error_of([&] { whole = read<row_type>(text, o); });
    const auto got = first<row_type>(text, 1 + random() % 40, ~std::size_t{0}, o, 1 + random() % 20);
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    if (std::count(text.begin(), text.end(), '"') % 2 == 0) {
      EXPECT_EQ(got.error, error);
    }
    EXPECT_EQ(got.error == "no error", error == "no error");
    if (error == "no error") {
      EXPECT_EQ(got.rows, whole);
    }
  }
}

}  // namespace
}  // namespace query::data
