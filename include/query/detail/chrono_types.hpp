// The types of <chrono> that rows may hold, recognised by their members, so that the library needs no <chrono>: it costs each file that
// includes it more time than all of this library's declarations of a kind.
//
// A duration and a time_point of the system clock are their count; year, month and day are the number that they hold.
// The engines treat all of these as they treat an enum: a number with a type of its own. A year_month_day is a record of three of them.
//
//   ir::counted<std::chrono::milliseconds>                        // true
//   ir::number_in_t<std::chrono::sys_days>                        // std::int64_t
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace query::ir {

namespace chrono {
template <class T> concept word = std::is_class_v<T> && sizeof(T) <= 8 && std::is_trivially_copyable_v<T>;
}  // namespace chrono

template <class T> concept duration = std::is_class_v<T> && requires(const T& d) {
  typename T::rep;
  T::period::num;
  T::period::den;
  { d.count() } -> std::same_as<typename T::rep>;
} && std::is_arithmetic_v<typename T::rep> && chrono::word<T> && sizeof(T) == sizeof(typename T::rep);

// Only the system clock gives dates. Times of other clocks, such as steady_clock, mean nothing outside the process.
template <class T> concept time_point = std::is_class_v<T> && requires(const T& t) {
  typename T::clock;
  { t.time_since_epoch() } -> std::same_as<typename T::duration>;
} && duration<typename T::duration> && chrono::word<T> && requires { &T::clock::to_time_t; };

template <class T> concept year = std::is_class_v<T> && requires(const T& y) {
  { y.is_leap() } -> std::same_as<bool>;
  static_cast<int>(y);
} && chrono::word<T> && sizeof(T) == 2;
template <class T> concept month_or_day = std::is_class_v<T> && requires(const T& x) {
  { x.ok() } -> std::same_as<bool>;
  static_cast<unsigned>(x);
} && chrono::word<T> && sizeof(T) == 1;
template <class T> concept date_part = year<T> || month_or_day<T>;

template <class T> concept date = std::is_class_v<T> && requires(const T& d) {
  requires year<decltype(d.year())>;
  requires month_or_day<decltype(d.month())>;
  requires month_or_day<decltype(d.day())>;
  T(d.year(), d.month(), d.day());
} && chrono::word<T> && sizeof(T) == 4;

template <class T> concept ticking = duration<T> || time_point<T>;
template <class T> concept counted = ticking<T> || date_part<T>;

template <class T> struct number_in;
template <duration T> struct number_in<T> { using type = typename T::rep; };
template <time_point T> struct number_in<T> { using type = typename T::duration::rep; };
template <year T> struct number_in<T> { using type = std::int16_t; };
template <month_or_day T> struct number_in<T> { using type = std::uint8_t; };
template <class T> using number_in_t = typename number_in<T>::type;

template <class T> struct duration_in { using type = T; };
template <time_point T> struct duration_in<T> { using type = typename T::duration; };
template <ticking T> using duration_in_t = typename duration_in<T>::type;
template <ticking T> using period_of = typename duration_in_t<T>::period;

// The unit of a number: num / den seconds, since 1970 or of a duration; or a part of a date. `nothing` marks a plain number.
struct unit {
  enum class of : std::uint8_t { nothing, duration, time, date_part, date };
  of what = of::nothing;
  std::int64_t num = 0, den = 0;
  bool ticks() const { return what == of::duration || what == of::time; }
  bool operator==(const unit&) const = default;
};

template <class T> constexpr unit unit_of() {
  if constexpr (duration<T>) return {unit::of::duration, T::period::num, T::period::den};
  else if constexpr (time_point<T>) return {unit::of::time, T::duration::period::num, T::duration::period::den};
  else if constexpr (date_part<T>) return {unit::of::date_part, 0, 0};
  else if constexpr (date<T>) return {unit::of::date, 0, 0};
  else return {};
}

// "time[ms]", as plans and errors name a type.
constexpr std::string_view unit_name(const unit& u) {
  if (u.what == unit::of::date) return "date";
  if (u.what == unit::of::date_part) return "date part";
  struct named {
    std::int64_t num, den;
    std::string_view time, duration;
  };
  constexpr named all[] = {{1, 1, "time[s]", "duration[s]"},
                           {1, 1'000, "time[ms]", "duration[ms]"},
                           {1, 1'000'000, "time[us]", "duration[us]"},
                           {1, 1'000'000'000, "time[ns]", "duration[ns]"},
                           {60, 1, "time[min]", "duration[min]"},
                           {3'600, 1, "time[h]", "duration[h]"},
                           {86'400, 1, "time[d]", "duration[d]"}};
  for (const named& n : all)
    if (n.num == u.num && n.den == u.den) return u.what == unit::of::time ? n.time : n.duration;
  return u.what == unit::of::time ? "time" : "duration";
}

// ---------------------------------------------------------------- conversions between units
constexpr std::int64_t greatest_divisor(std::int64_t a, std::int64_t b) { return b == 0 ? a : greatest_divisor(b, a % b); }

// A count of From * num / den is a count of To.
template <class From, class To> struct unit_ratio {
  static constexpr std::int64_t over = greatest_divisor(From::num, To::num), under = greatest_divisor(From::den, To::den);
  static constexpr std::int64_t num = (From::num / over) * (To::den / under);
  static constexpr std::int64_t den = (From::den / under) * (To::num / over);
};

// The time_point or duration that counts in units of the duration D.
template <class T, class D> struct with_duration { using type = D; };
template <template <class, class> class Point, class Clock, class Own, class D> requires time_point<Point<Clock, Own>>
struct with_duration<Point<Clock, Own>, D> { using type = Point<Clock, D>; };
template <class T, class D> using with_duration_t = typename with_duration<T, D>::type;

}  // namespace query::ir
