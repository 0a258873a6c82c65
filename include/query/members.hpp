// QUERY_RECORD_MEMBERS: a record with member functions that lambdas may call. One text serves plain rows and traced ones.
//
//   struct Box {
//     double left, right;
//     QUERY_RECORD_MEMBERS(Box, (left, right),
//       auto width() const { return right - left; }
//       bool holds(const auto& x) const { return left <= x && x < right; }
//     )
//   };
//
//   boxes.where([](auto b) { return b.holds(3) && b.width() > 1; })     // traced
//
// It stands inside of the struct, behind the fields, in place of QUERY_RECORD: the struct's name, every field in declaration
// order, in parentheses, then the members as one would write them anyway. The struct stays an aggregate without bases.
//
// The text is compiled as it stands, and again for rows whose fields are traced values or references into columns, by the
// rules of lambdas (docs/lambdas.md): `auto` for results and locals, query::sqrt rather than std::sqrt, `const auto&` for
// parameters that may be records or traced values, query::make<Box>(...) for rows. Members may branch, be operators, and call
// those above them. Static functions, types and constants may stand there too; data members, friends and `#` may not.
#pragma once

#include <query/record.hpp>

#define QUERY_DETAIL_UNPACK(...) __VA_ARGS__
#define QUERY_DETAIL_USING(T, f) using T::f;
#define QUERY_DETAIL_USING_EACH(...) QUERY_DETAIL_EACH(QUERY_DETAIL_USING, query_own_fields, __VA_ARGS__)
#define QUERY_DETAIL_DESCRIBE_ITSELF(T, ...)                                                                          \
  static_assert(::query::detail::fields_in(#__VA_ARGS__) <= 256,                                                     \
                "QUERY_RECORD_MEMBERS(" #T "): at most 256 fields; put some into a record of their own");             \
  QUERY_DETAIL_DESCRIBE(query_record, T, __VA_ARGS__)

#define QUERY_RECORD_MEMBERS(T, fields, ...)                                                                        \
 public:                                                                                                            \
  __VA_ARGS__                                                                                                       \
  template <class query_own_fields> struct query_members : query_own_fields {                                       \
    QUERY_DETAIL_USING_EACH fields                                                                                  \
    __VA_ARGS__                                                                                                     \
  };                                                                                                                \
  using query_has_members = void;                                                                                   \
  QUERY_DETAIL_DESCRIBE_ITSELF(T, QUERY_DETAIL_UNPACK fields);                                                      \
  [[maybe_unused]] friend constexpr ::query::detail::own_meta<T, query_record> query_meta(::query::tag<T>) { return {}; }
