// What to_vectors() gives: rows as one std::vector a field.
#pragma once

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/detail/type.hpp>

namespace query {

// What a column of a field is made of: the field's type, but std::uint8_t for bool (a std::vector<bool> has no addresses).
template <class F> using column_element_t = std::conditional_t<std::is_same_v<F, bool>, std::uint8_t, F>;

// Field I of row i is std::get<I>(columns.fields)[i].
template <record T> struct columns_of {
  template <std::size_t... I> static auto vectors(std::index_sequence<I...>) -> std::tuple<std::vector<column_element_t<field_t<T, I>>>...>;
  decltype(vectors(field_indices<T>{})) fields;
  std::size_t size() const { return std::get<0>(fields).size(); }
  template <std::size_t I> const auto& get() const& { return std::get<I>(fields); }
  template <std::size_t I> auto get() && { return std::move(std::get<I>(fields)); }
};

}  // namespace query
