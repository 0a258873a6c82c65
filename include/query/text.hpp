// Conditions and sort keys that users type: where and order_by take them as text, in the words of SQL.
//
//   trades.where("price > 3 and symbol in (7, 9)").order_by("price desc, symbol")
//   trades.where(query::parsed("price > ? and name = ?", limit, name))      // values from outside: never parsed
//
// Fields are named as in the row's QUERY_RECORD; those of a record inside the row by a dot, elements of an array by [i]. A row that is no
// record is called `value`. The text becomes the expression that a lambda's trace would be: the same plan on every engine. It has no
// compiled form: where the CPU runs it, it is interpreted. Texts are read and checked when the verb is called.
// Throws query::text_error, which points into the text. O(length). docs/text-conditions.md
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/errors.hpp>
#include <query/detail/type.hpp>

namespace query {

// A text that cannot be read, or does not fit its rows. position, length: what is wrong, in bytes of the text.
struct text_error : user_error {
  text_error(const std::string& message, std::size_t at, std::size_t bytes) : user_error(message), position(at), length(bytes) {}
  std::size_t position = 0, length = 0;
};

namespace detail {

// The value of a ? or $1: a number, an enum or a string.
struct text_argument {
  const ir::type* type = nullptr;
  std::uint64_t bits = 0;
  std::string text;
};
template <class X> concept text_value = std::is_arithmetic_v<X> || std::is_enum_v<X> || ir::counted<X> ||
                                           std::is_convertible_v<const X&, std::string_view>;
template <text_value X> text_argument argument_of(const X& x) {
  text_argument a;
  if constexpr (std::is_convertible_v<const X&, std::string_view>) {
    a.type = ir::describe<std::string>();
    a.text = std::string(std::string_view(x));
  } else {
    static_assert(sizeof(X) <= sizeof a.bits, "query::parsed(text, values...): a value has at most 64 bits");
    a.type = ir::describe<X>();
    std::memcpy(&a.bits, &x, sizeof x);
  }
  return a;
}

}  // namespace detail

// A text with the values of its parameters; verbs take plain strings as well.
struct text_expression {
  std::string source;
  std::vector<detail::text_argument> arguments;
};

// Values take the place of `?`, one after the other, or of `$1`, `$2`... A text has parameters of one kind.
template <detail::text_value... V> text_expression parsed(std::string source, const V&... values) {
  return {std::move(source), {detail::argument_of(values)...}};
}

namespace detail {

template <class X>
inline constexpr bool is_typed_text = std::is_same_v<X, text_expression> || std::is_convertible_v<const X&, std::string_view>;

inline const text_expression& text_of(const text_expression& t) { return t; }
template <class X> requires std::is_convertible_v<const X&, std::string_view> text_expression text_of(const X& x) {
  return {std::string(std::string_view(x)), {}};
}

}  // namespace detail
}  // namespace query
