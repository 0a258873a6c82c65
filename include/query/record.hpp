// QUERY_RECORD: describes a struct to the library, so that lambdas can be traced, columns pruned and rows moved.
//
//   struct Trade { std::int32_t symbol; double price; std::int64_t qty; };
//   QUERY_RECORD(Trade, symbol, price, qty);
//
// Write it in the namespace of the struct, right after it, with every field in declaration order. Field types: integers,
// float, double, bool, enums, std::array of those, std::string, std::optional, nested records, std::vector.
// A struct template needs an alias: `using P3 = Point<3>; QUERY_RECORD(P3, x);`. A record must be a plain aggregate at
// namespace scope, without base classes. At most 256 fields.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace query {

template <class T> struct tag { using type = T; };

// A type described by QUERY_RECORD; found by argument-dependent lookup, hence in any namespace.
template <class T> concept record = requires { query_meta(tag<std::remove_cv_t<T>>{}); };
template <record T> using meta = decltype(query_meta(tag<std::remove_cv_t<T>>{}));
template <class T, std::size_t I> using field_t = std::tuple_element_t<I, typename meta<T>::types>;
template <class T> using field_indices = std::make_index_sequence<meta<T>::size>;

// W = as_reference makes of a record's shape a row of references into columns.
template <class U> struct as_reference { using type = const U&; };
template <record T> using row_view = typename meta<T>::template shape<as_reference>;

namespace detail {
// How many names a macro's arguments hold.
constexpr std::size_t fields_in(std::string_view names) {
  std::size_t n = 1;
  for (const char c : names) n += c == ',';
  return n;
}
}  // namespace detail

}  // namespace query

// FOR_EACH by rescanning (C++20 __VA_OPT__): 1 + 4 + 16 + 64 scans of 4 fields each.
#define QUERY_DETAIL_PARENS ()
#define QUERY_DETAIL_SCAN(...) QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN3(...) QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN2(...) QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN1(...) __VA_ARGS__ __VA_OPT__()
#define QUERY_DETAIL_EACH(m, T, ...) __VA_OPT__(QUERY_DETAIL_SCAN(QUERY_DETAIL_EACH1(m, T, __VA_ARGS__)))
#define QUERY_DETAIL_EACH1(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHA(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHA(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHB(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHB(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHC(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHC(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACH2 QUERY_DETAIL_PARENS(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACH2() QUERY_DETAIL_EACH1
#define QUERY_DETAIL_LIST(m, T, ...) __VA_OPT__(QUERY_DETAIL_SCAN(QUERY_DETAIL_LIST1(m, T, __VA_ARGS__)))
#define QUERY_DETAIL_LIST1(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTA(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTA(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTB(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTB(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTC(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTC(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LIST2 QUERY_DETAIL_PARENS(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LIST2() QUERY_DETAIL_LIST1
#define QUERY_DETAIL_MEMBER(T, f) typename query_field_of<decltype(T::f)>::type f;
#define QUERY_DETAIL_NAME(T, f) #f
#define QUERY_DETAIL_TYPE(T, f) decltype(T::f)
#define QUERY_DETAIL_OFFSET(T, f) offsetof(T, f)

#define QUERY_RECORD(T, ...)                                                                                          \
  static_assert(::query::detail::fields_in(#__VA_ARGS__) <= 256, "QUERY_RECORD(" #T "): at most 256 fields; put some "  \
                                                                 "into a record of their own");                       \
  struct query_meta_##T;                                                                                              \
  template <template <class> class query_field_of> struct query_shape_##T {                                           \
    using query_meta_type = query_meta_##T;                                                                           \
    using query_row_type = T;                                                                                         \
    QUERY_DETAIL_EACH(QUERY_DETAIL_MEMBER, T, __VA_ARGS__)                                                            \
  };                                                                                                                  \
  struct query_meta_##T {                                                                                             \
    static_assert(std::is_aggregate_v<T>, "QUERY_RECORD(" #T "): must be a plain aggregate (no constructors, no "     \
                                          "private members, no virtual functions)");                                  \
    using row = T;                                                                                                    \
    using types = std::tuple<QUERY_DETAIL_LIST(QUERY_DETAIL_TYPE, T, __VA_ARGS__)>;                                   \
    static constexpr std::size_t size = std::tuple_size_v<types>;                                                     \
    [[maybe_unused]] static constexpr std::string_view name = #T;                                                                      \
    [[maybe_unused]] static constexpr std::string_view names[] = {QUERY_DETAIL_LIST(QUERY_DETAIL_NAME, T, __VA_ARGS__)};               \
    _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")                           \
    static constexpr std::size_t offsets[] = {QUERY_DETAIL_LIST(QUERY_DETAIL_OFFSET, T, __VA_ARGS__)};                \
    _Pragma("GCC diagnostic pop")                                                                                     \
    static constexpr bool ordered() {                                                                                 \
      for (std::size_t i = 1; i < size; ++i)                                                                          \
        if (offsets[i] <= offsets[i - 1]) return false;                                                               \
      return true;                                                                                                    \
    }                                                                                                                 \
    template <template <class> class query_field_of> using shape = query_shape_##T<query_field_of>;                   \
    /* the fields of a row, a view or a traced row, as a tuple of references */                                       \
    template <class query_any_row> static constexpr auto fields(query_any_row& query_given_row) {                     \
      auto& [__VA_ARGS__] = query_given_row;                                                                          \
      return std::tie(__VA_ARGS__);                                                                                   \
    }                                                                                                                 \
    /* an error here: a field is missing from QUERY_RECORD, or there is one too many */                               \
    static void every_field_is_listed(T& query_given_row) { [[maybe_unused]] auto& [__VA_ARGS__] = query_given_row; } \
  };                                                                                                                  \
  /* defined, so that records in unnamed namespaces do not warn */                                                      \
  [[maybe_unused]] constexpr query_meta_##T query_meta(::query::tag<T>) { return {}; }                                  \
  static_assert(query_meta_##T::ordered(), "QUERY_RECORD(" #T "): list the fields in declaration order")
