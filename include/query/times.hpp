// Functions for std::chrono's times, durations and dates. They work in native code, in traced lambdas and on the GPU.
//
//   .group_by([](auto t) { return query::floor_to(t.at, 15min); })             // buckets of 15 minutes
//   .where([](auto t) { return query::weekday_of(t.at) <= 5 && query::hour_of(t.at) < 9; })
//
//   duration_cast<D>(d), time_point_cast<D>(t)   as in std::chrono: rounded towards zero
//   floor<D>(x)                                  a time or a duration in whole units of D, rounded down
//   floor_to(t, width)                           the start of the bucket that contains t
//   year_of, month_of, day_of, day_of_year_of, weekday_of, hour_of, minute_of, second_of   as int
//   total<D>(d)                                  the length of d in units of D, with its fraction, as double
//   make_duration<D>(n)                          n units of D
//   make_time<T>(year, month, day, hour, minute, second), make_time<T>(date), date_of<Date>(t)   from parts, and back
//   add_months(t, n)                             n months later, on the same day, or on the last one if the month is shorter
//   parse_time<T>(text, format), format_time(t, format)   always run natively
//
// Times are those of std::chrono::system_clock, which counts UTC. The calendar is the proleptic Gregorian one, as in
// std::chrono. Include <chrono> for the types; this header needs none of it.
#pragma once

#include <cstdint>
#include <optional>
#include <ratio>
#include <string>
#include <string_view>

#include <query/detail/calendar.hpp>
#include <query/functions.hpp>

namespace query {

namespace detail {

template <class X> concept time_value = operand<X> && ir::time_point<value_of_t<X>>;
template <class X> concept duration_value = operand<X> && ir::duration<value_of_t<X>>;
template <class X> concept ticking_value = time_value<X> || duration_value<X>;
template <class X> concept date_value = ir::date<plain_operand_t<X>>;
template <class X> concept whole_number = operand<X> && std::is_integral_v<value_of_t<X>>;

// Calls that engines know by name. They take and return std::int64_t.
#define QUERY_DETAIL_CALENDAR(function)                                                                                       \
  struct function##_fn {                                                                                                      \
    template <class... X> auto operator()(const X&... x) const {                                                              \
      if constexpr (any_symbolic<X...>)                                                                                       \
        return wrap<std::int64_t>(                                                                                            \
            ir::current_arena().put(ir::op::call, ir::describe<std::int64_t>(), {node_as<std::int64_t>(x)...}, 0, 0, #function)); \
      else return calendar::function(static_cast<std::int64_t>(x)...);                                                        \
    }                                                                                                                         \
  };
QUERY_DETAIL_CALENDAR(floor_divide) QUERY_DETAIL_CALENDAR(floor_modulo) QUERY_DETAIL_CALENDAR(month_of_days)
QUERY_DETAIL_CALENDAR(day_of_days) QUERY_DETAIL_CALENDAR(days_of_month)
#undef QUERY_DETAIL_CALENDAR

// The count of x in its own unit, a std::int64_t.
template <class X> auto count_of(const X& x) {
  using V = value_of_t<X>;
  static_assert(std::is_integral_v<ir::number_in_t<V>>,
                "query: this function takes times that count in whole numbers: use query::floor<D>(t) "
                "with a D such as std::chrono::seconds");
  if constexpr (symbolic<X>) return wrap<std::int64_t>(ir::make_cast(ir::current_arena(), x.get(), ir::describe<std::int64_t>()));
  else if constexpr (ir::time_point<V>) return static_cast<std::int64_t>(x.time_since_epoch().count());
  else return static_cast<std::int64_t>(x.count());
}
// A time or a duration of n units.
template <class T, class N> auto of_count(const N& n) {
  using D = ir::duration_in_t<T>;
  if constexpr (symbolic<N>) return wrap<T>(ir::make_cast(ir::current_arena(), node_of(n), ir::describe<T>()));
  else return T(D(static_cast<typename D::rep>(n)));
}

template <class To> using in_days = ir::unit_ratio<std::ratio<86'400>, typename To::period>;

// A time or a duration x, counted in whole units of `Period` and rounded down.
template <class Period, class X> auto whole(const X& x) {
  using ratio = ir::unit_ratio<ir::period_of<value_of_t<X>>, Period>;
  const auto n = count_of(x);
  if constexpr (ratio::num == 1 && ratio::den == 1) return n;
  else if constexpr (ratio::num == 1) return floor_divide_fn{}(n, ratio::den);
  else if constexpr (ratio::den == 1) return n * ratio::num;
  else return floor_divide_fn{}(n * ratio::num, ratio::den);
}
template <class X> auto whole_days(const X& x) { return whole<std::ratio<86'400>>(x); }
template <class X> auto as_int(const X& x) { return cast_fn<std::int32_t>{}(x); }
// The number of units `Unit` since the last unit `Of` began: the minute of the hour.
template <class Unit, class Of, class X> auto unit_within(const X& x) {
  using ratio = ir::unit_ratio<Of, Unit>;
  return as_int(floor_modulo_fn{}(whole<Unit>(x), ratio::num));
}

using week_period = std::ratio<604'800>;
using month_period = std::ratio<2'629'746>;
using year_period = std::ratio<31'556'952>;
template <class Period>
inline constexpr bool by_calendar = std::ratio_equal_v<Period, month_period> || std::ratio_equal_v<Period, year_period>;

[[noreturn]] void bucket_without_width();
// Returns false if the text is not a value of this type.
bool parse_time_text(const ir::type* t, std::string_view text, std::string_view format, void* to);
std::string format_time_text(const ir::type* t, const void* value, std::string_view format);

// The time at the start of a day, given in days since 1970.
template <class T, class N> auto at_day(const N& days) {
  using ratio = ir::unit_ratio<std::ratio<86'400>, ir::period_of<T>>;
  static_assert(ratio::den == 1, "query: the time's unit is longer than a day");
  if constexpr (ratio::num == 1) return of_count<T>(days);
  else return of_count<T>(days * ratio::num);
}

// A year, month or day as a number, also of a traced date.
template <class X> auto number_of_part(const X& part) {
  if constexpr (symbolic<X>) return wrap<std::int64_t>(ir::make_cast(ir::current_arena(), part.get(), ir::describe<std::int64_t>()));
  else if constexpr (ir::year<X>) return static_cast<std::int64_t>(static_cast<int>(part));
  else return static_cast<std::int64_t>(static_cast<unsigned>(part));
}
template <class X> auto months_of_date(const X& d) { return number_of_part(d.year()) * 12 + number_of_part(d.month()) - 1; }
template <class X> auto days_of_date(const X& d) { return days_of_month_fn{}(months_of_date(d)) + number_of_part(d.day()) - 1; }
// The days from 1970 to a time or a date.
template <class X> auto days_since_1970(const X& x) {
  if constexpr (date_value<X>) return days_of_date(x);
  else return whole_days(x);
}
template <class X> concept dated = time_value<X> || date_value<X>;

}  // namespace detail

// Converts a duration to the unit of D, as std::chrono::duration_cast does: rounded towards zero.
template <class D, detail::duration_value X> auto duration_cast(const X& x) {
  static_assert(ir::duration<D>, "query::duration_cast<D>(x): D is a std::chrono::duration");
  if constexpr (detail::symbolic<X>) return detail::wrap<D>(detail::node_as<D>(x));
  else {
    using ratio = ir::unit_ratio<typename X::period, typename D::period>;
    using Number = std::common_type_t<typename X::rep, typename D::rep, std::intmax_t>;
    return D(
        static_cast<typename D::rep>(static_cast<Number>(x.count()) * static_cast<Number>(ratio::num) / static_cast<Number>(ratio::den)));
  }
}
// The same for a time.
template <class D, detail::time_value X> auto time_point_cast(const X& x) {
  using T = ir::with_duration_t<detail::value_of_t<X>, D>;
  if constexpr (detail::symbolic<X>) return detail::wrap<T>(detail::node_as<T>(x));
  else return T(query::duration_cast<D>(x.time_since_epoch()));
}
// Rounds a time or a duration down to whole units of D: floor<std::chrono::days>(t) is the day of t.
template <class D, detail::ticking_value X> requires ir::duration<D> auto floor(const X& x) {
  using T = ir::with_duration_t<detail::value_of_t<X>, D>;
  return detail::of_count<T>(detail::whole<typename D::period>(x));
}

// The start of the bucket of this width that contains the time or the duration. Buckets are counted from the start of 1970, and those of
// std::chrono::weeks from a Monday. Buckets of months and years follow the calendar, from the year 0 on: months(3) is a quarter.
// Throws a user_error if the width is not positive.
template <detail::ticking_value X, ir::duration W> auto floor_to(const X& x, const W& width) {
  using V = detail::value_of_t<X>;
  using D = ir::duration_in_t<V>;
  const std::int64_t n = static_cast<std::int64_t>(width.count());
  if (n <= 0) detail::bucket_without_width();
  if constexpr (ir::time_point<V> && detail::by_calendar<typename W::period>) {
    const std::int64_t months = std::ratio_equal_v<typename W::period, detail::year_period> ? n * 12 : n;
    const auto month = detail::month_of_days_fn{}(detail::whole_days(x));
    return detail::at_day<V>(detail::days_of_month_fn{}(month - detail::floor_modulo_fn{}(month, months)));
  } else {
    static_assert(std::is_convertible_v<W, D>, "query::floor_to(t, width): the width must be whole units of the time's type");
    const std::int64_t units = static_cast<std::int64_t>(D(width).count());
    const auto count = detail::count_of(x);
    if constexpr (ir::time_point<V> && std::ratio_equal_v<typename W::period, detail::week_period>) {
      constexpr std::int64_t from_monday = 3 * detail::in_days<D>::num / detail::in_days<D>::den;  // 1 January 1970 is a Thursday
      return detail::of_count<V>(count - detail::floor_modulo_fn{}(count + from_monday, units));
    } else {
      return detail::of_count<V>(count - detail::floor_modulo_fn{}(count, units));
    }
  }
}

// Parts of a time or a date: the year, the month from 1 to 12, the day of the month from 1 to 31, the day of the year from 1 to 366, and
// the day of the week from 1 (Monday) to 7 (Sunday), as in ISO 8601.
template <detail::dated X> auto year_of(const X& t) {
  if constexpr (detail::date_value<X>) return detail::as_int(detail::number_of_part(t.year()));
  else return detail::as_int(detail::floor_divide_fn{}(detail::month_of_days_fn{}(detail::whole_days(t)), std::int64_t{12}));
}
template <detail::dated X> auto month_of(const X& t) {
  if constexpr (detail::date_value<X>) return detail::as_int(detail::number_of_part(t.month()));
  else return detail::as_int(detail::floor_modulo_fn{}(detail::month_of_days_fn{}(detail::whole_days(t)), std::int64_t{12})) + 1;
}
template <detail::dated X> auto day_of(const X& t) {
  if constexpr (detail::date_value<X>) return detail::as_int(detail::number_of_part(t.day()));
  else return detail::as_int(detail::day_of_days_fn{}(detail::whole_days(t)));
}
template <detail::dated X> auto day_of_year_of(const X& t) {
  const auto days = detail::days_since_1970(t);
  const auto month = detail::month_of_days_fn{}(days);
  return detail::as_int(days - detail::days_of_month_fn{}(month - detail::floor_modulo_fn{}(month, std::int64_t{12}))) + 1;
}
template <detail::dated X> auto weekday_of(const X& t) {
  return detail::as_int(detail::floor_modulo_fn{}(detail::days_since_1970(t) + std::int64_t{3}, std::int64_t{7})) + 1;
}
// Parts of a time: the hour of the day, the minute of the hour, the second of the minute, without its fraction.
template <detail::time_value X> auto hour_of(const X& t) { return detail::unit_within<std::ratio<3'600>, std::ratio<86'400>>(t); }
template <detail::time_value X> auto minute_of(const X& t) { return detail::unit_within<std::ratio<60>, std::ratio<3'600>>(t); }
template <detail::time_value X> auto second_of(const X& t) { return detail::unit_within<std::ratio<1>, std::ratio<60>>(t); }

// The length of a duration in units of D, with its fraction: total<std::chrono::hours>(90min) is 1.5.
template <class D, detail::duration_value X> auto total(const X& x) {
  using ratio = ir::unit_ratio<ir::period_of<detail::value_of_t<X>>, typename D::period>;
  const auto count = detail::cast_fn<double>{}(x.count());
  if constexpr (ratio::num == 1) return count / static_cast<double>(ratio::den);
  else return count * static_cast<double>(ratio::num) / static_cast<double>(ratio::den);
}

// A duration of n units of D. If n is a plain number, this is D(n).
template <class D, detail::numeric_value N> auto make_duration(const N& n) {
  static_assert(ir::duration<D>, "query::make_duration<D>(n): D is a std::chrono::duration");
  using Number = typename D::rep;
  if constexpr (detail::symbolic<N>)
    return detail::wrap<D>(ir::make_cast(ir::current_arena(), detail::node_as<Number>(n), ir::describe<D>()));
  else return D(static_cast<Number>(n));
}
// The time with these parts, which are whole numbers. Parts outside their ranges carry over: month 13 is January of the next year, and
// day 0 is the last day of the month before.
template <class T, detail::whole_number Year, detail::whole_number Month, detail::whole_number Day, detail::whole_number... Clock>
requires(sizeof...(Clock) <= 3)
auto make_time(const Year& year, const Month& month, const Day& day, const Clock&... clock) {
  static_assert(ir::time_point<T>, "query::make_time<T>(...): T is a time, such as std::chrono::sys_seconds or std::chrono::sys_days");
  constexpr auto wide = [](const auto& x) { return detail::cast_fn<std::int64_t>{}(x); };
  const auto days = detail::days_of_month_fn{}(wide(year) * std::int64_t{12} + wide(month) - std::int64_t{1}) + wide(day) - std::int64_t{1};
  if constexpr (sizeof...(Clock) == 0) {
    return detail::at_day<T>(days);
  } else {
    using ratio = ir::unit_ratio<std::ratio<1>, ir::period_of<T>>;
    static_assert(ratio::den == 1,
                  "query::make_time<T>(year, month, day, hour, ...): T counts seconds or shorter units, as sys_seconds does");
    constexpr std::int64_t seconds[] = {3'600, 60, 1};
    const auto second = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((days * std::int64_t{86'400}) + ... + (wide(clock) * seconds[I]));
    }(std::index_sequence_for<Clock...>{});
    if constexpr (ratio::num == 1) return detail::of_count<T>(second);
    else return detail::of_count<T>(second * std::int64_t{ratio::num});
  }
}
// The time at the start of a std::chrono::year_month_day.
template <class T, detail::date_value X> auto make_time(const X& date) {
  static_assert(ir::time_point<T>, "query::make_time<T>(date): T is a time, such as std::chrono::sys_days");
  return detail::at_day<T>(detail::days_of_date(date));
}
// The date of a time: date_of<std::chrono::year_month_day>(t).
template <class Date, detail::time_value X> auto date_of(const X& t) {
  static_assert(ir::date<Date>, "query::date_of<Date>(t): Date is std::chrono::year_month_day");
  using parts = detail::date_record<Date>;
  const auto days = detail::whole_days(t);
  const auto month = detail::month_of_days_fn{}(days);
  const auto of = [&](const auto& n, auto part) {
    using Part = typename decltype(part)::type;
    using N = ir::number_in_t<Part>;
    if constexpr (detail::symbolic<X>)
      return detail::wrap<Part>(ir::make_cast(ir::current_arena(), detail::cast_fn<N>{}(n).get(), ir::describe<Part>()));
    else if constexpr (ir::year<Part>) return Part(static_cast<int>(n));
    else return Part(static_cast<unsigned>(n));
  };
  return std::conditional_t<detail::symbolic<X>, detail::twin_t<Date>, Date>{
      of(detail::floor_divide_fn{}(month, std::int64_t{12}), tag<typename parts::year_type>{}),
      of(detail::floor_modulo_fn{}(month, std::int64_t{12}) + std::int64_t{1}, tag<typename parts::month_type>{}),
      of(detail::day_of_days_fn{}(days), tag<typename parts::day_type>{})};
}

// n months later, or earlier if n is negative, at the same time of day. If the month has no such day, the last day of the month.
template <detail::time_value X, detail::whole_number N> auto add_months(const X& t, const N& n) {
  using V = detail::value_of_t<X>;
  const auto days = detail::whole_days(t);
  const auto first = detail::month_of_days_fn{}(days) + detail::cast_fn<std::int64_t>{}(n);
  const auto begin = detail::days_of_month_fn{}(first), length = detail::days_of_month_fn{}(first + std::int64_t{1}) - begin;
  const auto day = query::min(detail::cast_fn<std::int64_t>{}(detail::day_of_days_fn{}(days)), length);
  const auto moved = begin + day - std::int64_t{1} - days;
  return detail::of_count<V>(detail::count_of(t) + detail::count_of(detail::at_day<typename ir::duration_in_t<V>>(moved)));
}

// Reads the whole text as a time, a duration or a date. Returns an empty optional if the text is no such value. Without a format, the text
// follows ISO 8601, as "2024-02-29", "2024-02-29T13:45:00.5+01:00" or, for a duration, "PT1H30M" do. Formats work as in
// std::chrono::parse (docs/operators/times.md). A function that calls parse_time runs natively.
template <class T> std::optional<T> parse_time(std::string_view text, std::string_view format = {}) {
  static_assert(ir::ticking<T> || ir::date<T>, "query::parse_time<T>(text): T is a time, a duration or a year_month_day of std::chrono");
  T value{};
  if (!detail::parse_time_text(ir::describe<T>(), text, format, &value)) return std::nullopt;
  return value;
}
// The text of a time, a duration or a date, in the same formats.
template <class T> std::string format_time(const T& t, std::string_view format = {}) {
  using V = detail::held_t<T>;
  static_assert(ir::ticking<V> || ir::date<V>, "query::format_time(t): t is a time, a duration or a year_month_day of std::chrono");
  if constexpr (detail::is_twin_v<T>) ir::give_up("query::format_time makes text, which runs natively");
  else return detail::format_time_text(ir::describe<T>(), &t, format);
}

}  // namespace query
