// Times in parts, and the counts that hold them: what reading and writing times as text (time_text.hpp) share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <ir/time_text.hpp>

namespace query::ir {

__extension__ using wide = __int128;  // nanoseconds of any 64-bit count of days

inline constexpr wide nanos = 1'000'000'000;
inline constexpr std::int64_t day_seconds = 86'400;
inline constexpr std::int64_t most_year = 25'252'734'927'768'524;  // of the last day that 64 bits count
inline constexpr std::string_view months[] = {"January", "February", "March",     "April",   "May",      "June",
                                              "July",    "August",   "September", "October", "November", "December"};
inline constexpr std::string_view weekdays[] = {"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"};

inline wide floor_divided(wide a, wide b) { return a / b - (a % b < 0); }

struct civil {
  std::int64_t year = 1970, month = 1, day = 1;
  std::int64_t second = 0;  // of the day
  std::int64_t nano = 0;    // of the second
  std::int64_t offset = 0;  // of the zone, in seconds
};

bool exists(const civil& c);
std::int64_t days_of(const civil& c);  // wraps beyond 64 bits
civil civil_of_days(std::int64_t days);

// A year_month_day need not be a date that exists.
inline bool is_date(const type* t) { return t->counts.what == unit::of::date; }
text_of_time store_date(const civil& c, void* to);
civil date_at(const void* from);

bool store_number(kind k, wide n, void* to);  // false: it does not fit
wide number_at(kind k, const void* from);
double floating_at(kind k, const void* from);
void store_floating(kind k, double x, void* to);
// Nanoseconds as a count of the type's unit.
text_of_time store_nanos(const type* t, wide n, void* to);
// The other way, rounded down to nanoseconds; none: not a finite number of them.
std::optional<wide> nanos_at(const type* t, const void* from);

// The letter of a unit in "P1Y2M3DT4H5M6S", and whether it stands among the hours.
struct period_letter {
  std::int64_t seconds;
  char letter;
  bool clock;
};
inline constexpr period_letter letters[] = {{31'556'952, 'Y', false}, {2'629'746, 'M', false}, {604'800, 'W', false}, {86'400, 'D', false},
                                     {3'600, 'H', true},       {60, 'M', true},         {1, 'S', true}};

}  // namespace query::ir
