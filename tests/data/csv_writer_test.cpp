#include "data/csv_writer.hpp"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "data/csv_fixture.hpp"

namespace query::data {

struct stock { std::string name; std::optional<std::string> note; double price; std::optional<std::int32_t> count; bool open; };
QUERY_RECORD(stock, name, note, price, count, open);
struct tagged { std::int32_t a; std::vector<int> tags; };
QUERY_RECORD(tagged, a, tags);

class csv_writer_test : public csv_test {
 protected:
  static std::vector<stock> stocks() {
    return {{"x", "y", 0.1, 5, true}, {"", "", 1e300, std::nullopt, false}, {"a,b", std::nullopt, 2, -1, true}};
  }
};

TEST_F(csv_writer_test, text_is_quoted_only_where_it_must_be) {
  write(stocks());
  EXPECT_EQ(text_of(), "name,note,price,count,open\nx,y,0.1,5,true\n,\"\",1e+300,,false\n\"a,b\",,2,-1,true\n");
  write<std::string>({"plain text", "a\"b", "a\nb", "a\r", "", "a;b", "\xEF\xBB\xBF"});
  EXPECT_EQ(text_of(), "value\nplain text\n\"a\"\"b\"\n\"a\nb\"\n\"a\r\"\n\"\"\na;b\n\"\xEF\xBB\xBF\"\n");
}

TEST_F(csv_writer_test, a_char_is_its_letter) {
  write<std::pair<char, std::int8_t>>({{'A', 65}, {',', 1}, {'"', 2}, {' ', 3}});
  EXPECT_EQ(text_of(), "first,second\nA,65\n\",\",1\n\"\"\"\",2\n ,3\n");
}

// Pairs of joins: by their whole names, so that pairs can be read again; a record that is missing is a null a field.
TEST_F(csv_writer_test, records_in_pairs_are_a_column_a_field) {
  using row = std::pair<std::int32_t, std::optional<stock>>;
  write<row>({{1, stocks()[1]}, {2, std::nullopt}});
  EXPECT_EQ(text_of(), "first,second.name,second.note,second.price,second.count,second.open\n1,\"\",\"\",1e+300,,false\n2,,,,,\n");
  EXPECT_EQ(error_of([&] { csv_file(path(), {}, ir::describe<row>()); }),
            "read_csv: a record that may be missing cannot be read: field 'second.name' is part of optional<stock>; make its fields "
            "std::optional");
}

TEST_F(csv_writer_test, options_are_followed) {
  write(stocks(), {.delimiter = ';', .quote = '\'', .null_text = "-1", .columns = {{"note", "the;note"}}});
  EXPECT_EQ(text_of(), "name;'the;note';price;count;open\nx;y;0.1;5;true\n;'';1e+300;-1;false\na,b;-1;2;'-1';true\n");
  write<std::string>({" a", "b"}, {.header = false, .trim = true});
  EXPECT_EQ(text_of(), "\" a\"\nb\n");
}

TEST_F(csv_writer_test, floats_are_the_shortest_that_read_back) {
  write<double>({0.1, 1.0 / 3, 1e21, -0.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()});
  EXPECT_EQ(text_of(), "value\n0.1\n0.3333333333333333\n1e+21\n-0\ninf\nnan\n");
  write<float>({0.1f, 16777216.0f});
  EXPECT_EQ(text_of(), "value\n0.1\n16777216\n");
}

TEST_F(csv_writer_test, the_target_appears_when_finished_and_not_before) {
  file("before");
  {
    csv_writer writer(path(), {}, ir::describe<stock>());
    const auto rows = stocks();
    for (int i = 0; i < 100'000; ++i) writer.write(rows.data(), rows.size());
    EXPECT_EQ(text_of(), "before");
    EXPECT_LE(files(), 2u) << "a temporary file, where files need names";
  }
  EXPECT_EQ(text_of(), "before");
  EXPECT_EQ(files(), 1u) << "the temporary file is gone";
  write(stocks());
  EXPECT_EQ(files(), 1u);
}

TEST_F(csv_writer_test, text_formatted_apart_is_the_same) {
  const auto rows = stocks();
  csv_writer writer(path(), {}, ir::describe<stock>());
  for (const stock& row : rows) {
    std::string text;
    writer.append_rows(text, &row, 1);
    writer.write_text(text);
  }
  writer.finish();
  const std::string apart = text_of();
  write(rows);
  EXPECT_EQ(apart, text_of());
}

TEST_F(csv_writer_test, permissions_and_links_of_the_target_stay) {
  file("old");
  ASSERT_EQ(::chmod(path().c_str(), 0640), 0);
  std::filesystem::create_symlink(path(), path("link.csv"));
  write(stocks(), {}, "link.csv");
  EXPECT_TRUE(std::filesystem::is_symlink(path("link.csv")));
  struct stat status {};
  ASSERT_EQ(::stat(path().c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
  EXPECT_TRUE(text_of().starts_with("name,"));
}

TEST_F(csv_writer_test, a_device_is_written_directly) {
  csv_writer writer("/dev/null", {}, ir::describe<stock>());
  writer.write(stocks().data(), 1);
  writer.finish();
  EXPECT_TRUE(std::filesystem::exists("/dev/null"));
}

TEST_F(csv_writer_test, errors_name_the_path_and_leave_nothing_behind) {
  const auto open = [&](const std::string& at) { return error_of([&] { csv_writer(at, {}, ir::describe<stock>()); }); };
  EXPECT_EQ(open(path("none/b.csv")), "write_csv: cannot write the file: none/b.csv: No such file or directory");
  std::filesystem::create_directory(path("folder"));
  EXPECT_EQ(open(path("folder")),
            "write_csv: cannot write the file: folder: Is a directory; end the path with '/' to write a folder with a file for each "
            "partition");
  EXPECT_EQ(files(), 1u);
  if (std::filesystem::exists("/dev/full")) {
    const auto full = [&] {
      csv_writer writer("/dev/full", {}, ir::describe<stock>());
      writer.finish();
    };
    EXPECT_EQ(error_of(full), "write_csv: cannot write the file: /dev/full: No space left on device");
    EXPECT_THROW(full(), resource_error);
  }
}

TEST_F(csv_writer_test, a_target_that_cannot_be_replaced_is_left_alone) {
  file("before");
  csv_writer writer(path(), {}, ir::describe<stock>());
  std::filesystem::create_directory(path("b.csv"));
  std::filesystem::remove(path());
  std::filesystem::rename(path("b.csv"), path());  // a folder took the target's place
  EXPECT_EQ(error_of([&] { writer.finish(); }), "write_csv: cannot put the file in its place: a.csv: Is a directory");
  EXPECT_EQ(files(), 1u);
}

TEST_F(csv_writer_test, rows_and_options_are_checked) {
  EXPECT_EQ(error_of([&] { csv_writer(path(), {}, ir::describe<tagged>()); }),
            "write_csv: a column of a CSV file cannot hold a list: field 'tags' is list<i32>; "
            "use a std::array, or one row for each element (select_many)");
  EXPECT_EQ(error_of([&] { write<std::string>({"a,b"}, {.quote = '\0'}); }),
            "write_csv: a value needs quotes, and csv_options.quote is off: a,b");
  EXPECT_EQ(error_of([&] { csv_writer(path(), {.delimiter = '1'}, ir::describe<stock>()); }),
            "write_csv: csv_options.delimiter must not be a line end, a letter, a digit or one of . + -");
  EXPECT_EQ(files(), 0u);
}

}  // namespace query::data
