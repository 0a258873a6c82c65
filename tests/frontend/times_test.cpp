// The functions of times on plain values, beside those of <chrono>.
#include <chrono>

#include <gtest/gtest.h>

#include <query/query.hpp>
#include <query/times.hpp>

namespace {

using namespace std::chrono;
using std::chrono::duration_cast;

// Every day of eight centuries, and some far away.
std::vector<sys_days> days_to_try() {
  std::vector<sys_days> all;
  for (int d = -200'000; d <= 100'000; ++d) all.push_back(sys_days(days(d)));
  for (const int y : {-32'767, -400, -1, 0, 1, 9'999, 32'767})
    for (int d = -2; d <= 2; ++d) all.push_back(sys_days(year(y) / 3 / 1) + days(d));
  return all;
}

TEST(times, parts_are_those_of_chrono) {
  for (const sys_days day : days_to_try()) {
    const year_month_day date(day);
    SCOPED_TRACE(day.time_since_epoch().count());
    ASSERT_EQ(query::year_of(day), int(date.year()));
    ASSERT_EQ(query::month_of(day), int(unsigned(date.month())));
    ASSERT_EQ(query::day_of(day), int(unsigned(date.day())));
    ASSERT_EQ(query::weekday_of(day), int(weekday(day).iso_encoding()));
    ASSERT_EQ(query::day_of_year_of(day), (day - sys_days(date.year() / 1 / 1)).count() + 1);
    ASSERT_EQ(query::year_of(date), int(date.year()));
    ASSERT_EQ(query::month_of(date), int(unsigned(date.month())));
    ASSERT_EQ(query::day_of(date), int(unsigned(date.day())));
    ASSERT_EQ(query::weekday_of(date), query::weekday_of(day));
    ASSERT_EQ(query::day_of_year_of(date), query::day_of_year_of(day));
    ASSERT_EQ(query::make_time<sys_days>(date), day);
    ASSERT_EQ(query::make_time<sys_days>(int(date.year()), int(unsigned(date.month())), int(unsigned(date.day()))), day);
    ASSERT_EQ(query::date_of<year_month_day>(day), date);
  }
}

TEST(times, parts_of_the_day_round_down_before_1970) {
  for (const std::int64_t s : {0LL, -1LL, -59LL, -60LL, -3'600LL, -86'399LL, -86'400LL, 86'399LL, 123'456'789LL, -123'456'789LL}) {
    const sys_seconds at{seconds(s)};
    const hh_mm_ss clock(at - floor<days>(at));
    SCOPED_TRACE(s);
    EXPECT_EQ(query::hour_of(at), clock.hours().count());
    EXPECT_EQ(query::minute_of(at), clock.minutes().count());
    EXPECT_EQ(query::second_of(at), clock.seconds().count());
    EXPECT_EQ(query::second_of(sys_time<nanoseconds>(at) + 999'999'999ns), clock.seconds().count());
    EXPECT_EQ(query::floor<days>(at), floor<days>(at));
    EXPECT_EQ(query::floor<hours>(at - sys_days{}), floor<hours>(at - sys_days{}));
  }
  EXPECT_EQ(query::hour_of(sys_days{}), 0);
  EXPECT_EQ(query::minute_of(sys_time<hours>(25h)), 0);
}

TEST(times, buckets_begin_on_mondays_months_and_years) {
  const auto at = [](int y, unsigned m, unsigned d, seconds clock = 0s) {
    return sys_seconds(sys_days(year(y) / month(m) / day(d))) + clock;
  };
  EXPECT_EQ(query::floor_to(at(2024, 2, 29, 13h + 59min), 15min), at(2024, 2, 29, 13h + 45min));
  EXPECT_EQ(query::floor_to(at(1969, 12, 31, 23h + 50min), 1h), at(1969, 12, 31, 23h));
  EXPECT_EQ(query::floor_to(at(2024, 2, 29, 13h), weeks(1)), at(2024, 2, 26));
  EXPECT_EQ(query::floor_to(at(1970, 1, 1), weeks(1)), at(1969, 12, 29));
  EXPECT_EQ(query::floor_to(at(1969, 12, 28), weeks(1)), at(1969, 12, 22));
  EXPECT_EQ(query::floor_to(at(2024, 2, 29, 13h), months(1)), at(2024, 2, 1));
  EXPECT_EQ(query::floor_to(at(2024, 6, 30), months(3)), at(2024, 4, 1));
  EXPECT_EQ(query::floor_to(at(2024, 6, 30), years(1)), at(2024, 1, 1));
  EXPECT_EQ(query::floor_to(at(1969, 6, 30), years(10)), at(1960, 1, 1));
  EXPECT_EQ(query::floor_to(at(-1, 6, 30), years(10)), at(-10, 1, 1));
  EXPECT_EQ(query::floor_to(90s, 1min), 60s);
  EXPECT_EQ(query::floor_to(-90s, 1min), -120s);
  EXPECT_THROW(query::floor_to(at(2024, 1, 1), seconds(0)), query::user_error);
  EXPECT_THROW(query::floor_to(at(2024, 1, 1), months(-1)), query::user_error);
}

TEST(times, conversions_are_those_of_chrono) {
  EXPECT_EQ(query::duration_cast<seconds>(-1'500ms), duration_cast<seconds>(-1'500ms));
  EXPECT_EQ(query::duration_cast<milliseconds>(2h), 2h);
  EXPECT_EQ(query::duration_cast<minutes>(duration<double>(90.5)), 1min);
  EXPECT_EQ(query::time_point_cast<days>(sys_seconds(-1s)), sys_days{});
  EXPECT_EQ(query::total<hours>(90min), 1.5);
  EXPECT_EQ(query::make_duration<seconds>(5), 5s);
  EXPECT_EQ(query::make_duration<duration<double>>(2), duration<double>(2));
  EXPECT_EQ(query::total<seconds>(-1ms), -0.001);
  EXPECT_EQ(query::max(sys_days{}, sys_seconds(5s)), sys_seconds(5s));
  EXPECT_EQ(query::clamp(5s, 1min, 1h), 1min);
}

TEST(times, made_of_parts_that_carry_over) {
  EXPECT_EQ(query::make_time<sys_seconds>(2024, 2, 29, 13, 45, 7), sys_days(2024y / 2 / 29) + 13h + 45min + 7s);
  EXPECT_EQ(query::make_time<sys_time<milliseconds>>(1969, 12, 31, 23), sys_days(1969y / 12 / 31) + 23h);
  EXPECT_EQ(query::make_time<sys_days>(2023, 13, 0), sys_days(2023y / 12 / 31));
  EXPECT_EQ(query::make_time<sys_days>(2023, 2, 29), sys_days(2023y / 3 / 1));
  EXPECT_EQ(query::make_time<sys_seconds>(2024, 1, 1, 24, -1), sys_days(2024y / 1 / 1) + 23h + 59min);
}

TEST(times, months_later_on_the_last_day_of_shorter_months) {
  const sys_seconds at = sys_days(2024y / 1 / 31) + 5h;
  EXPECT_EQ(query::add_months(at, 1), sys_days(2024y / 2 / 29) + 5h);
  EXPECT_EQ(query::add_months(at, 13), sys_days(2025y / 2 / 28) + 5h);
  EXPECT_EQ(query::add_months(at, -2), sys_days(2023y / 11 / 30) + 5h);
  EXPECT_EQ(query::add_months(at, 12), sys_days(2025y / 1 / 31) + 5h);
}

template <class T> std::string round_trip(const char* text, const char* format = "") {
  const auto value = query::parse_time<T>(text, format);
  return value ? query::format_time(*value, format) : "none";
}

TEST(times, are_parsed_and_written_by_iso_8601) {
  EXPECT_EQ(query::parse_time<sys_seconds>("2024-02-29T13:45:07"), sys_days(2024y / 2 / 29) + 13h + 45min + 7s);
  EXPECT_EQ(query::parse_time<sys_seconds>("2024-02-29 13:45Z"), sys_days(2024y / 2 / 29) + 13h + 45min);
  EXPECT_EQ(query::parse_time<sys_seconds>("2024-02-29T13:45:07+05:30"), sys_days(2024y / 2 / 29) + 8h + 15min + 7s);
  EXPECT_EQ(query::parse_time<sys_seconds>("2024-02-29T13:45:07-0100"), sys_days(2024y / 2 / 29) + 14h + 45min + 7s);
  EXPECT_EQ(query::parse_time<sys_days>("1969-12-31"), sys_days(days(-1)));
  EXPECT_EQ(query::parse_time<sys_time<milliseconds>>("1969-12-31T23:59:59.5"), sys_time<milliseconds>(-500ms));
  EXPECT_EQ(query::parse_time<year_month_day>("-0044-03-15"), year(-44) / 3 / 15);
  EXPECT_EQ(round_trip<sys_time<milliseconds>>("2024-02-29T13:45:07.5"), "2024-02-29T13:45:07.500");
  EXPECT_EQ(round_trip<sys_time<nanoseconds>>("1969-12-31T23:59:59.999999999"), "1969-12-31T23:59:59.999999999");
  EXPECT_EQ(round_trip<sys_time<minutes>>("2024-02-29T13:45"), "2024-02-29T13:45");
  EXPECT_EQ(round_trip<sys_days>("+12024-02-29"), "+12024-02-29");
  for (const char* wrong : {"",
                            "2024",
                            "2024-02",
                            "2023-02-29",
                            "2024-13-01",
                            "2024-00-01",
                            "2024-01-00",
                            "2024-02-29T",
                            "2024-02-29T24:00",
                            "2024-02-29T12:60",
                            "2024-02-29T12",
                            "2024-02-29T12:00:00.",
                            "2024-02-29T12:00:00.5",
                            "2024-02-29 12:00 ",
                            " 2024-02-29",
                            "24-02-29",
                            "2024-2-9",
                            "20240229",
                            "2024-02-29T12:00+25:00",
                            "12024-02-29"})
    EXPECT_FALSE(query::parse_time<sys_seconds>(wrong)) << wrong;
  EXPECT_FALSE(query::parse_time<sys_days>("2024-02-29T12:00"));
  EXPECT_EQ(query::parse_time<sys_days>("2024-02-29T00:00"), sys_days(2024y / 2 / 29));
}

TEST(times, extremes_keep_their_text) {
  const auto keeps = []<class T>(T t) { EXPECT_EQ(query::parse_time<T>(query::format_time(t)), t) << query::format_time(t); };
  keeps(sys_seconds::max()), keeps(sys_seconds::min()), keeps(sys_days::max()), keeps(sys_days::min());
  keeps(sys_time<nanoseconds>::max()), keeps(sys_time<nanoseconds>::min()), keeps(sys_time<milliseconds>::max()),
      keeps(sys_time<milliseconds>::min());
  keeps(seconds::max()), keeps(seconds::min()), keeps(nanoseconds::max()), keeps(nanoseconds::min()), keeps(days::min()),
      keeps(hours::max());
  keeps(year_month_day(year::min(), January, day(1))), keeps(year_month_day(year::max(), December, day(31)));
  EXPECT_FALSE(query::parse_time<sys_time<nanoseconds>>("2300-01-01"));
  EXPECT_FALSE(query::parse_time<year_month_day>("+40000-01-01"));
}

TEST(times, durations_are_text_in_iso_8601) {
  EXPECT_EQ(query::format_time(90s), "PT90S");
  EXPECT_EQ(query::format_time(-1'500ms), "-PT1.500S");
  EXPECT_EQ(query::format_time(days(3)), "P3D");
  EXPECT_EQ(query::format_time(duration<double>(2.5)), "PT2.5S");
  EXPECT_EQ(query::parse_time<seconds>("PT1H30M"), 90min);
  EXPECT_EQ(query::parse_time<milliseconds>("-P1DT0.25S"), -(24h + 250ms));
  EXPECT_EQ(query::parse_time<duration<double>>("PT2.5S"), duration<double>(2.5));
  EXPECT_EQ(query::parse_time<seconds>("-15"), -15s);
  EXPECT_EQ(query::parse_time<months>("P1Y2M"), months(14));
  for (const char* wrong : {"", "P", "PT", "P1", "1H", "P1H", "PT1D", "PT1M1H", "P1M", "PT0.5S", "PT99999999999999999999S", "P-1D"})
    EXPECT_FALSE(query::parse_time<seconds>(wrong)) << wrong;
}

TEST(times, formats_are_those_of_chrono_parse) {
  using ms = sys_time<milliseconds>;
  const ms at = sys_days(2024y / 2 / 9) + 15h + 4min + 5s + 60ms;
  EXPECT_EQ(query::format_time(at, "%d.%m.%Y %H:%M"), "09.02.2024 15:04");
  EXPECT_EQ(query::format_time(at, "%A, %e %B %y, %I:%M:%S %p (%a %b %j %u) %%%z"),
            "Friday,  9 February 24, 03:04:05.060 PM (Fri Feb 040 5) %+0000");
  EXPECT_EQ(query::format_time(at, "%FT%T"), "2024-02-09T15:04:05.060");
  EXPECT_EQ(query::format_time(2024y / 2 / 9, "%d/%m/%Y"), "09/02/2024");
  EXPECT_EQ(query::parse_time<ms>("9/2/2024 15:04:05.06", "%d/%m/%Y %H:%M:%S"), at);
  EXPECT_EQ(query::parse_time<ms>("feb 09, 24   3:04 pm", "%b %d, %y %I:%M %p"), sys_days(2024y / 2 / 9) + 15h + 4min);
  EXPECT_EQ(query::parse_time<ms>("12 AM 1999-12-31", "%I %p %F"), sys_days(1999y / 12 / 31));
  EXPECT_EQ(query::parse_time<sys_days>("2024-366", "%Y-%j"), sys_days(2024y / 12 / 31));
  EXPECT_FALSE(query::parse_time<sys_days>("2023-366", "%Y-%j"));
  EXPECT_EQ(query::parse_time<ms>("2024-02-09 15:04 +0100", "%F %R %z"), sys_days(2024y / 2 / 9) + 14h + 4min);
  EXPECT_EQ(query::parse_time<year_month_day>("31.12.99", "%d.%m.%y"), 1999y / 12 / 31);
  EXPECT_FALSE(query::parse_time<ms>("2024-02-09", "%F %R"));
  EXPECT_FALSE(query::parse_time<ms>("2024-02-09x", "%F"));
  try {
    query::parse_time<ms>("2024", "%Q");
    ADD_FAILURE() << "the format is wrong";
  } catch (const query::user_error& e) {
    EXPECT_NE(std::string(e.what()).find("parse_time: the format '%Q': it does not take %Q"), std::string::npos) << e.what();
  }
  EXPECT_THROW(query::format_time(at, "50%"), query::user_error);
}

}  // namespace
