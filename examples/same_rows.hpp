// Whether rows that a GPU made are those that the CPU made: field by field, numbers with a fraction up to their last digits, which depend
// on the order of additions.
#pragma once

#include <cmath>
#include <cstddef>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <query/query.hpp>

template <class V> bool same_value(const V& a, const V& b, double tolerance) {
  if constexpr (std::is_floating_point_v<V>) {
    return a == b || std::abs(a - b) <= tolerance * std::abs(b);
  } else if constexpr (query::ir::is_optional_v<V>) {
    return a.has_value() == b.has_value() && (!a || same_value(*a, *b, tolerance));
  } else {
    return a == b;
  }
}

template <class T> bool same_row(const T& a, const T& b, double tolerance) {
  const auto x = query::meta<T>::fields(a), y = query::meta<T>::fields(b);
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    return (same_value(std::get<I>(x), std::get<I>(y), tolerance) && ...);
  }(query::field_indices<T>{});
}

template <class T> bool same_rows(const std::vector<T>& a, const std::vector<T>& b, double tolerance = 1e-9) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!same_row(a[i], b[i], tolerance)) return false;
  return true;
}

// How many steps a plan has on a GPU.
inline int steps_on_gpu(const std::string& plan) {
  int steps = 0;
  for (std::size_t at = 0; (at = plan.find("  gpu: ", at)) != std::string::npos; ++at) ++steps;
  return steps;
}
