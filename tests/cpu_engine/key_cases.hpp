// Awkward keys for the tests of sorts and tables: random and with many ties, extremes, NaNs, nulls, long equal prefixes.
//
//   for (const auto& keys : key_columns<double>(seed)) check(keys);
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/type.hpp>

namespace query::cpu::cases {

using generator = std::mt19937_64;

struct point {
  std::int32_t x;
  double y;
};
QUERY_RECORD(point, x, y);
struct person {
  std::string name;
  std::optional<std::int16_t> age;
  bool known;
};
QUERY_RECORD(person, name, age, known);
enum class colour : std::int8_t { red = -3, green = 0, blue = 100 };

template <class T> inline constexpr bool always_false = false;

// One value of a domain of about `distinct` values, extremes included.
template <class T>
T value(generator& g, std::uint64_t distinct) {
  const std::uint64_t r = g() % distinct;
  if constexpr (std::is_same_v<T, bool>) {
    return r % 2 == 0;
  } else if constexpr (std::is_enum_v<T>) {
    return std::array{T::red, T::green, T::blue}[r % 3];
  } else if constexpr (std::is_floating_point_v<T>) {
    using limits = std::numeric_limits<T>;
    const T special[] = {T{0}, -T{0}, limits::quiet_NaN(), -limits::quiet_NaN(), limits::infinity(), -limits::infinity(),
                         limits::max(), limits::lowest(), limits::denorm_min(), -limits::denorm_min()};
    if (g() % 4 == 0) return special[r % std::size(special)];
    return static_cast<T>(static_cast<double>(r) * 1.37 - static_cast<double>(distinct) / 2);
  } else if constexpr (std::is_integral_v<T>) {
    if (r == 0) return std::numeric_limits<T>::min();
    if (r == 1) return std::numeric_limits<T>::max();
    return static_cast<T>(r * 0x9e3779b97f4a7c15u >> (distinct > 1000 ? 0 : 57));
  } else if constexpr (std::is_same_v<T, std::string>) {
    const std::string prefix[] = {"", "a", "http://www.example.org/the/same/long/beginning/", std::string(3, '\0'), "\xff\xfe"};
    std::string s = prefix[g() % std::size(prefix)];
    for (std::uint64_t k = r; k != 0; k /= 3) s += static_cast<char>(k % 3 == 0 ? 0 : 'a' + k % 3);
    return s;
  } else if constexpr (ir::is_optional_v<T>) {
    if (g() % 3 == 0) return std::nullopt;
    return value<typename T::value_type>(g, distinct);
  } else if constexpr (ir::is_list_v<T>) {
    T list(g() % 3);
    for (auto& e : list) e = value<typename T::value_type>(g, distinct);
    return list;
  } else if constexpr (ir::is_array_v<T>) {
    T array;
    for (auto& e : array) e = value<typename T::value_type>(g, 3);
    return array;
  } else if constexpr (std::is_same_v<T, point>) {
    return {value<std::int32_t>(g, 5), value<double>(g, distinct)};
  } else if constexpr (std::is_same_v<T, person>) {
    return {value<std::string>(g, distinct), value<std::optional<std::int16_t>>(g, 4), value<bool>(g, 2)};
  } else if constexpr (ir::is_tuple_v<T>) {
    return std::apply([&](auto... parts) { return T{value<decltype(parts)>(g, 4)...}; }, T{});
  } else {
    static_assert(always_false<T>);
  }
}

template <class T>
std::vector<std::vector<T>> key_columns(std::uint64_t seed) {
  generator g(seed);
  std::vector<std::vector<T>> columns{{}};
  const auto add = [&](std::size_t n, std::uint64_t distinct) {
    std::vector<T>& column = columns.emplace_back();
    column.reserve(n);
    for (std::size_t i = 0; i < n; ++i) column.push_back(value<T>(g, distinct));
  };
  add(1, 10);
  add(2, 2);
  add(33, 5);
  add(1000, 4);
  add(3000, 1u << 30);
  add(40000, 50);
  add(70000, 1u << 30);
  columns.push_back(std::vector<T>(40000, value<T>(g, 100)));  // all equal
  columns.push_back(columns[6]);                               // nine of ten the same
  for (std::size_t i = 0; i < columns.back().size(); ++i)
    if (i % 10 != 0) columns.back()[i] = columns.back()[5];
  return columns;
}

}  // namespace query::cpu::cases
