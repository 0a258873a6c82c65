#include <chrono>

#include <query/times.hpp>

#include "corpus/forms.hpp"

namespace corpus {

using std::chrono::sys_days;
using std::chrono::sys_seconds;
using std::chrono::year_month_day;

std::vector<form> times() {
  collector to("times and dates");
  TRACED("times and durations", [](auto t) { return query::make_time<sys_days>(2024, 2, t.lots) + query::make_duration<std::chrono::seconds>(t.lots) * 90; });
  TRACED("comparison in other units", [](auto t) { return query::make_time<sys_seconds>(2024, 2, t.lots) >= sys_days(std::chrono::days(19'800)); });
  TRACED("difference in hours", [](auto t) { return query::total<std::chrono::hours>(query::make_time<sys_seconds>(2024, 2, t.lots, 1, 30) - sys_days()); });
  TRACED("count()", [](auto t) { return query::make_time<sys_seconds>(2024, 2, t.lots).time_since_epoch().count(); });
  TRACED("parts of a time", [](auto t) { return query::year_of(query::make_time<sys_days>(t.lots, 2, 29)) * 10 + query::weekday_of(query::make_time<sys_days>(t.lots, 2, 29)); });
  TRACED("query::floor_to by the calendar", [](auto t) { return query::floor_to(query::make_time<sys_seconds>(2024, 2, t.lots), std::chrono::months(3)); });
  TRACED("comparison of dates", [](auto t) { return query::date_of<year_month_day>(query::make_time<sys_days>(2024, 2, t.lots)) < year_month_day(std::chrono::year(2024), std::chrono::March, std::chrono::day(1)); });
  TRACED("year() of a date", [](auto t) { return query::date_of<year_month_day>(query::make_time<sys_days>(2024, 2, t.lots)).year() == std::chrono::year(2024); });
  OPAQUE("a plain duration times a field", PLAIN, [](auto t) { return std::chrono::seconds(90) * t.lots; });
  OPAQUE("sys_days(date)", PLAIN, [](auto t) { return sys_days(query::date_of<year_month_day>(query::make_time<sys_days>(2024, 2, t.lots))); });
  OPAQUE("query::format_time", "query::format_time makes text, which runs natively", [](auto t) { return query::format_time(query::make_time<sys_days>(2024, 2, t.lots)); });
  return std::move(to.forms);
}

}  // namespace corpus
