// write_parquet with .partition_by: folders that are named after values.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

namespace chr = std::chrono;
namespace fs = std::filesystem;

struct sale {
  std::int64_t id = 0;
  std::int32_t year = 0;
  std::optional<std::string> region;
  double price = 0;
  bool operator==(const sale&) const = default;
};
QUERY_RECORD(sale, id, year, region, price);
struct dated {
  chr::sys_days day;
  chr::sys_seconds at;
  char letter = 'a';
  bool flag = false;
  std::optional<double> number;
  std::int64_t id = 0;
  bool operator==(const dated&) const = default;
};
QUERY_RECORD(dated, day, at, letter, flag, number, id);
struct only_keys {
  std::int32_t a = 0, b = 0;
};
QUERY_RECORD(only_keys, a, b);
struct nested_key {
  std::vector<std::int32_t> list;
  std::int32_t n = 0;
};
QUERY_RECORD(nested_key, list, n);

std::vector<sale> sales(int n) {
  const std::optional<std::string> regions[] = {"north sea", "a=b/c%", "\xc3\xa9", std::nullopt, std::nullopt};
  std::vector<sale> all;
  for (int i = 0; i < n; ++i) all.push_back({i, 2020 + i % 3, regions[i % 5], i / 2.0});
  return all;
}

class partition_by : public columnar_test {
 protected:
  static std::vector<std::string> files_in(const std::string& folder) {
    std::vector<std::string> names;
    for (const fs::directory_entry& e : fs::recursive_directory_iterator(folder))
      if (e.is_regular_file()) names.push_back(fs::relative(e.path(), folder).string());
    std::sort(names.begin(), names.end());
    return names;
  }
  static std::vector<sale> by_id(std::vector<sale> rows) {
    std::sort(rows.begin(), rows.end(), [](const sale& a, const sale& b) { return a.id < b.id; });
    return rows;
  }
};

TEST_F(partition_by, makes_folders_that_are_read_back) {
  query::write_parquet(query::from(sales(100)), at("folders/"), {.partition_by = {"year", "region"}});
  const auto all = query::read_parquet<sale>(at("folders"));
  EXPECT_EQ(by_id(all.to_vector()), sales(100));
  const std::vector<std::string> files = files_in(at("folders"));
  EXPECT_EQ(files.size(), 12u);
  EXPECT_EQ(files[0], "year=2020/region=__HIVE_DEFAULT_PARTITION__/part-00000.parquet");
  EXPECT_EQ(files[1], "year=2020/region=a%3Db%2Fc%25/part-00000.parquet");
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto s) { return s.year == 2021 && s.region == "a=b/c%"; }).count(), 7); }).groups, 1u);
  QUERY_MADE_BY_PYARROW("check_folders");
}

TEST_F(partition_by, takes_every_type_that_has_a_text) {
  std::vector<dated> rows;
  for (int i = 0; i < 20; ++i)
    rows.push_back({chr::sys_days(chr::days(i % 3 - 1)), chr::sys_seconds(chr::seconds(i % 2 * 100'000)), i % 2 ? '/' : 'b', i % 2 == 0,
                    i % 4 ? std::optional(i % 2 / 3.0 - 1) : std::nullopt, i});
  query::write_parquet(query::from(rows), at("d/"), {.partition_by = {"day", "at", "letter", "flag", "number"}});
  std::vector<dated> read = query::read_parquet<dated>(at("d/")).to_vector();
  std::sort(read.begin(), read.end(), [](const dated& a, const dated& b) { return a.id < b.id; });
  EXPECT_EQ(read, rows);
}

TEST_F(partition_by, keeps_a_text_that_is_the_name_of_nulls) {
  const std::vector<sale> rows = {{1, 2020, "__HIVE_DEFAULT_PARTITION__", 0}, {2, 2020, std::nullopt, 0}, {3, 2020, "", 0}};
  query::write_parquet(query::from(rows), at("f/"), {.partition_by = {"region"}});
  EXPECT_EQ(query::read_parquet<sale>(at("f")).where([](auto s) { return s.region == "__HIVE_DEFAULT_PARTITION__"; }).count(), 1);
  EXPECT_EQ(query::read_parquet<sale>(at("f")).where([](auto s) { return !s.region; }).count(), 1);
  EXPECT_EQ(query::read_parquet<sale>(at("f")).where([](auto s) { return s.region == ""; }).count(), 1);
}

TEST_F(partition_by, has_few_files_open_however_many_values_there_are) {
  std::vector<sale> rows;
  for (int i = 0; i < 280; ++i) rows.push_back({i, i % 140, std::nullopt, 0});
  query::write_parquet(query::from(rows), at("many/"), {.partition_by = {"year"}});
  EXPECT_EQ(by_id(query::read_parquet<sale>(at("many")).to_vector()), rows);
  query::write_parquet(query::from(rows).order_by([](auto s) { return s.year; }), at("many/"), {.partition_by = {"year"}});
  EXPECT_EQ(by_id(query::read_parquet<sale>(at("many")).to_vector()), rows);
  EXPECT_EQ(files_in(at("many")).size(), 140u);
}

TEST_F(partition_by, replaces_its_own_folders_alone) {
  const auto write = [&] { query::write_parquet(query::from(sales(10)), at("f/"), {.partition_by = {"year"}}); };
  write();
  write();
  EXPECT_EQ(query::read_parquet<sale>(at("f")).count(), 10);
  query::write_parquet(query::from(sales(5)), at("f/"));
  EXPECT_EQ(files_in(at("f")), std::vector<std::string>{"part-00000.parquet"});
  write();
  put(at("f/year=2020/notes.txt"), "mine");
  EXPECT_EQ(error_of(write), "write_parquet: the folder holds something that is no part of an earlier result, and would be lost: "
                             "f/year=2020/notes.txt; choose a folder of another name");
  EXPECT_EQ(bytes_of(at("f/year=2020/notes.txt")), "mine");
  EXPECT_THROW(query::write_parquet(query::from(sales(10)).select([](const sale& s) {
    if (s.id == 7) throw std::logic_error("seven");
    return s;
  }), at("g/"), {.partition_by = {"year"}}), std::logic_error);
  EXPECT_FALSE(fs::exists(at("g")));
  EXPECT_EQ(std::distance(fs::directory_iterator(at("")), {}), 1);
  query::write_parquet(query::from(std::vector<sale>{}), at("none/"), {.partition_by = {"year"}});
  EXPECT_EQ(query::read_parquet<sale>(at("none/")).count(), 0);
}

TEST_F(partition_by, works_in_a_cluster) {
  const query::Session s = query::Session::cluster("local:2", {.threads = 1, .gpu = query::gpu_use::off});
  query::write_parquet(query::from(sales(1000)).in(s), at("c/"), {.partition_by = {"year"}});
  EXPECT_EQ(by_id(query::read_parquet<sale>(at("c")).in(s).to_vector()), sales(1000));
  EXPECT_EQ(query::read_parquet<sale>(at("c")).in(s).where([](auto r) { return r.year == 2020; }).count(), 334);
}

TEST_F(partition_by, says_what_is_wrong) {
  const auto error = [&](const auto& rows, const std::string& path, std::vector<std::string> fields) {
    return error_of([&] { query::write_parquet(query::from(rows), at(path), {.partition_by = std::move(fields)}); });
  };
  EXPECT_EQ(error(sales(3), "f.parquet", {"year"}), "write_parquet: .partition_by writes a folder: end the path with '/': f.parquet");
  EXPECT_EQ(error(sales(3), "f/", {"yeer"}), "write_parquet: .partition_by names a field that sale does not have: 'yeer'");
  EXPECT_EQ(error(sales(3), "f/", {"year", "year"}), "write_parquet: .partition_by names the field 'year' twice");
  EXPECT_EQ(error(std::vector<nested_key>(1), "f/", {"list"}),
            "write_parquet: .partition_by names the field 'list', which is list<i32>; take a number, a date or a string");
  EXPECT_EQ(error(std::vector<only_keys>(1), "f/", {"a", "b"}),
            "write_parquet: .partition_by names all fields of only_keys; files have at least one column");
  EXPECT_FALSE(fs::exists(at("f")));
}

}  // namespace arrow_files_test
