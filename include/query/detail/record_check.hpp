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

#include <query/detail/chrono_types.hpp>

namespace query {

template <class T> struct tag { using type = T; };

// A type described by QUERY_RECORD; found by argument-dependent lookup, hence in any namespace.
template <class T> concept record = requires { typename decltype(query_meta(tag<std::remove_cv_t<T>>{}))::types; };

namespace detail {

// Described, be it with errors.
template <class T> concept has_meta = requires { query_meta(tag<T>{}); };

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
inline constexpr bool holds = (std::is_arithmetic_v<F> && sizeof(F) <= 8) || std::is_enum_v<F> || std::is_same_v<F, Row> || record<F> ||
                              ir::counted<F>;
template <class F, class Row> inline constexpr bool holds<const F, Row> = holds<F, Row>;
template <class Row> inline constexpr bool holds<std::string, Row> = true;
template <class E, std::size_t N, class Row> inline constexpr bool holds<std::array<E, N>, Row> = holds<E, Row>;
template <class E, std::size_t N, class Row> inline constexpr bool holds<E[N], Row> = holds<E, Row>;
template <class E, class Row> inline constexpr bool holds<std::optional<E>, Row> = holds<E, Row>;
template <class E, class A, class Row> inline constexpr bool holds<std::vector<E, A>, Row> = holds<E, Row> && !std::is_same_v<E, bool>;
template <class... E, class Row> inline constexpr bool holds<std::tuple<E...>, Row> = (holds<E, Row> && ...);
template <class A, class B, class Row> inline constexpr bool holds<std::pair<A, B>, Row> = holds<A, Row> && holds<B, Row>;

// Stands for the description of a struct with which something is wrong, which Faults say. It is then no record, and what is done
// with its rows goes on natively: little follows from the error.
template <class Faults> struct faulty_record : Faults {};
// Of the query_record<T> that QUERY_RECORD makes.
template <class Record> struct description_choice;
template <template <class> class Record, class T> struct description_choice<Record<T>> {
  using type = std::conditional_t<Record<T>::facts::sound, typename Record<T>::description, faulty_record<typename Record<T>::faults>>;
};
template <class Record> using description_of = typename description_choice<Record>::type;

// Of fields that are all there.
template <bool Listed, class Record> constexpr bool in_order() {
  if constexpr (Listed) {
    using description = typename Record::description;
    for (std::size_t i = 1; i < description::size; ++i)
      if (description::offsets[i] <= description::offsets[i - 1]) return false;
  }
  return true;
}

// What a record that describes itself is described by; of a struct that is not complete yet, hence by name only.
template <class T, template <class> class Record> struct own_meta : description_of<Record<T>> {};

}  // namespace detail

}  // namespace query
