// The text of every error of reading and writing Parquet and Arrow IPC files.
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

struct maybe_price {
  std::int64_t id = 0;
  std::optional<double> price;
};
QUERY_RECORD(maybe_price, id, price);
struct priced {
  std::int64_t id = 0;
  double price = 0;
};
QUERY_RECORD(priced, id, price);
struct small_id {
  std::int32_t id = 0;
};
QUERY_RECORD(small_id, id);
struct other {
  std::int64_t id = 0;
  std::string name;
};
QUERY_RECORD(other, id, name);

class parquet_errors : public columnar_test {
 protected:
  std::vector<maybe_price> rows(int n) {
    std::vector<maybe_price> all;
    for (int i = 0; i < n; ++i) all.push_back({i, i == 2500 ? std::nullopt : std::optional(i / 2.0)});
    return all;
  }
  void SetUp() override { query::write_parquet(query::from(rows(3000)), at("t.parquet"), {.row_group_rows = 1000}); }
  template <class Row> std::string error_of_reading(const std::string& name) {
    return error_of([&] { (void)query::read_parquet<Row>(at(name)).to_vector(); });
  }
};

TEST_F(parquet_errors, of_files_that_are_none) {
  EXPECT_EQ(error_of_reading<priced>("gone.parquet"), "read_parquet: cannot read the file: gone.parquet: No such file or directory");
  put(at("empty"), "");
  EXPECT_EQ(error_of_reading<priced>("empty"), "read_parquet: empty: the file is empty: it is no Parquet file, or writing it has failed");
  put(at("text"), "id,price\n1,2.5\n");
  EXPECT_EQ(error_of_reading<priced>("text"), "read_parquet: text: it is no Parquet file: it does not begin with PAR1");
  put(at("short"), "PAR1");
  const std::string cut = ": the file is cut off: it begins as a Parquet file and does not end as one; copy or write it anew";
  EXPECT_EQ(error_of_reading<priced>("short"), "read_parquet: short" + cut);
  const std::string bytes = bytes_of(at("t.parquet"));
  put(at("cut"), bytes.substr(0, bytes.size() / 2));
  EXPECT_EQ(error_of_reading<priced>("cut"), "read_parquet: cut" + cut);
  query::write_arrow_file(query::from(rows(10)), at("t.arrow"));
  EXPECT_EQ(error_of_reading<priced>("t.arrow"),
            "read_parquet: t.arrow: it is no Parquet file: it does not begin with PAR1");
  EXPECT_EQ(error_of([&] { (void)query::read_arrow_file<priced>(at("t.parquet")).count(); }),
            "read_arrow_file: t.parquet: it is no Arrow IPC file: it does not begin with ARROW1; it is a Parquet file: read it by "
            "read_parquet");
  EXPECT_NE(error_of([&] { (void)query::read_csv<priced>(at("t.parquet")).count(); }).find("it is a Parquet file: read it by read_parquet"),
            std::string::npos);
}

TEST_F(parquet_errors, of_columns_that_do_not_fit) {
  EXPECT_EQ(error_of_reading<other>("t.parquet"),
            "read_parquet: t.parquet: there is no column 'name' for the field 'name', which is string; the file's columns are: id, price. "
            "Say by .columns which column is meant: {{\"name\", \"column\"}}");
  EXPECT_EQ(error_of_reading<small_id>("t.parquet"),
            "read_parquet: t.parquet: column 'id': field 'id' is i32, the Arrow column is int64; give the field the column's type, or cast "
            "the column");
  EXPECT_EQ(error_of_reading<priced>("t.parquet"),
            "read_parquet: t.parquet: column 'price', row group 2: row 500 of the group is null, and field 'price' is f64; make the field "
            "a std::optional");
  EXPECT_EQ(error_of([&] { (void)query::read_parquet<priced>(at("t.parquet"), {.columns = {{"prise", "price"}}}).count(); }),
            "read_parquet: .columns names a field that priced does not have: 'prise'");
  EXPECT_EQ(error_of([&] { (void)query::read_parquet<priced>(at("t.parquet"), {.file_name_in = "file"}).count(); }),
            "read_parquet: .file_name_in names a field that priced does not have: 'file'");
  // Not asked for, not missed.
  EXPECT_EQ(query::read_parquet<priced>(at("t.parquet")).sum([](auto p) { return p.id; }), 2999 * 1500);
}

TEST_F(parquet_errors, of_damaged_files) {
  const std::string bytes = bytes_of(at("t.parquet"));
  std::mt19937 random(7);
  int refused = 0;
  for (int i = 0; i < 200; ++i) {
    std::string wrong = bytes;
    for (int k = 0; k < 4; ++k) wrong[4 + random() % (wrong.size() - 8)] = static_cast<char>(random());
    put(at("wrong.parquet"), wrong);
    const std::string error = error_of_reading<maybe_price>("wrong.parquet");
    if (error == "no user_error") continue;  // statistics, names of programs
    ++refused;
    EXPECT_TRUE(error.starts_with("read_parquet: wrong.parquet: ")) << error;
  }
  EXPECT_GT(refused, 100);
  // A page's bytes: the column and the row group are named.
  std::string wrong = bytes;
  for (std::size_t k = 40; k < 60; ++k) wrong[k] = static_cast<char>(~wrong[k]);
  put(at("page.parquet"), wrong);
  const std::string error = error_of_reading<maybe_price>("page.parquet");
  EXPECT_TRUE(error.starts_with("read_parquet: page.parquet: column 'id', row group 0: cannot be read: ")) << error;
  EXPECT_TRUE(error.ends_with("; the file is damaged: copy or write it anew")) << error;
}

TEST_F(parquet_errors, of_writing) {
  const auto q = query::from(rows(10));
  EXPECT_EQ(error_of([&] { query::write_parquet(q, at("none/t.parquet")); }),
            "write_parquet: cannot write the file: none/t.parquet: No such file or directory");
  EXPECT_EQ(error_of([&] { query::write_parquet(q, at("t.parquet"), {.row_group_rows = 0}); }),
            "write_parquet: a row group has at least one row: .row_group_rows is 0");
  EXPECT_EQ(error_of([&] { query::write_arrow_file(q, at("t.arrow"), {.compression = query::file_compression::gzip}); }),
            "write_arrow_file: t.arrow: Arrow IPC files are compressed by lz4 or zstd; choose one of these, or none");
  // The old file stays, and there is no other one.
  EXPECT_THROW(query::write_parquet(q.select([](const maybe_price& p) {
    if (p.id == 5) throw std::logic_error("five");
    return p;
  }), at("t.parquet")), std::logic_error);
  EXPECT_EQ(query::read_parquet<maybe_price>(at("t.parquet")).count(), 3000);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(at("")), {}), 1);
}

}  // namespace arrow_files_test
