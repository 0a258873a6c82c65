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
// Is a name among them twice? Of many names, which take as long as the square of their number, only the compiler says so.
constexpr bool repeats_a_name(std::string_view names) {
  if (fields_in(names) > 32) return false;
  const auto ends = [](char c) { return c == ',' || c == ' '; };
  for (std::size_t comma = names.find(','); comma != names.npos; comma = names.find(',')) {
    const std::string_view name = names.substr(0, comma);
    names.remove_prefix(comma + 1);
    while (names.starts_with(' ')) names.remove_prefix(1);
    for (std::size_t at = names.find(name); at != names.npos && !name.empty(); at = names.find(name, at + 1)) {
      const std::size_t after = at + name.size();
      if ((at == 0 || ends(names[at - 1])) && (after == names.size() || ends(names[after]))) return true;
    }
  }
  return false;
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
// The members of what is no struct are not looked for: to g++, those of an enum are an error even in a requires-expression.
template <class T> inline constexpr bool may_be_record = std::is_class_v<T> || std::is_union_v<T>;
template <template <class> class Record, class T> requires(!may_be_record<T>)
struct description_choice<Record<T>> { using type = faulty_record<typename Record<T>::no_struct>; };
template <class Record> using description_of = typename description_choice<Record>::type;
// Is argument-dependent lookup without the description that was written?
template <class T> inline constexpr bool described_elsewhere = may_be_record<T> && !has_meta<T>;

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
