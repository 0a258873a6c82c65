// Parquet files that this library writes and reads: every type, row groups, and what of a file is read for a query.
#include <array>
#include <chrono>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "columnar_fixture.hpp"
#include "runtime/session_state.hpp"

namespace arrow_files_test {

namespace chr = std::chrono;

enum class colour : std::int16_t { red = 3, green = -4 };
struct point {
  double x = 0;
  std::string label;
  bool operator==(const point&) const = default;
};
QUERY_RECORD(point, x, label);
struct everything {
  bool flag = false;
  std::int8_t i8 = 0;
  std::uint8_t u8 = 0;
  std::int16_t i16 = 0;
  std::uint16_t u16 = 0;
  std::int32_t i32 = 0;
  std::uint32_t u32 = 0;
  std::int64_t i64 = 0;
  std::uint64_t u64 = 0;
  float f32 = 0;
  double f64 = 0;
  colour paint = colour::red;
  std::string text;
  std::optional<std::int32_t> maybe_number;
  std::optional<bool> maybe_flag;
  std::optional<std::string> maybe_text;
  point at;
  std::optional<point> maybe_at;
  std::vector<std::int32_t> list;
  std::optional<std::vector<std::optional<std::string>>> names;
  std::vector<point> points;
  std::array<float, 3> triple{};
  chr::sys_time<chr::microseconds> moment;
  chr::sys_seconds second;
  std::optional<chr::sys_time<chr::nanoseconds>> exact;
  chr::sys_days day;
  chr::year_month_day date{chr::year(1970) / 1 / 1};
  chr::milliseconds pause{};
  bool operator==(const everything&) const = default;
};
QUERY_RECORD(everything, flag, i8, u8, i16, u16, i32, u32, i64, u64, f32, f64, paint, text, maybe_number, maybe_flag, maybe_text, at,
             maybe_at, list, names, points, triple, moment, second, exact, day, date, pause);

everything row_of(std::mt19937& r, int i) {
  const auto n = [&](int most) { return static_cast<int>(r() % static_cast<unsigned>(most)); };
  const auto text = [&] { return std::string(static_cast<std::size_t>(n(30)), static_cast<char>('a' + n(26))); };
  everything e;
  e.flag = n(2) != 0;
  e.i8 = static_cast<std::int8_t>(n(256) - 128);
  e.u8 = static_cast<std::uint8_t>(n(256));
  e.i16 = static_cast<std::int16_t>(n(65536) - 32768);
  e.u16 = static_cast<std::uint16_t>(n(65536));
  e.i32 = static_cast<std::int32_t>(r());
  e.u32 = static_cast<std::uint32_t>(r());
  e.i64 = i % 7 ? static_cast<std::int64_t>(r()) << 31 : std::numeric_limits<std::int64_t>::min();
  e.u64 = i % 5 ? r() : std::numeric_limits<std::uint64_t>::max();
  e.f32 = static_cast<float>(n(1000)) / 8;
  e.f64 = i % 11 ? n(1000) / 16.0 : std::numeric_limits<double>::infinity();
  e.paint = n(2) ? colour::red : colour::green;
  e.text = text();
  if (n(3)) e.maybe_number = n(100);
  if (n(3)) e.maybe_flag = n(2) != 0;
  if (n(3)) e.maybe_text = text();
  e.at = {n(10) / 2.0, text()};
  if (n(3)) e.maybe_at = point{n(10) / 2.0, text()};
  for (int k = n(4); k; --k) e.list.push_back(n(100));
  if (n(3)) {
    e.names.emplace();
    for (int k = n(3); k; --k) e.names->push_back(n(3) ? std::optional(text()) : std::nullopt);
  }
  for (int k = n(3); k; --k) e.points.push_back({static_cast<double>(k), text()});
  for (float& x : e.triple) x = static_cast<float>(n(50));
  e.moment = chr::sys_time<chr::microseconds>(chr::microseconds(static_cast<std::int64_t>(r()) * 1000 - 5));
  e.second = chr::sys_seconds(chr::seconds(static_cast<std::int64_t>(r()) - 1'000'000'000));
  if (n(3)) e.exact = chr::sys_time<chr::nanoseconds>(chr::nanoseconds(static_cast<std::int64_t>(r()) * 1'000'001));
  e.day = chr::sys_days(chr::days(n(40'000) - 10'000));
  e.date = chr::year_month_day(chr::sys_days(chr::days(n(40'000) - 10'000)));
  e.pause = chr::milliseconds(n(100'000) - 50'000);
  return e;
}
std::vector<everything> rows_of(int n, unsigned seed = 1) {
  std::mt19937 r(seed);
  std::vector<everything> all;
  for (int i = 0; i < n; ++i) all.push_back(row_of(r, i));
  return all;
}

struct trade {
  std::int64_t id = 0;
  std::string symbol;
  double price = 0;
  std::optional<std::int32_t> venue;
  bool operator==(const trade&) const = default;
};
QUERY_RECORD(trade, id, symbol, price, venue);

// Ascending ids and prices, so that row groups are apart.
std::vector<trade> trades(int n) {
  std::vector<trade> all;
  for (int i = 0; i < n; ++i)
    all.push_back({i, i % 2 ? "odd" : "even", i / 10.0, i % 1000 < 500 ? std::optional(i / 1000) : std::nullopt});
  return all;
}

class parquet_files : public columnar_test {};

TEST_F(parquet_files, keep_every_type) {
  for (const int n : {1, 1000, 70'000}) {
    const std::vector<everything> rows = rows_of(n, static_cast<unsigned>(n));
    query::write_parquet(query::from(rows), at("all.parquet"));
    EXPECT_EQ(query::read_parquet<everything>(at("all.parquet")).to_vector(), rows) << n << " rows";
  }
}

TEST_F(parquet_files, may_be_empty) {
  query::write_parquet(query::from(std::vector<everything>{}), at("none.parquet"));
  EXPECT_EQ(query::read_parquet<everything>(at("none.parquet")).count(), 0);
  EXPECT_TRUE(query::read_parquet<everything>(at("none.parquet")).to_vector().empty());
}

TEST_F(parquet_files, have_row_groups_and_compressions) {
  using query::file_compression;
  const std::vector<trade> rows = trades(10'500);
  std::size_t plain = 0;
  for (const file_compression c : {file_compression::none, file_compression::snappy, file_compression::gzip, file_compression::brotli,
                                   file_compression::zstd, file_compression::lz4}) {
    query::write_parquet(query::from(rows), at("t.parquet"), {.row_group_rows = 1000, .compression = c});
    const cost c_read = cost_of([&] { EXPECT_EQ(query::read_parquet<trade>(at("t.parquet")).to_vector(), rows); });
    EXPECT_EQ(c_read, (cost{11, 0, 44}));
    if (c == file_compression::none) plain = bytes_of(at("t.parquet")).size();
    else EXPECT_LT(bytes_of(at("t.parquet")).size(), plain);
  }
  query::write_parquet(query::from(rows), at("t.parquet"), {.compression = file_compression::zstd, .level = 12});
  EXPECT_EQ(query::read_parquet<trade>(at("t.parquet")).to_vector(), rows);
}

TEST_F(parquet_files, are_read_as_far_as_fields_are_used) {
  query::write_parquet(query::from(trades(10'000)), at("t.parquet"), {.row_group_rows = 1000});
  const auto all = query::read_parquet<trade>(at("t.parquet"));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.count(), 10'000); }), (cost{10, 0, 0}));
  EXPECT_EQ(cost_of([&] { EXPECT_DOUBLE_EQ(all.sum([](auto t) { return t.price; }), 4'999'500.0); }), (cost{10, 0, 10}));
  EXPECT_EQ(cost_of([&] {
              EXPECT_EQ(all.where([](auto t) { return t.symbol == "odd"; }).select([](auto t) { return t.id; }).to_vector().size(), 5000u);
            }).columns, 20u);
}

TEST_F(parquet_files, skip_row_groups_that_no_row_passes) {
  query::write_parquet(query::from(trades(10'000)), at("t.parquet"), {.row_group_rows = 1000});
  const auto all = query::read_parquet<trade>(at("t.parquet"));
  const auto ids = [](const auto& q) { return q.select([](auto t) { return t.id; }).to_vector().size(); };
  const auto skips = [&](const auto& q, std::size_t rows, std::uint64_t skipped) {
    EXPECT_EQ(cost_of([&] { EXPECT_EQ(ids(q), rows); }).skipped, skipped) << q.explain();
  };
  skips(all.where([](auto t) { return t.price >= 950.0; }), 500, 9);
  skips(all.where([](auto t) { return t.id < 1000; }), 1000, 9);
  skips(all.where([](auto t) { return t.id == 4321; }), 1, 9);
  skips(all.where([](auto t) { return 4321 == t.id || t.id == 8765; }), 2, 8);
  skips(all.where([](auto t) { return t.id >= 2000; }).where([](auto t) { return t.id < 4000; }), 2000, 8);
  skips(all.where([](auto t) { return t.id >= 2000 && t.id < 4000 && t.symbol == "odd"; }), 1000, 8);
  skips(all.where([](auto t) { return !(t.id >= 1000); }), 1000, 9);
  skips(all.where([](auto t) { return t.symbol == "zebra"; }), 0, 10);
  skips(all.where([](auto t) { return t.symbol < "even"; }), 0, 10);
  skips(all.where([](auto t) { return t.venue && *t.venue == 7; }), 500, 9);
  skips(all.where([](auto t) { return t.id > 100'000; }), 0, 10);
  const std::int64_t limit = 9'500;  // captured
  skips(all.where([limit](auto t) { return t.id >= limit; }), 500, 9);
  skips(all.where([](auto t) { return t.id % 2 == 0; }), 5000, 0);
  const std::string plan = all.where([](auto t) { return t.id < 1000; }).explain();
  EXPECT_NE(plan.find("row_group_pruning: skips groups whose statistics exclude id < 1000"), std::string::npos) << plan;
}

TEST_F(parquet_files, skip_nothing_that_is_missed) {
  query::write_parquet(query::from(trades(4000)), at("t.parquet"), {.row_group_rows = 1000});
  const auto all = query::read_parquet<trade>(at("t.parquet"));
  // The number of a row counts those before it.
  EXPECT_EQ(all.where([](auto t, auto i) { return t.id >= 3000 && i < 3500; }).count(), 500);
  EXPECT_EQ(all.index().where([](auto p) { return p.value.id >= 3999; }).select([](auto p) { return p.index; }).to_vector(),
            std::vector<std::int64_t>{3999});
  EXPECT_EQ(all.take(1500).where([](auto t) { return t.id >= 1200; }).count(), 300);
  EXPECT_EQ(all.skip(3000).where([](auto t) { return t.id >= 3500; }).count(), 500);
  // A function that is opaque may count its calls.
  int calls = 0;
  EXPECT_EQ(all.where([&calls](const trade&) { return ++calls, true; }).where([](auto t) { return t.id < 10; }).count(), 10);
  EXPECT_EQ(calls, 4000);
  // Two readers of one source want different groups.
  const auto low = all.where([](auto t) { return t.id < 10; });
  const auto high = all.where([](auto t) { return t.id >= 3990; });
  EXPECT_EQ(low.concat(high).count(), 20);
}

struct in_seconds {
  std::optional<chr::sys_seconds> at;
  bool operator==(const in_seconds&) const = default;
};
QUERY_RECORD(in_seconds, at);
struct in_milliseconds {
  std::optional<chr::sys_time<chr::milliseconds>> at;
};
QUERY_RECORD(in_milliseconds, at);

// Parquet has them as milliseconds.
TEST_F(parquet_files, hold_times_in_seconds) {
  std::vector<in_seconds> rows{{std::nullopt}};
  for (int i = -5; i < 5; ++i) rows.push_back({chr::sys_seconds(chr::seconds(i * 1000))});
  query::write_parquet(query::from(rows), at("s.parquet"), {.row_group_rows = 2});
  const auto all = query::read_parquet<in_seconds>(at("s.parquet"));
  EXPECT_EQ(all.to_vector(), rows);
  const chr::sys_seconds zero{};
  EXPECT_EQ(all.where([zero](auto r) { return r.at && *r.at >= zero; }).count(), 5);
  EXPECT_EQ(all.where([zero](auto r) { return r.at && *r.at < zero; }).count(), 5);
  const std::vector<in_milliseconds> between{{chr::sys_time<chr::milliseconds>(chr::milliseconds(1500))}};
  query::write_parquet(query::from(between), at("m.parquet"));
  EXPECT_EQ(error_of([&] { (void)query::read_parquet<in_seconds>(at("m.parquet")).to_vector(); }),
            "read_parquet: m.parquet: field 'at' is in seconds, and the Arrow column has times between them; make the field a "
            "std::chrono::sys_time<std::chrono::milliseconds>");
}

struct measured {
  double x = 0;
  std::optional<double> y;
  bool operator==(const measured&) const = default;
};
QUERY_RECORD(measured, x, y);

TEST_F(parquet_files, keep_nans_and_nulls_for_tests_that_they_pass) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  query::write_parquet(query::from(std::vector<measured>{{nan, 1.0}, {1, std::nullopt}, {nan, std::nullopt}, {nan, 2.0}}), at("m.parquet"),
                       {.row_group_rows = 1});
  const auto all = query::read_parquet<measured>(at("m.parquet"));
  EXPECT_EQ(all.where([](auto m) { return !(m.x < 5.0); }).count(), 3);
  EXPECT_EQ(all.where([](auto m) { return m.x != 1.0; }).count(), 3);
  EXPECT_EQ(all.where([](auto m) { return m.x <= 1.0; }).count(), 1);
  EXPECT_EQ(all.where([](auto m) { return !m.y; }).count(), 2);
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto m) { return !m.y; }).count(), 2); }).skipped, 2u);
  EXPECT_EQ(all.where([](auto m) { return !m.y || *m.y > 1.5; }).count(), 3);
}

TEST_F(parquet_files, stop_when_the_reader_does) {
  query::write_parquet(query::from(trades(100'000)), at("t.parquet"), {.row_group_rows = 1000});
  const auto all = query::read_parquet<trade>(at("t.parquet"));
  EXPECT_LT(cost_of([&] { EXPECT_EQ(all.take(10).to_vector(), trades(10)); }).groups, 10u);
}

TEST_F(parquet_files, of_folders_are_one_source) {
  std::filesystem::create_directories(at("t"));
  const std::vector<trade> rows = trades(3000);
  for (int i = 0; i < 3; ++i)
    query::write_parquet(query::from(std::vector(rows.begin() + i * 1000, rows.begin() + (i + 1) * 1000)),
                         at("t/" + std::to_string(i) + ".parquet"));
  put(at("t/_SUCCESS"), "");
  for (const std::string& path : {at("t"), at("t/"), at("t/*.parquet")})
    EXPECT_EQ(query::read_parquet<trade>(path).to_vector(), rows) << path;
  EXPECT_EQ(query::read_parquet<trade>({at("t/2.parquet"), at("t/0.parquet")}).first().id, 2000);
  query::write_parquet(query::read_parquet<trade>(at("t")), at("copy/"));
  EXPECT_TRUE(std::filesystem::exists(at("copy/part-00000.parquet")));
  EXPECT_EQ(query::read_parquet<trade>(at("copy/")).to_vector(), rows);
}

struct parted {
  std::int64_t id = 0;
  std::int32_t year = 0;
  std::optional<std::string> region;
  std::string file;
  bool operator==(const parted&) const = default;
};
QUERY_RECORD(parted, id, year, region, file);
struct only_id {
  std::int64_t id = 0;
};
QUERY_RECORD(only_id, id);

TEST_F(parquet_files, take_fields_from_names_of_folders) {
  const auto write = [&](const std::string& folder, std::int64_t id) {
    std::filesystem::create_directories(at(folder));
    query::write_parquet(query::from(std::vector<only_id>{{id}, {id + 1}}), at(folder + "/f.parquet"));
  };
  write("p/year=2025/region=north%20sea", 10);
  write("p/year=2026/region=__HIVE_DEFAULT_PARTITION__", 20);
  const auto all = query::read_parquet<parted>(at("p"), {.file_name_in = "file"});
  const std::string first = at("p/year=2025/region=north%20sea/f.parquet");
  const std::string second = at("p/year=2026/region=__HIVE_DEFAULT_PARTITION__/f.parquet");
  const std::vector<parted> rows = {{10, 2025, "north sea", first}, {11, 2025, "north sea", first}, {20, 2026, std::nullopt, second},
                                    {21, 2026, std::nullopt, second}};
  EXPECT_EQ(all.to_vector(), rows);
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto p) { return p.year == 2026; }).count(), 2); }), (cost{1, 1, 0}));
  EXPECT_EQ(cost_of([&] { EXPECT_EQ(all.where([](auto p) { return p.region.has_value(); }).count(), 2); }).skipped, 1u);

  write("bad/year=soon", 1);
  const auto bad = query::read_parquet<parted>(at("bad"), {.columns = {{"region", "year"}}, .file_name_in = "file"});
  EXPECT_EQ(error_of([&] { (void)bad.count(); }),
            "read_parquet: bad/year=soon/f.parquet: the folder 'year=soon' names no value of field 'year', which is i32; give the field "
            "another type");
}

struct renamed {
  std::int64_t number = 0;
  double price = 0;
};
QUERY_RECORD(renamed, number, price);

TEST_F(parquet_files, may_have_other_names_for_columns) {
  query::write_parquet(query::from(trades(100)), at("t.parquet"));
  EXPECT_EQ(query::read_parquet<renamed>(at("t.parquet"), {.columns = {{"number", "id"}}}).sum([](auto r) { return r.number; }), 4950);
}

TEST_F(parquet_files, are_divided_among_partitions) {
  const std::vector<trade> rows = trades(20'000);
  query::write_parquet(query::from(rows), at("t.parquet"), {.row_group_rows = 700});
  std::filesystem::create_directories(at("d"));
  for (int i = 0; i < 3; ++i) std::filesystem::copy_file(at("t.parquet"), at("d/" + std::to_string(i) + ".parquet"));
  std::vector<query::Session> sessions;
  sessions.emplace_back(query::session_options{.threads = 2, .gpu = query::gpu_use::off});
  sessions.back().state()->partitions = 4;
  sessions.push_back(query::Session::cluster("local:3", {.threads = 1, .gpu = query::gpu_use::off}));
  for (const query::Session& s : sessions) {
    s.state()->least_divided_file = 0;
    EXPECT_EQ(query::read_parquet<trade>(at("t.parquet")).in(s).to_vector(), rows);
    const auto all = query::read_parquet<trade>(at("d")).in(s);
    EXPECT_EQ(all.count(), 60'000);
    EXPECT_EQ(all.where([](auto t) { return t.id >= 19'990; }).count(), 30);
    EXPECT_EQ(all.group_by([](auto t) { return t.symbol; }).select([](auto g) { return std::pair(g.key(), g.count()); }).count(), 2);
    query::write_parquet(query::read_parquet<trade>(at("t.parquet")).in(s), at("out/"), {.row_group_rows = 1000});
    EXPECT_EQ(query::read_parquet<trade>(at("out/")).to_vector(), rows);
    EXPECT_GT(std::distance(std::filesystem::directory_iterator(at("out/")), {}), 1);
  }
}

}  // namespace arrow_files_test
