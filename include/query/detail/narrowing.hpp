// Integers that become a field of another type by query::make. One that cannot lose anything converts for nothing; another is
// compared, row by row, and is a user_error where it does not fit. query::cast says that it may wrap.
//
//   query::make<Total>(g.key(), g.sum(f));   // Total.amount is a std::int32_t: each sum is looked at
#pragma once

#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include <query/detail/node.hpp>

namespace query::detail {

// Is there an integer of type V that is none of T?
template <class V, class T> inline constexpr bool may_not_fit = false;
template <class V, class T> requires(std::is_integral_v<V> && std::is_integral_v<T>)
inline constexpr bool may_not_fit<V, T> = std::numeric_limits<V>::digits > std::numeric_limits<T>::digits ||
                                          (std::is_signed_v<V> && !std::is_signed_v<T>);

template <class T, class V> constexpr bool fits(V v) {
  const T t = static_cast<T>(v);
  if constexpr (std::is_signed_v<V> != std::is_signed_v<T>) {
    if constexpr (std::is_signed_v<V>) {
      if (v < V{}) return false;
    } else if (t < T{}) return false;
  }
  return static_cast<V>(t) == v;
}

// "query::make: 4000000000 does not fit Total.amount, an i32. ..."; number: empty where it is not known.
std::string does_not_fit_text(std::string_view number, std::string_view part, const ir::type* to);
// Throws unplaced_error with that text and the row: its fields, but for number `field`, which is `number`.
[[noreturn]] void does_not_fit(const ir::type* record, const void* row, std::size_t field, const std::string& number, const ir::type* to);

// x as an integer of type `to` that must fit `part`, "Total.amount".
const ir::node* narrowed_node(const ir::node* x, const ir::type* to, std::string_view record, std::string_view field);

}  // namespace query::detail
