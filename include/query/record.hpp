// QUERY_RECORD: describes a struct to the library, so that lambdas can be traced, columns pruned and rows moved.
//
//   struct Trade { std::int32_t symbol; double price; std::int64_t qty; };
//   QUERY_RECORD(Trade, symbol, price, qty);
//
// Write it in the namespace of the struct, right after it, with every field in declaration order. Field types: integers,
// float, double, bool, enums, times, durations and dates of std::chrono, std::array of those, std::string, std::optional, nested records,
// std::vector.
// A struct template needs an alias: `using P3 = Point<3>; QUERY_RECORD(P3, x);`. A record must be a plain aggregate at
// namespace scope, without base classes. At most 256 fields. A record with members
// that lambdas may call: members.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include <query/detail/date_record.hpp>
#include <query/detail/record_check.hpp>

namespace query {

template <record T> using meta = decltype(query_meta(tag<std::remove_cv_t<T>>{}));
template <class T, std::size_t I> using field_t = std::tuple_element_t<I, typename meta<T>::types>;
template <class T> using field_indices = std::make_index_sequence<meta<T>::size>;

// W = as_reference makes of a record's shape a row of references into columns.
template <class U> struct as_reference { using type = const U&; };
template <record T> using row_view = typename meta<T>::template shape<as_reference>;

namespace detail {

template <class X, template <class> class W> inline constexpr bool has_form = false;
template <class X, template <class> class W> requires requires { typename X::query_form; }
inline constexpr bool has_form<X, W> = std::is_same_v<typename X::query_form, row_form<W>>;

template <class T, class Fields> struct with_members { using type = Fields; };
template <class T, class Fields> requires requires { typename T::query_has_members; }
struct with_members<T, Fields> { using type = typename T::template query_members<Fields>; };

}  // namespace detail

}  // namespace query

// FOR_EACH by rescanning (C++20 __VA_OPT__): 1 + 4 + 16 + 64 scans of 4 fields each; 1 + 4 for up to 16 fields,
// as scans are what a QUERY_RECORD costs the preprocessor.
#define QUERY_DETAIL_PARENS ()
#define QUERY_DETAIL_SCAN(...) QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(QUERY_DETAIL_SCAN3(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN3(...) QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(QUERY_DETAIL_SCAN2(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN2(...) QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(QUERY_DETAIL_SCAN1(__VA_ARGS__))))
#define QUERY_DETAIL_SCAN1(...) __VA_ARGS__ __VA_OPT__()
#define QUERY_DETAIL_17TH(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, ...) q
#define QUERY_DETAIL_2ND(a, b, ...) b
#define QUERY_DETAIL_PICK(...) QUERY_DETAIL_PICKED(__VA_ARGS__)
#define QUERY_DETAIL_PICKED(...) QUERY_DETAIL_2ND(__VA_ARGS__)
#define QUERY_DETAIL_FEW() , QUERY_DETAIL_SCAN2
#define QUERY_DETAIL_SCANS(...)                                                                                                    \
  QUERY_DETAIL_PICK(QUERY_DETAIL_FEW QUERY_DETAIL_17TH(__VA_ARGS__, (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), (), \
                                                       ()), QUERY_DETAIL_SCAN, )
#define QUERY_DETAIL_EACH(m, T, ...) __VA_OPT__(QUERY_DETAIL_SCANS(__VA_ARGS__)(QUERY_DETAIL_EACH1(m, T, __VA_ARGS__)))
#define QUERY_DETAIL_EACH1(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHA(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHA(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHB(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHB(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACHC(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACHC(m, T, f, ...) m(T, f) __VA_OPT__(QUERY_DETAIL_EACH2 QUERY_DETAIL_PARENS(m, T, __VA_ARGS__))
#define QUERY_DETAIL_EACH2() QUERY_DETAIL_EACH1
#define QUERY_DETAIL_LIST(m, T, ...) __VA_OPT__(QUERY_DETAIL_SCANS(__VA_ARGS__)(QUERY_DETAIL_LIST1(m, T, __VA_ARGS__)))
#define QUERY_DETAIL_LIST1(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTA(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTA(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTB(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTB(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LISTC(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LISTC(m, T, f, ...) m(T, f) __VA_OPT__(, QUERY_DETAIL_LIST2 QUERY_DETAIL_PARENS(m, T, __VA_ARGS__))
#define QUERY_DETAIL_LIST2() QUERY_DETAIL_LIST1
#define QUERY_DETAIL_MEMBER(T, f) typename query_field_of<decltype(query_row::f)>::type f;
#define QUERY_DETAIL_NAME(T, f) #f
#define QUERY_DETAIL_TYPE(T, f) decltype(query_row::f)
#define QUERY_DETAIL_OFFSET(T, f) offsetof(query_row, f)
#define QUERY_DETAIL_EMPTY(T, f) {}
#define QUERY_DETAIL_GET(T, f) query_given_row.f;
#define QUERY_DETAIL_HOLDS(T, f) && requires { &query_row::f; requires ::query::detail::holds<decltype(query_row::f), query_row>; }
#define QUERY_DETAIL_FAULT(T, f)                                                                                      \
  static_assert(!facts::plain || requires(query_row& query_given_row) { query_given_row.f; },                         \
                "QUERY_RECORD(" #T "): the struct has no field '" #f "'");                                            \
  static_assert(!facts::named QUERY_DETAIL_OR_HOLDS(f),                                                               \
                "QUERY_RECORD(" #T "): field '" #f "' has a type that a record cannot hold. Text is a std::string; other fields are " \
                "numbers of at most 64 bits, enums, times, durations and dates of std::chrono, std::array, std::optional, std::vector " \
                "(not of bool), tuples, and structs with a QUERY_RECORD of their own above. Rows without a QUERY_RECORD run natively");
#define QUERY_DETAIL_OR_HOLDS(f) || (true QUERY_DETAIL_HOLDS(, f))
// query_value is a detail::value_for_field, whose two types the compiler shows.
#define QUERY_DETAIL_MADE(T, f)                                                                                       \
  static_assert(!query_value::differs || names[query_field] != #f,                                                    \
                "query::make<" #T ">(...): the value for field '" #f "' does not have its type; numbers convert, other types must match"); \
  static_assert(!query_value::is_null || names[query_field] != #f,                                                    \
                "query::make<" #T ">(...): the value for field '" #f "' is a std::optional, the field is none. Write x.value_or(0)");      \
  static_assert(!query_value::is_cut || names[query_field] != #f,                                                     \
                "query::make<" #T ">(...): the value for field '" #f "' may have a fraction, the field is an integer: query::cast<int>(x)");

// What is known of the struct query_row; T is its name in messages. All of it depends on the parameter, so that what is wrong is
// said once, by `faults`, and not wherever a field is named.
#define QUERY_DETAIL_DESCRIBE(query_record, T, ...)                                                                                        \
  template <class query_row> struct query_record {                                                                                         \
    struct facts {                                                                                                                         \
      static constexpr bool plain = ::query::detail::plain_struct<query_row>;                                                              \
      static constexpr bool named = plain && requires(query_row& query_given_row) { QUERY_DETAIL_EACH(QUERY_DETAIL_GET, T, __VA_ARGS__) }; \
      static constexpr bool held = named QUERY_DETAIL_EACH(QUERY_DETAIL_HOLDS, T, __VA_ARGS__);                                            \
      static constexpr bool more = held && requires { query_row{QUERY_DETAIL_LIST(QUERY_DETAIL_EMPTY, T, __VA_ARGS__), {}}; };             \
      static constexpr bool in_order = ::query::detail::in_order<held && !more, query_record>();                                           \
      static constexpr bool sound = held && !more && in_order;                                                                             \
    };                                                                                                                                     \
    struct no_struct {                                                                                                                     \
      static_assert(::query::detail::may_be_record<query_row>, "QUERY_RECORD(" #T "): takes a struct. Numbers and enums need none");       \
    };                                                                                                                                     \
    struct faults {                                                                                                                        \
      static_assert(::query::detail::complete<query_row>, "QUERY_RECORD(" #T "): write it after the struct's definition");                 \
      static_assert(facts::plain || !::query::detail::complete<query_row>,                                                                 \
                    "QUERY_RECORD(" #T "): must be a plain aggregate: no constructors, no private members, no base classes, no "           \
                    "virtual functions");                                                                                                  \
      QUERY_DETAIL_EACH(QUERY_DETAIL_FAULT, T, __VA_ARGS__)                                                                                \
      static_assert(!facts::more, "QUERY_RECORD(" #T "): a field is missing: list every field of the struct, in declaration order");       \
      static_assert(facts::in_order || ::query::detail::repeats_a_name(#__VA_ARGS__),                                                      \
                      "QUERY_RECORD(" #T "): list the fields in declaration order");                                                       \
    };                                                                                                                                     \
    template <template <class> class query_field_of> struct query_fields {                                                                 \
      using query_form = ::query::detail::row_form<query_field_of>;                                                                        \
      using query_row_type = query_row;                                                                                                    \
      QUERY_DETAIL_EACH(QUERY_DETAIL_MEMBER, T, __VA_ARGS__)                                                                               \
    };                                                                                                                                     \
    struct description {                                                                                                                   \
      using row = query_row;                                                                                                               \
      using types = std::tuple<QUERY_DETAIL_LIST(QUERY_DETAIL_TYPE, T, __VA_ARGS__)>;                                                      \
      static constexpr std::size_t size = std::tuple_size_v<types>;                                                                        \
      [[maybe_unused]] static constexpr std::string_view name = #T;                                                                        \
      [[maybe_unused]] static constexpr std::string_view names[size] = {QUERY_DETAIL_LIST(QUERY_DETAIL_NAME, T, __VA_ARGS__)};             \
      _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Winvalid-offsetof\"")                                              \
      static constexpr std::size_t offsets[size] = {QUERY_DETAIL_LIST(QUERY_DETAIL_OFFSET, T, __VA_ARGS__)};                               \
      _Pragma("GCC diagnostic pop")                                                                                                        \
      template <template <class> class query_field_of>                                                                                     \
      using shape = typename ::query::detail::with_members<query_row, query_fields<query_field_of>>::type;                                 \
      /* the fields of a row, a view or a traced row, as a tuple of references; one may be called as a member of this struct is */         \
      _Pragma("GCC diagnostic push") _Pragma("GCC diagnostic ignored \"-Wshadow\"")                                                        \
      template <class query_any_row> static constexpr auto fields(query_any_row& query_given_row) {                                        \
        auto& [__VA_ARGS__] = query_given_row;                                                                                             \
        return std::tie(__VA_ARGS__);                                                                                                      \
      }                                                                                                                                    \
      _Pragma("GCC diagnostic pop")                                                                                                        \
      /* errors of query::make that name the field */                                                                                      \
      template <bool query_fits> static constexpr void made_of_all() {                                                                     \
        static_assert(query_fits, "query::make<" #T ">(...): give one value for each field, in this order: " #__VA_ARGS__);                \
      }                                                                                                                                    \
      template <std::size_t query_field, class query_value> static constexpr void made_of() {                                              \
        QUERY_DETAIL_EACH(QUERY_DETAIL_MADE, T, __VA_ARGS__)                                                                               \
      }                                                                                                                                    \
    };                                                                                                                                     \
  }

#define QUERY_RECORD(T, ...)                                                                                                               \
  static_assert(::query::detail::is_identifier(#T), "QUERY_RECORD(" #T "): takes a plain name. Write it in the struct's namespace, "       \
                                                    "and make an alias of a struct template first: using P3 = Point<3>;");                 \
  static_assert(__builtin_FUNCTION()[0] == 0, "QUERY_RECORD(" #T "): write the struct and it outside of functions");                       \
  static_assert(::query::detail::fields_in(#__VA_ARGS__) <= 256, "QUERY_RECORD(" #T "): at most 256 fields; put some "                     \
                                                                 "into a record of their own");                                            \
  static_assert(!::query::detail::repeats_a_name(#__VA_ARGS__), "QUERY_RECORD(" #T "): a field is listed twice");                          \
  static_assert(sizeof(#__VA_ARGS__) > 1, "QUERY_RECORD(" #T "): the fields are missing: QUERY_RECORD(" #T ", field, ...) lists every "    \
                                          "field of the struct, in declaration order")                                                     \
  __VA_OPT__(; QUERY_DETAIL_DESCRIBE_OUTSIDE(T, __VA_ARGS__))
#define QUERY_DETAIL_DESCRIBE_OUTSIDE(T, ...)                                                                                              \
  QUERY_DETAIL_DESCRIBE(query_record_##T, T, __VA_ARGS__);                                                                                 \
  struct query_meta_##T : ::query::detail::description_of<query_record_##T<T>> {};                                                         \
  /* defined, so that records in unnamed namespaces do not warn */                                                                         \
  [[maybe_unused]] constexpr query_meta_##T query_meta(::query::tag<T>) { return {}; }                                                     \
  static_assert(!::query::detail::described_elsewhere<T> || !::query::detail::is_identifier(#T) || __builtin_FUNCTION()[0] != 0,           \
                "QUERY_RECORD(" #T "): write it in the namespace of the struct")
