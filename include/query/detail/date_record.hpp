// A std::chrono::year_month_day is a record of its year, month and day, in the order in which it compares.
//
// What QUERY_RECORD makes of a struct, by hand: the members are private, and those of the traced row are functions, as the date's own.
//
//   [](auto t) { return t.born.year() == std::chrono::year(1969) && t.born < limit; }     // traced
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <query/detail/record_check.hpp>

namespace query {

namespace detail {

// Names the template that a shape was made with. Shapes with members (members.hpp) inherit it from their fields.
template <template <class> class W> struct row_form {};

template <class T> struct date_record {
  using year_type = decltype(std::declval<const T&>().year());
  using month_type = decltype(std::declval<const T&>().month());
  using day_type = decltype(std::declval<const T&>().day());

  using row = T;
  using types = std::tuple<year_type, month_type, day_type>;
  static constexpr std::size_t size = 3;
  static constexpr std::string_view name = "date";
  static constexpr std::string_view names[size] = {"year", "month", "day"};
  static constexpr std::size_t offsets[size] = {0, 2, 3};

  template <template <class> class W> struct date_shape {
    using query_form = row_form<W>;
    using query_row_type = T;
    typename W<year_type>::type query_year;
    typename W<month_type>::type query_month;
    typename W<day_type>::type query_day;
    auto year() const { return query_year; }
    auto month() const { return query_month; }
    auto day() const { return query_day; }
    // To the date, and to what it converts to: implicit, so that such functions become opaque.
    operator T() const { return plain_date(tag<T>{}, *this); }  // NOLINT
    template <class U> requires(!std::is_same_v<U, T> && std::is_convertible_v<const T&, U>)
    operator U() const { return plain_date(tag<U>{}, *this); }  // NOLINT
  };
  template <template <class> class W> using shape = date_shape<W>;

  template <class X> static auto fields(X& x) {
    if constexpr (requires { x.query_year; }) {
      return std::tie(x.query_year, x.query_month, x.query_day);
    } else {
      // Its layout, which the sizes leave no choice about.
      const auto* at = reinterpret_cast<const std::byte*>(&x);
      return std::tie(*reinterpret_cast<const year_type*>(at), *reinterpret_cast<const month_type*>(at + offsets[1]),
                      *reinterpret_cast<const day_type*>(at + offsets[2]));
    }
  }
  template <bool Fits> static constexpr void made_of_all() {
    static_assert(Fits, "query::make of a date: give its year, month and day, or use query::make_time<std::chrono::sys_days>(y, m, d)");
  }
  template <std::size_t I, class Value> static constexpr void made_of() { made_of_all<Value::fits>(); }
};

}  // namespace detail

template <ir::date T> detail::date_record<T> query_meta(tag<T>);

}  // namespace query
