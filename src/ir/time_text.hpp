// Times, durations and dates as text, and back: ISO 8601, or a format as of std::chrono::parse (docs/operators/times.md lists what it
// takes). Files, tables, plans and conditions as text share it.
//
//   std::int64_t at;                                                       // of a std::chrono::sys_seconds
//   parse_counted(describe<sys_seconds>(), "2024-02-29T13:00:00", {}, &at);   // text_of_time::ok
#pragma once

#include <string>
#include <string_view>

#include <query/detail/type.hpp>

namespace query::ir {

enum class text_of_time : unsigned char { ok, malformed, out_of_range };

// Has the type a text of its own? A part of a date is a number.
inline bool is_time_text(const type* t) { return t->counts.ticks() || t->counts.what == unit::of::date; }

// Writes the value at `to`; the whole text must be the value. A time that lies between two counts of its unit is malformed.
text_of_time parse_counted(const type* t, std::string_view text, std::string_view format, void* to);
// Appends the value at `from`.
void append_counted(std::string& out, const type* t, const void* from, std::string_view format);

// Days since 1970 of the year_month_day at `from`; writes that of so many days. False: there is none.
bool days_of_date(const void* from, std::int64_t& days);
bool date_of_days(std::int64_t days, void* to);

// What is wrong with the format; empty: nothing.
std::string wrong_format(std::string_view format);

}  // namespace query::ir
