// The calendar in whole numbers: days since 1970 and months since the year 0, both ways.
//
// Method: H. Hinnant, "chrono-Compatible Low-Level Date Algorithms" (howardhinnant.github.io/date_algorithms.html). The interpreter calls
// the functions by these names; src/gpu_engine/device/calendar.cuh has them for the GPU. Days may be any number; days_of_month wraps.
//
//   calendar::month_of_days(19'782)                 // 24'290: February 2024, 12 * 2024 + 1
//   calendar::days_of_month(24'290)                 // 19'754: 1 February 2024
#pragma once

#include <cstdint>

namespace query::detail::calendar {

using i64 = std::int64_t;
using u64 = std::uint64_t;

// a / b and a % b, rounded down; b > 0.
constexpr i64 floor_divide(i64 a, i64 b) { return a / b - (a % b < 0); }
constexpr i64 floor_modulo(i64 a, i64 b) { return a % b + (a % b < 0 ? b : 0); }

constexpr i64 days_from_march_of_0_to_1970 = 719'468, days_in_400_years = 146'097;

struct march_year {
  i64 era;   // of 400 years
  i64 year;  // of the era, [0, 399], begins on 1 March
  i64 day;   // of the year, [0, 365]
};
constexpr march_year march_year_of(i64 days) {
  const i64 z = floor_modulo(days, days_in_400_years) + days_from_march_of_0_to_1970;
  const i64 era = floor_divide(days, days_in_400_years) + z / days_in_400_years, day = z % days_in_400_years;
  const i64 year = (day - day / 1460 + day / 36'524 - day / 146'096) / 365;
  return {era, year, day - (365 * year + year / 4 - year / 100)};
}

// 12 * year + month - 1.
constexpr i64 month_of_days(i64 days) {
  const march_year m = march_year_of(days);
  const i64 month = (5 * m.day + 2) / 153;  // 0: March
  return 12 * (400 * m.era + m.year) + month + 2;
}
// [1, 31]
constexpr i64 day_of_days(i64 days) {
  const march_year m = march_year_of(days);
  const i64 month = (5 * m.day + 2) / 153;
  return m.day - (153 * month + 2) / 5 + 1;
}
// The first day of such a month.
constexpr i64 days_of_month(i64 months) {
  const i64 since_march = static_cast<i64>(static_cast<u64>(months) - 2);
  const i64 year = floor_divide(since_march, 12), month = floor_modulo(since_march, 12);
  const i64 era = floor_divide(year, 400), of_era = floor_modulo(year, 400);
  const i64 day = (153 * month + 2) / 5 + 365 * of_era + of_era / 4 - of_era / 100;
  return static_cast<i64>(static_cast<u64>(era) * u64{days_in_400_years} + static_cast<u64>(day) - u64{days_from_march_of_0_to_1970});
}

}  // namespace query::detail::calendar
