// What a vertex that folds gives: a table of states, one for each part of its rows, in the order of the rows.
//
//   t = table_of({state});
//   for (const detail::fold_state& s : states_in(t)) cpu.merge(kind, row, all, s);
#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <query/detail/execute.hpp>
#include <query/detail/plan.hpp>
#include <query/detail/type.hpp>

namespace query::runtime {

inline detail::table table_of(std::vector<detail::fold_state> states) {
  const auto owner = std::make_shared<std::vector<detail::fold_state>>(std::move(states));
  detail::table t;
  t.type = ir::describe<detail::fold_state>();
  t.rows = owner->data();
  t.n = owner->size();
  t.owner = owner;
  return t;
}

inline std::span<const detail::fold_state> states_in(const detail::table& t) {
  return {static_cast<const detail::fold_state*>(t.rows), t.n};
}

}  // namespace query::runtime
