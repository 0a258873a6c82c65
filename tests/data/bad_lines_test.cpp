// Lines that are left out of CSV files, and where they are found.
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "data/csv_fixture.hpp"

namespace query::data {

struct priced { std::int32_t id; std::string name; std::optional<double> price; };
QUERY_RECORD(priced, id, name, price);
inline bool operator==(const priced& a, const priced& b) { return a.id == b.id && a.name == b.name && a.price == b.price; }

namespace {

class bad_lines_test : public csv_test {
 protected:
  static query::Session session(int threads) { return query::Session({.threads = threads, .gpu = query::gpu_use::off}); }
  static csv_options collecting(const rejected_lines& to) { return {.on_error = bad_lines::collect, .rejected = to}; }
};

TEST_F(bad_lines_test, are_left_out) {
  file("id,name,price\n1,a,2\nx,b,3\n4,c\n5,d,6,7\n8,\"e\"x,9\n10,f,\n");
  const std::vector<priced> expected = {{1, "a", 2.0}, {10, "f", std::nullopt}};
  const auto q = read_csv<priced>(path(), {.on_error = bad_lines::skip});
  EXPECT_EQ(q.to_vector(), expected);
  EXPECT_EQ(q.count(), 2);
  EXPECT_EQ(q.sum([](auto r) { return r.id; }), 11);
  EXPECT_EQ(q.skip(1).first().id, 10);
}

TEST_F(bad_lines_test, are_collected_with_line_column_text_and_reason) {
  file("id,name,price\n1,a,2\n\"x\",b,3\n\n4,c\n\"5\n\",d,6\n8,e,9,0\r\n99999999999,g,1\n10,f,nil\n");
  const rejected_lines rejected;
  EXPECT_EQ(read_csv<priced>(path(), collecting(rejected)).to_vector(), (std::vector<priced>{{1, "a", 2.0}}));
  EXPECT_EQ(rejected.count(), 6u);
  const auto lines = rejected.lines();
  ASSERT_EQ(lines.size(), 6u);
  for (const rejected_line& l : lines) EXPECT_EQ(l.file, path());
  const auto expect = [&](std::size_t i, std::uint64_t line, const char* column, const char* text, const char* reason) {
    EXPECT_EQ(lines[i].line, line);
    EXPECT_EQ(lines[i].column, column);
    EXPECT_EQ(lines[i].text, text);
    EXPECT_NE(lines[i].reason.find(reason), std::string::npos) << lines[i].reason;
  };
  expect(0, 3, "id", "\"x\",b,3", "expected i32 for column 'id', found 'x'");
  expect(1, 5, "", "4,c", "the line has 2 fields, and the header has 3");
  expect(2, 6, "id", "\"5\n\",d,6", "expected i32 for column 'id'");
  expect(3, 8, "", "8,e,9,0", "the line has 4 fields");
  expect(4, 9, "id", "99999999999,g,1", "out of range of i32");
  expect(5, 10, "price", "10,f,nil", "expected f64 for column 'price', found 'nil'");
}

TEST_F(bad_lines_test, are_only_counted_beyond_the_limit) {
  std::string text = "id,name,price\n";
  for (int i = 0; i < 100'000; ++i) text += (i % 2 ? "x" : std::to_string(i)) + ",n,1\n";
  file(text);
  const rejected_lines rejected(3);
  EXPECT_EQ(read_csv<priced>(path(), collecting(rejected)).count(), 50'000);
  EXPECT_EQ(rejected.count(), 50'000u);
  const auto lines = rejected.lines();
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0].line, 3u);
  EXPECT_EQ(lines[2].line, 7u);
  const rejected_lines none(0);
  EXPECT_EQ(read_csv<priced>(path(), collecting(none)).count(), 50'000);
  EXPECT_EQ(none.count(), 50'000u);
  EXPECT_TRUE(none.lines().empty());
}

TEST_F(bad_lines_test, are_those_of_the_last_run) {
  const rejected_lines rejected;
  const auto q = read_csv<priced>(path(), collecting(rejected));
  file("id,name,price\nx,a,1\ny,a,1\n");
  EXPECT_EQ(q.count(), 0);
  EXPECT_EQ(rejected.count(), 2u);
  file("id,name,price\n1,a,1\n");
  EXPECT_EQ(q.count(), 1);
  EXPECT_EQ(rejected.count(), 0u);
  EXPECT_TRUE(rejected.lines().empty());
}

TEST_F(bad_lines_test, a_quote_that_is_never_closed_takes_the_rest_of_the_file) {
  file("id,name,price\n1,a,2\n2,\"open,3\n3,c,4\n");
  const rejected_lines rejected;
  EXPECT_EQ(read_csv<priced>(path(), collecting(rejected)).count(), 1);
  ASSERT_EQ(rejected.count(), 1u);
  EXPECT_EQ(rejected.lines()[0].line, 3u);
  EXPECT_EQ(rejected.lines()[0].text, "2,\"open,3\n3,c,4\n");
  EXPECT_NE(rejected.lines()[0].reason.find("never closed"), std::string::npos);
}

TEST_F(bad_lines_test, long_texts_are_cut) {
  file("id,name,price\nx," + std::string(5000, 'a') + ",2\n");
  const rejected_lines rejected;
  EXPECT_EQ(read_csv<priced>(path(), collecting(rejected)).count(), 0);
  EXPECT_EQ(rejected.lines()[0].text.size(), 1000u);
}

TEST_F(bad_lines_test, do_not_hide_what_is_wrong_with_the_file) {
  const auto run = [&] { return error_of([&] { (void)read_csv<priced>(path(), {.on_error = bad_lines::skip}).count(); }); };
  EXPECT_NE(run().find("cannot read the file"), std::string::npos);
  file("id,name\n1,a\n");
  EXPECT_NE(run().find("no column 'price'"), std::string::npos);
}

TEST_F(bad_lines_test, options_that_contradict_each_other_are_errors) {
  file("id,name,price\n");
  const auto error = [&](csv_options o) { return error_of([&] { (void)read_csv<priced>(path(), o).count(); }); };
  EXPECT_NE(error({.on_error = bad_lines::collect}).find("bad_lines::collect needs a place for the lines"), std::string::npos);
  EXPECT_NE(error({.rejected = rejected_lines()}).find(".rejected takes no lines without .on_error"), std::string::npos);
}

// What is left out, and in which order it is told, depends on nothing but the file.
TEST_F(bad_lines_test, are_the_same_for_any_number_of_threads) {
  std::mt19937_64 random;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    random.seed(seed);
    std::string text = "id,name,price\n";
    std::vector<priced> right;
    std::uint64_t wrong = 0;
    for (int i = 0; i < 150'000; ++i) {
      const std::string long_name(random() % 30, 'n'), name = random() % 50 ? long_name : "\"" + long_name + "\n,\"";
      if (random() % (seed * seed * 100) == 0) {
        text += std::array{"x,y,1\n", "1,2\n", "1,2,3,4\n", "5,\"a\"b,2\n"}[random() % 4];
        ++wrong;
      }
      right.push_back({i, name.starts_with('"') ? name.substr(1, name.size() - 2) : name, 0.25});
      text += std::to_string(i) + "," + name + ",0.25\n";
    }
    file(text);
    std::vector<rejected_line> expected;
    for (const int threads : {1, 4}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", threads " + std::to_string(threads));
      const rejected_lines rejected(~std::size_t{0});
      ASSERT_TRUE(read_csv<priced>(path(), collecting(rejected)).in(session(threads)).to_vector() == right);
      EXPECT_EQ(rejected.count(), wrong);
      if (threads == 1) expected = rejected.lines();
      EXPECT_TRUE(rejected.lines() == expected);
      EXPECT_EQ(expected.size(), wrong);
      std::size_t n = 0;
      for (const priced& row : read_csv<priced>(path(), collecting(rejected)).in(session(threads))) ASSERT_TRUE(row == right[n++]);
      EXPECT_EQ(n, right.size());
      EXPECT_TRUE(rejected.lines() == expected);
    }
  }
}

// Any bytes at all: the right rows of the file in blocks of any size, and as many records in all.
TEST_F(bad_lines_test, arbitrary_text_reads_the_same_in_blocks_of_any_size) {
  static constexpr const char* pieces[] = {"1", "x", "\"", "\"\"", ",", "\n", "\r\n", "\r", "\n\n", " ", "\"a\nb\"", "5,y\n", ""};
  using row_type = std::pair<std::optional<int>, std::string>;
  std::mt19937_64 random;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    random.seed(seed);
    std::string text = "i8,s\n";
    for (std::uint64_t n = random() % 30; n > 0; --n) text += pieces[random() % std::size(pieces)];
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + text);
    const auto in_blocks = [&](std::size_t block, std::size_t chunk, rejected_lines rejected) {
      csv_file f(file(text), {.columns = {{"first", "i8"}, {"second", "s"}}}, ir::describe<row_type>(), chunk);
      rejections to(rejected);
      std::vector<row_type> rows;
      while (f.index_block(serially, block, &to)) {
        std::allocator<row_type> memory;
        row_type* some = memory.allocate(f.rows() + 1);
        std::exception_ptr wrong;
        const std::size_t n = f.read_until_wrong(serially, {}, some, wrong, &to);
        EXPECT_FALSE(wrong);
        rows.insert(rows.end(), std::make_move_iterator(some), std::make_move_iterator(some + n));
        std::destroy_n(some, n);
        memory.deallocate(some, f.rows() + 1);
      }
      return rows;
    };
    const rejected_lines whole, parts;
    const auto expected = in_blocks(~std::size_t{0} >> 1, 1 << 20, whole);
    EXPECT_EQ(in_blocks(1 + random() % 40, 1 + random() % 20, parts), expected);
    EXPECT_TRUE(parts.lines() == whole.lines());
    EXPECT_EQ(parts.count(), whole.count());
  }
}

}  // namespace
}  // namespace query::data
