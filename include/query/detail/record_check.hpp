// What QUERY_RECORD asks of a struct and of its fields, so that each mistake is one static_assert that names the fix.
//
//   plain_struct<Trade>              an aggregate without base classes
//   holds<std::string, Trade>        a type that a field of Trade may have
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace query {

template <class T> struct tag { using type = T; };

// A type described by QUERY_RECORD; found by argument-dependent lookup, hence in any namespace.
template <class T> concept record = requires { query_meta(tag<std::remove_cv_t<T>>{}); };

namespace detail {

// How many names a macro's arguments hold.
constexpr std::size_t fields_in(std::string_view names) {
  std::size_t n = 1;
  for (const char c : names) n += c == ',';
  return n;
}
// QUERY_RECORD makes names of its own from the struct's: no a::Row, no Point<3>.
constexpr bool is_identifier(std::string_view name) { return name.find_first_of(":<> ,") == name.npos; }

// Converts to the base classes of T: the first initialiser of an aggregate that has one.
template <class T> struct to_base_of {
  template <class U> requires(std::is_base_of_v<U, T> && !std::is_same_v<U, T>) operator U() const;
};
template <class T> concept complete = requires { sizeof(T); };
template <class T> concept plain_struct = complete<T> && std::is_aggregate_v<T> && !requires { T{to_base_of<T>{}}; };

// Shallow: what a nested record holds was asked at its own QUERY_RECORD. A row may hold a vector of its own kind.
template <class F, class Row>
inline constexpr bool holds = (std::is_arithmetic_v<F> && sizeof(F) <= 8) || std::is_enum_v<F> || std::is_same_v<F, Row> || record<F>;
template <class F, class Row> inline constexpr bool holds<const F, Row> = holds<F, Row>;
template <class Row> inline constexpr bool holds<std::string, Row> = true;
template <class E, std::size_t N, class Row> inline constexpr bool holds<std::array<E, N>, Row> = holds<E, Row>;
template <class E, std::size_t N, class Row> inline constexpr bool holds<E[N], Row> = holds<E, Row>;
template <class E, class Row> inline constexpr bool holds<std::optional<E>, Row> = holds<E, Row>;
template <class E, class A, class Row> inline constexpr bool holds<std::vector<E, A>, Row> = holds<E, Row> && !std::is_same_v<E, bool>;
template <class... E, class Row> inline constexpr bool holds<std::tuple<E...>, Row> = (holds<E, Row> && ...);
template <class A, class B, class Row> inline constexpr bool holds<std::pair<A, B>, Row> = holds<A, Row> && holds<B, Row>;

// What describes a struct with which something is wrong: no fields, so that little follows from the error, which Faults say.
template <class T, class Faults> struct faulty_record : Faults {
  using row = T;
  using types = std::tuple<>;
  static constexpr std::size_t size = 0;
  static constexpr std::string_view name = "faulty";
  static constexpr std::string_view names[1] = {};
  static constexpr std::size_t offsets[1] = {};
  template <template <class> class W> struct shape {
    using query_row_type = T;
  };
  template <class Row> static constexpr std::tuple<> fields(Row&) { return {}; }
};
// Of a query_record_T<T>, which QUERY_RECORD makes.
template <class Record> struct description_choice;
template <template <class> class Record, class T> struct description_choice<Record<T>> {
  using type = std::conditional_t<Record<T>::facts::sound, typename Record<T>::description, faulty_record<T, typename Record<T>::faults>>;
};
template <class Record> using description_of = typename description_choice<Record>::type;

template <class Record> constexpr bool ordered() {
  if constexpr (Record::facts::sound) {
    using description = typename Record::description;
    for (std::size_t i = 1; i < description::size; ++i)
      if (description::offsets[i] <= description::offsets[i - 1]) return false;
  }
  return true;
}

}  // namespace detail

}  // namespace query
