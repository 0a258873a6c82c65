// A row or a key that a user writes as a value. Integers of any type do for integers, as far as they fit: one that does not is an error
// where it would become a row, and nowhere among the rows where it is asked for.
//
//   ids.append(7);                     // ids are std::int32_t
//   ids.append(4'000'000'000);         // user_error
//   ids.contains(4'000'000'000);       // false
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <query/detail/failure.hpp>
#include <query/detail/narrowing.hpp>

namespace query::detail {

template <class T> struct integer_in { using type = T; };
template <class I> struct integer_in<std::optional<I>> { using type = I; };

// T: an integer, or an optional one.
template <class T> class given_integer {
  using integer = typename integer_in<T>::type;

 public:
  constexpr given_integer() = default;
  template <class X>
  requires(std::is_convertible_v<const X&, T> && !std::is_floating_point_v<X> && !std::is_same_v<X, std::optional<float>> &&
           !std::is_same_v<X, std::optional<double>>)
  constexpr given_integer(const X& x) : value_(static_cast<T>(x)) {
    if constexpr (ir::is_optional_v<X>) {
      if (x) look_at(*x);
    } else {
      look_at(x);
    }
  }
  constexpr bool fits() const { return fits_; }
  constexpr T value() const { return value_; }
  std::string number() const { return negative_ ? std::to_string(static_cast<std::int64_t>(number_)) : std::to_string(number_); }

 private:
  template <class N> constexpr void look_at(const N& n) {
    if constexpr (may_not_fit<N, integer>) {
      fits_ = detail::fits<integer>(n);
      negative_ = n < N{};
      number_ = static_cast<std::uint64_t>(n);
    }
  }

  T value_ = T();
  bool fits_ = true, negative_ = false;
  std::uint64_t number_ = 0;  // as it was given, where it may not fit
};

// What a verb of rows T takes for one of them.
template <class T>
inline constexpr bool checked_integer =
    std::is_integral_v<typename integer_in<T>::type> && !std::is_same_v<typename integer_in<T>::type, bool>;
template <class T> using given_row = std::conditional_t<checked_integer<T>, given_integer<T>, T>;

template <class T> constexpr bool fits_rows(const given_row<T>& given) {
  if constexpr (checked_integer<T>) return given.fits();
  else return true;
}
// Where it fits.
template <class T> constexpr decltype(auto) row_of_given(const given_row<T>& given) {
  if constexpr (checked_integer<T>) return given.value();
  else return (given);
}

[[noreturn]] void row_does_not_fit(std::string_view verb, const std::string& number, std::size_t bytes, call_site at);
// The row; a user_error of the verb where it does not fit.
template <class T> T fitting_row(std::string_view verb, given_row<T>& given, call_site at) {
  if constexpr (checked_integer<T>) {
    if (!given.fits()) row_does_not_fit(verb, given.number(), sizeof(typename integer_in<T>::type), at);
    return given.value();
  } else {
    return std::move(given);
  }
}

}  // namespace query::detail
