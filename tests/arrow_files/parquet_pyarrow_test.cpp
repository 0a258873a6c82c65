// Files of pyarrow: of several versions and encodings, with dictionaries, partitioned; and what pyarrow reads of ours.
#include <chrono>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"

namespace arrow_files_test {

namespace chr = std::chrono;

struct place {
  double x = 0;
  std::optional<std::string> label;
  bool operator==(const place&) const = default;
};
QUERY_RECORD(place, x, label);
struct tick {
  std::int64_t id = 0;
  std::string symbol;
  std::optional<double> price;
  chr::sys_time<chr::microseconds> time;
  chr::sys_days day;
  std::vector<std::string> tags;
  place at;
  bool operator==(const tick&) const = default;
};
QUERY_RECORD(tick, id, symbol, price, time, day, tags, at);

std::vector<tick> ticks(int n) {
  const chr::sys_days first = chr::year(2026) / 1 / 1;
  std::vector<tick> all;
  for (int i = 0; i < n; ++i) {
    std::vector<std::string> tags;
    for (int k = 0; k < i % 3; ++k) tags.push_back("t" + std::to_string(k));
    all.push_back({i, i % 2 ? "AB" : "a symbol of many characters", i % 10 ? std::optional(i / 4.0) : std::nullopt, first + chr::seconds(i),
                   first + chr::days(i % 365), std::move(tags), {i / 2.0, i % 4 ? std::optional(std::to_string(i)) : std::nullopt}});
  }
  return all;
}

class parquet_pyarrow : public columnar_test {};

TEST_F(parquet_pyarrow, files_of_several_kinds_are_read) {
  QUERY_MADE_BY_PYARROW("write");
  for (const char* name : {"plain.parquet", "old.parquet", "new.parquet", "silent.parquet", "coded.parquet", "large.parquet"}) {
    const auto all = query::read_parquet<tick>(at(name));
    EXPECT_EQ(all.to_vector(), ticks(5000)) << name;
    const auto late = all.where([](auto t) { return t.id >= 4990; });
    EXPECT_EQ(late.count(), 10) << name;
    const chr::sys_time<chr::microseconds> noon = chr::sys_days(chr::year(2026) / 1 / 1) + chr::seconds(4000);
    EXPECT_EQ(all.where([noon](auto t) { return t.time >= noon; }).count(), 1000) << name;
    EXPECT_EQ(all.where([](auto t) { return t.symbol == "AB" && t.at.x > 2450.0; }).count(), 50) << name;
  }
  EXPECT_EQ(query::read_parquet<tick>(at("zstd_pages.parquet")).to_vector(), ticks(5000));
  EXPECT_EQ(query::read_parquet<tick>(at("none.parquet")).count(), 0);
  EXPECT_EQ(query::read_arrow_file<tick>(at("coded.arrow")).to_vector(), ticks(5000));
}

TEST_F(parquet_pyarrow, statistics_of_all_types_are_used) {
  QUERY_MADE_BY_PYARROW("write");
  const auto skipped = [](const auto& q) { return cost_of([&] { (void)q.count(); }).skipped; };
  const auto plain = query::read_parquet<tick>(at("plain.parquet"));
  const chr::sys_time<chr::microseconds> late = chr::sys_days(chr::year(2026) / 1 / 1) + chr::seconds(4000);
  EXPECT_EQ(skipped(plain.where([late](auto t) { return t.time >= late; })), 4u);
  EXPECT_EQ(skipped(plain.where([](auto t) { return t.at.x < 100.0; })), 4u);
  EXPECT_EQ(skipped(plain.where([](auto t) { return t.symbol > "b"; })), 5u);
  EXPECT_EQ(skipped(plain.where([](auto t) { return t.price.value_or(0.0) > 1e9; })), 0u);
  EXPECT_EQ(skipped(plain.where([](auto t) { return t.price && *t.price > 1100.0; })), 4u);
  EXPECT_EQ(skipped(query::read_parquet<tick>(at("coded.parquet")).where([](auto t) { return t.symbol == "none"; })), 5u);
  EXPECT_EQ(skipped(query::read_parquet<tick>(at("silent.parquet")).where([](auto t) { return t.id < 0; })), 0u);
}

// Pages have no checksums in these: what is damaged may be read as something else, and never crashes the program.
TEST_F(parquet_pyarrow, damaged_files_are_refused_or_read) {
  QUERY_MADE_BY_PYARROW("write");
  std::mt19937 random(5);
  int refused = 0;
  for (const char* name : {"plain.parquet", "old.parquet", "new.parquet", "coded.parquet", "zstd_pages.parquet", "coded.arrow"}) {
    const std::string bytes = bytes_of(at(name));
    for (int i = 0; i < 40; ++i) {
      std::string wrong = bytes;
      const std::size_t ends = i % 2 ? 8 : wrong.size() - 2000;  // every other time in the description at the end
      for (int k = 0; k < 3; ++k) wrong[ends + random() % (wrong.size() - ends - 8)] = static_cast<char>(random());
      put(at("wrong"), wrong);
      const bool ipc = std::string(name) == "coded.arrow";
      const std::string error = error_of([&] {
        if (ipc) (void)query::read_arrow_file<tick>(at("wrong")).to_vector();
        else (void)query::read_parquet<tick>(at("wrong")).to_vector();
      });
      if (error == "no user_error") continue;
      ++refused;
      EXPECT_TRUE(error.starts_with(ipc ? "read_arrow_file: wrong: " : "read_parquet: wrong: ")) << error;
    }
  }
  EXPECT_GT(refused, 100);
}

struct yearly {
  std::int64_t id = 0;
  std::optional<double> price;
  std::int32_t year = 0;
};
QUERY_RECORD(yearly, id, price, year);

TEST_F(parquet_pyarrow, folders_of_values_are_read_as_far_as_needed) {
  QUERY_MADE_BY_PYARROW("write");
  const auto all = query::read_parquet<yearly>(at("parts"));
  EXPECT_EQ(all.count(), 5000);
  EXPECT_EQ(all.where([](auto y) { return y.id % 3 != y.year - 2020; }).count(), 0);
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto y) { return y.year == 2021; }).count(), 1667); }).skipped, 2u);
}

TEST_F(parquet_pyarrow, files_of_ours_are_read) {
  const auto q = query::from(ticks(5000));
  query::write_parquet(q, at("copy.parquet"), {.row_group_rows = 1000, .compression = query::file_compression::zstd});
  query::write_arrow_file(q, at("copy.arrow"));
  QUERY_MADE_BY_PYARROW("check");
}

}  // namespace arrow_files_test
