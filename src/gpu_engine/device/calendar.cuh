// The calendar in whole numbers: include/query/detail/calendar.hpp on the device, to the bit.
#pragma once

#include "gpu_primitives/types.cuh"

#if QUERY_GPU_DEVICE_CODE

namespace query::gpu {

// Rounded down; b > 0.
__device__ __forceinline__ i64 floor_divide(i64 a, i64 b) { return a / b - i64(a % b < 0); }
__device__ __forceinline__ i64 floor_modulo(i64 a, i64 b) { return a % b + (a % b < 0 ? b : 0); }

// Of the year that begins on 1 March.
struct march_year {
  i64 era, year, day;
};
__device__ __forceinline__ march_year march_year_of(i64 days) {
  const i64 z = floor_modulo(days, 146097) + 719468;
  const i64 era = floor_divide(days, 146097) + z / 146097, day = z % 146097;
  const i64 year = (day - day / 1460 + day / 36524 - day / 146096) / 365;
  return {era, year, day - (365 * year + year / 4 - year / 100)};
}
__device__ __forceinline__ i64 month_of_days(i64 days) {
  const march_year m = march_year_of(days);
  return 12 * (400 * m.era + m.year) + (5 * m.day + 2) / 153 + 2;
}
__device__ __forceinline__ i64 day_of_days(i64 days) {
  const march_year m = march_year_of(days);
  const i64 month = (5 * m.day + 2) / 153;
  return m.day - (153 * month + 2) / 5 + 1;
}
__device__ __forceinline__ i64 days_of_month(i64 months) {
  const i64 since_march = i64(u64(months) - 2ull);
  const i64 year = floor_divide(since_march, 12), month = floor_modulo(since_march, 12);
  const i64 era = floor_divide(year, 400), of_era = floor_modulo(year, 400);
  const i64 day = (153 * month + 2) / 5 + 365 * of_era + of_era / 4 - of_era / 100;
  return i64(u64(era) * 146097ull + u64(day) - 719468ull);
}

}  // namespace query::gpu

#endif
