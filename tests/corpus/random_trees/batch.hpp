// One random tree as a form, and the batches of them that the .cpp files instantiate: several files, so that they compile
// side by side.
#pragma once

#include <new>
#include <utility>

#include <query/function.hpp>

#include "corpus/random_trees/trees.hpp"

namespace random_trees {

struct tree {
  seed from = 0;
  query::ir::traced trace;
  const query::ir::type* result = nullptr;
  void (*native)(const sample& row, void* out) = nullptr;    // as the engines call it: with views of strings and lists
  void (*of_plain)(const sample& row, void* out) = nullptr;  // with the struct itself
};

template <seed S> tree make_tree() {
  constexpr auto f = [](const auto& t) { return random_trees::result<S>(t); };
  using R = query::result_t<decltype(f), sample>;
  tree made;
  made.from = S;
  made.trace = query::trace<sample>(f);
  made.result = query::ir::describe<R>();
  made.native = [](const sample& row, void* out) { ::new (out) R(query::detail::as_stored<R>(query::detail::call(decltype(f){}, row))); };
  made.of_plain = [](const sample& row, void* out) { ::new (out) R(query::detail::as_stored<R>(decltype(f){}(row))); };
  return made;
}
template <seed First, std::size_t N> std::vector<tree> trees_from() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::vector<tree> all;
    (all.push_back(make_tree<First + I>()), ...);
    return all;
  }(std::make_index_sequence<N>{});
}

inline constexpr std::size_t trees_of_batch = 40;
std::vector<tree> first_batch(), second_batch(), third_batch(), fourth_batch();

}  // namespace random_trees
