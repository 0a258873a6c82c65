// Times, durations and dates of std::chrono in CSV files, tables and Arrow columns.
#include <chrono>

#include <query/query.hpp>
#include <query/times.hpp>

#include "data/arrow_fixture.hpp"
#include "data/csv_fixture.hpp"
#include "data/format_value.hpp"

namespace query::data {

using namespace std::chrono;

struct timed_row {
  sys_seconds at;
  sys_time<milliseconds> milli;
  sys_days day;
  year_month_day date;
  milliseconds took;
  std::optional<sys_days> maybe;
  std::optional<year_month_day> maybe_date;
};
QUERY_RECORD(timed_row, at, milli, day, date, took, maybe, maybe_date);

bool operator==(const timed_row& a, const timed_row& b) {
  return a.at == b.at && a.milli == b.milli && a.day == b.day && a.date == b.date && a.took == b.took && a.maybe == b.maybe &&
         a.maybe_date == b.maybe_date;
}

std::vector<timed_row> timed_rows() {
  const sys_days leap(2024y / 2 / 29);
  return {
      {leap + 13h, leap - 1ms, leap, year_month_day(leap), -1'500ms, leap, year_month_day(leap)},
      {sys_seconds(-1s), sys_time<milliseconds>(-1ms), sys_days(days(-1)), 1969y / 12 / 31, 0ms, {}, {}},
      {sys_seconds::max(), sys_time<milliseconds>::min(), sys_days(days(2'000'000'000)), year::min() / 1 / 1, milliseconds::max(), {}, {}}};
}

class times_in_files : public csv_test {
 protected:
  std::string written(const std::vector<timed_row>& rows, csv_options options = {}) const {
    csv_writer w(path("b.csv"), std::move(options), ir::describe<timed_row>());
    w.write(rows.data(), rows.size());
    w.finish(false);
    return text_of("b.csv");
  }
};

TEST_F(times_in_files, csv_is_iso_8601) {
  const auto rows = timed_rows();
  const std::string text = written(rows);
  EXPECT_TRUE(text.starts_with("at,milli,day,date,took,maybe,maybe_date\n"
                               "2024-02-29T13:00:00,2024-02-28T23:59:59.999,2024-02-29,2024-02-29,-PT1.500S,2024-02-29,2024-02-29\n"
                               "1969-12-31T23:59:59,1969-12-31T23:59:59.999,1969-12-31,1969-12-31,PT0.000S,,\n"))
      << text;
  EXPECT_EQ(read<timed_row>(text), rows);
}

TEST_F(times_in_files, json_is_iso_8601_in_strings) {
  const auto rows = timed_rows();
  from(rows).write_json_lines(path("b.jsonl"));
  const std::string text = text_of("b.jsonl");
  EXPECT_TRUE(text.starts_with(R"({"at":"2024-02-29T13:00:00","milli":"2024-02-28T23:59:59.999","day":"2024-02-29","date":"2024-02-29",)"
                               R"("took":"-PT1.500S","maybe":"2024-02-29","maybe_date":"2024-02-29"})"))
      << text;
  EXPECT_EQ(read_json_lines<timed_row>(path("b.jsonl")).to_vector(), rows);
  EXPECT_EQ(read_json_lines<milliseconds>(file("-1500\n\"PT2S\"\n", "c.jsonl")).to_vector(), (std::vector<milliseconds>{-1500ms, 2000ms}));
  const auto error = [&](const char* line) {
    return error_of([&] { (void)read_json_lines<sys_days>(file(line, "d.jsonl")).to_vector(); });
  };
  EXPECT_NE(error("19782\n").find("expected a string with a time[d], found 19782"), std::string::npos) << error("19782\n");
  EXPECT_NE(error("\"2024-02-30\"\n").find("expected time[d], found '2024-02-30'"), std::string::npos) << error("\"2024-02-30\"\n");
}

TEST_F(times_in_files, durations_that_nanoseconds_do_not_hold_are_counts) {
  using picoseconds = duration<std::int64_t, std::pico>;
  using thirds = duration<std::int64_t, std::ratio<1, 3>>;
  using quarters = duration<std::int64_t, std::ratio<900>>;
  const std::vector<std::pair<picoseconds, thirds>> rows{{picoseconds(1234), thirds(-5)}, {picoseconds::max(), thirds::max()}};
  from(rows).write_json_lines(path("b.jsonl"));
  EXPECT_EQ((read_json_lines<std::pair<picoseconds, thirds>>(path("b.jsonl")).to_vector()), rows);
  const std::vector<quarters> long_ones{quarters(6728796361845342192), quarters(-2), quarters::min()};
  from(long_ones).write_json_lines(path("c.jsonl"));
  EXPECT_EQ(read_json_lines<quarters>(path("c.jsonl")).to_vector(), long_ones);
}

TEST_F(times_in_files, days_of_years_that_no_day_has_are_refused) {
  for (const char* text : {"+25252734927768525 001", "-25252734927768525 001", "+99999999999999999 366", "+9999999999999999 366"})
    EXPECT_FALSE(parse_time<sys_days>(text, "%Y %j")) << text;
  // Days of the last year and of the first, which has days that 64 bits do not count.
  for (const std::string text : {"+25252734927768524 001", "+25252734927768524 200", "-25252734927764584 300", "-25252734927764584 001"}) {
    const auto day = parse_time<sys_days>(text, "%Y %j");
    EXPECT_EQ(day ? format_time(*day, "%Y %j") : text, text);
  }
  EXPECT_EQ(parse_time<sys_days>("2024 60", "%Y %j"), sys_days(2024y / 2 / 29));
}

TEST_F(times_in_files, csv_takes_a_format) {
  const csv_options german{.time_format = "%d.%m.%Y %H:%M:%S"};
  const auto rows = timed_rows();
  const std::vector<timed_row> two(rows.begin(), rows.begin() + 2);
  const std::string text = written(two, german);
  EXPECT_NE(text.find("29.02.2024 13:00:00,28.02.2024 23:59:59.999,29.02.2024 00:00:00,"), text.npos) << text;
  EXPECT_EQ(read<timed_row>(text, german), two);
  const csv_options with_comma{.time_format = "%b %d, %Y"};
  EXPECT_NE(written(two, with_comma).find("\"Feb 29, 2024\",\"Feb 28, 2024\""), std::string::npos);
  EXPECT_THROW(read<timed_row>(text, {.time_format = "%Q"}), user_error);
}

TEST_F(times_in_files, csv_says_what_is_wrong) {
  const auto message = [&](const char* text) -> std::string {
    try {
      read<std::optional<sys_days>>(text);
    } catch (const user_error& e) {
      return e.what();
    }
    return "no error";
  };
  const std::string at = message("value\n2024-02-30\n");
  EXPECT_NE(at.find("expected time[d] for column 'value', found '2024-02-30'"), at.npos) << at;
  EXPECT_NE(at.find(".time_format"), at.npos) << at;
}

TEST_F(times_in_files, tables_show_text) {
  const timed_row row = timed_rows()[0];
  EXPECT_EQ(
      format_value(ir::describe<timed_row>(), &row, 6),
      "{at: 2024-02-29T13:00:00, milli: 2024-02-28T23:59:59.999, day: 2024-02-29, date: 2024-02-29, took: -PT1.500S, maybe: 2024-02-29, "
      "maybe_date: 2024-02-29}");
  const std::string table = query::from(timed_rows()).table(3);
  EXPECT_NE(table.find("1969-12-31T23:59:59.999"), table.npos) << table;
  EXPECT_EQ(table.find("date.year"), table.npos) << table;
}

std::string format_of_column(const ArrowSchema& s, int i) { return s.children[i]->format; }

TEST_F(times_in_files, arrow_keeps_times_and_their_units) {
  const auto rows = timed_rows();
  for (const std::size_t n : {0u, 1u, 3u}) {
    const std::vector<timed_row> some(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(n));
    ArrowArray array{};
    ArrowSchema schema{};
    query::to_arrow(query::from(some).to_columns(), &array, &schema);
    EXPECT_EQ(format_of_column(schema, 0), "tss:UTC");
    EXPECT_EQ(format_of_column(schema, 1), "tsm:UTC");
    EXPECT_EQ(format_of_column(schema, 2), "tdD");
    EXPECT_EQ(format_of_column(schema, 3), "tdD");
    EXPECT_EQ(format_of_column(schema, 4), "tDm");
    EXPECT_EQ(format_of_column(schema, 5), "tdD");
    EXPECT_EQ(query::from_arrow<timed_row>(&array, &schema).to_vector(), some);
  }
  ArrowArrayStream stream{};
  query::to_arrow(query::from(rows).where([](auto r) { return r.took != 0ms; }), &stream);
  EXPECT_EQ(query::from_arrow<timed_row>(&stream).count(), 2);
}

struct plain_day { sys_days x; };
QUERY_RECORD(plain_day, x);

TEST_F(times_in_files, arrow_refuses_dates_beyond_its_own) {
  ArrowArray array{};
  ArrowSchema schema{};
  const std::vector<plain_day> rows{{sys_days::max()}};
  EXPECT_THROW(query::to_arrow(query::from(rows).to_columns(), &array, &schema), user_error);
}

struct at_row { sys_time<milliseconds> x; };
QUERY_RECORD(at_row, x);
struct day_row { std::optional<sys_days> x; };
QUERY_RECORD(day_row, x);

template <class T> auto imported(arrow_fixture::column c) {
  ArrowArray array{};
  ArrowSchema schema{};
  const auto all = std::make_shared<arrow_fixture::column>(arrow_fixture::structure(c.length, {std::move(c).named("x")}));
  arrow_fixture::export_schema(all, schema);
  arrow_fixture::export_array(all, array);
  return query::from_arrow<T>(&array, &schema).to_vector();
}

TEST_F(times_in_files, arrow_checks_units) {
  using arrow_fixture::numbers;
  EXPECT_EQ(imported<at_row>(numbers<std::int64_t>("tsm:", {-1, 5}))[1].x, sys_time<milliseconds>(5ms));
  EXPECT_EQ(imported<at_row>(numbers<std::int64_t>("tsm:Europe/Berlin", {-1}))[0].x, sys_time<milliseconds>(-1ms));
  EXPECT_EQ(imported<at_row>(numbers<std::int64_t>("tdm", {86'400'000}))[0].x, sys_days(days(1)));
  EXPECT_EQ(imported<at_row>(numbers<std::int64_t>("l", {7}))[0].x, sys_time<milliseconds>(7ms));
  const auto rows = imported<day_row>(arrow_fixture::with_nulls(numbers<std::int32_t>("tdD", {-1, 9}), {true, false}));
  EXPECT_EQ(rows[0].x, sys_days(days(-1)));
  EXPECT_FALSE(rows[1].x);
  try {
    imported<at_row>(numbers<std::int64_t>("tsu:UTC", {1}));
    ADD_FAILURE() << "the units differ";
  } catch (const user_error& e) {
    const std::string said = e.what();
    EXPECT_NE(said.find("field 'x' is time[ms], the Arrow column is timestamp[us]; give the field the column's unit"), said.npos) << said;
  }
  EXPECT_THROW(imported<at_row>(numbers<std::int64_t>("tDm", {1})), user_error);
  EXPECT_THROW(imported<day_row>(numbers<std::int64_t>("tdm", {1})), user_error);
}

}  // namespace query::data
