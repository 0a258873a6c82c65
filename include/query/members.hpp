// QUERY_MEMBERS: the member functions of a record that lambdas may call. One text serves plain rows and traced ones.
//
//   struct Box {
//     double left, right;
//     QUERY_MEMBERS((left, right),
//       auto width() const { return right - left; }
//       bool holds(const auto& x) const { return left <= x && x < right; }
//     )
//   };
//   QUERY_RECORD(Box, left, right);
//
//   boxes.where([](auto b) { return b.holds(3) && b.width() > 1; })     // traced
//
// First the fields that the members name, in parentheses, then the members as one would write them anyway; the struct
// stays an aggregate without bases. The text is compiled once as it stands and once for rows whose fields are traced values
// or references into columns, by the rules of lambdas (docs/lambdas.md): `auto` for results and locals, query::sqrt rather
// than std::sqrt, `const auto&` for parameters that may be rows or traced values. Members may call one another, branch, and
// be operators. Member functions, static ones and constants may stand there; data members, friends and `#` may not.
#pragma once

#include <query/record.hpp>

#define QUERY_DETAIL_USING(T, f) using T::f;
#define QUERY_DETAIL_USING_EACH(...) QUERY_DETAIL_EACH(QUERY_DETAIL_USING, query_fields, __VA_ARGS__)

#define QUERY_MEMBERS(fields, ...)                        \
  __VA_ARGS__                                             \
  using query_has_members = void;                         \
  template <class query_fields> struct query_members : query_fields { \
    QUERY_DETAIL_USING_EACH fields                        \
    __VA_ARGS__                                           \
  };
