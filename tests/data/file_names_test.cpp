// Rows that know the file they come from.
#include <cstdint>
#include <string>
#include <vector>

#include <query/query.hpp>

#include "data/csv_fixture.hpp"

namespace query::data {

struct dated_trade { std::string day; std::int32_t id; };
QUERY_RECORD(dated_trade, day, id);
inline bool operator==(const dated_trade& a, const dated_trade& b) { return a.day == b.day && a.id == b.id; }

namespace {

class file_names_test : public csv_test {
 protected:
  template <class Q> std::string error(const Q& q) const {
    return error_of([&] { (void)q.count(); });
  }
};

TEST_F(file_names_test, are_a_field_of_the_rows) {
  file("id\n1\n2\n", "b.csv");
  file("id\n", "c.csv");
  file("other,id\n0,3\n", "a.csv");
  file("{\"id\":4}\n{\"id\":5,\"day\":\"passed over\"}\n", "d.jsonl");
  const auto q = read_csv<dated_trade>(path("*.csv"), {.file_name_in = "day"});
  EXPECT_EQ(q.to_vector(), (std::vector<dated_trade>{{path("a.csv"), 3}, {path("b.csv"), 1}, {path("b.csv"), 2}}));
  EXPECT_EQ(q.select([](auto t) { return t.id; }).to_vector(), (std::vector<std::int32_t>{3, 1, 2}));
  EXPECT_EQ(q.where([this](const dated_trade& t) { return t.day == path("b.csv"); }).count(), 2);
  EXPECT_EQ(q.group_by([](auto t) { return t.day; }).select([](auto g) { return g.count(); }).sum(), 3);
  const auto j = read_json_lines<dated_trade>(path("*.jsonl"), {.file_name_in = "day"});
  EXPECT_EQ(j.to_vector(), (std::vector<dated_trade>{{path("d.jsonl"), 4}, {path("d.jsonl"), 5}}));
}

TEST_F(file_names_test, without_a_header_take_no_position) {
  file("1\n2\n");
  const auto q = read_csv<dated_trade>(path(), {.header = false, .file_name_in = "day"});
  EXPECT_EQ(q.to_vector(), (std::vector<dated_trade>{{path(), 1}, {path(), 2}}));
}

TEST_F(file_names_test, need_a_field_that_is_a_string) {
  file("day,id\nx,1\n");
  EXPECT_NE(error(read_csv<dated_trade>(path(), {.file_name_in = "file"})).find(
                "read_csv: .file_name_in names a field that dated_trade does not have: 'file'"), std::string::npos);
  EXPECT_NE(error(read_csv<dated_trade>(path(), {.file_name_in = "id"})).find("the field 'id', which is i32; make it a std::string"),
            std::string::npos);
  EXPECT_NE(error(read_csv<std::string>(path(), {.file_name_in = "id"})).find("the rows are no records"), std::string::npos);
}

TEST_F(file_names_test, are_those_of_errors_too) {
  file("id\n1\n", "a.csv");
  file("id\n1\nx\n", "b.csv");
  EXPECT_NE(error(read_csv<dated_trade>(path("*.csv"), {.file_name_in = "day"}).where([](auto t) { return t.id > 0; }))
                .find("read_csv: b.csv:3:1: expected i32 for column 'id', found 'x'"), std::string::npos);
  EXPECT_NE(error(read_csv<dated_trade>(path("*.tsv"))).find("read_csv: no file matches the pattern: *.tsv"), std::string::npos);
}

}  // namespace
}  // namespace query::data
