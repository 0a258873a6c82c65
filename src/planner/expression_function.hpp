// Functions that have an expression and no code: calls of them, as a plan holds them, are interpreted (cpu_engine/expression_function.cpp).
//
// To the planner and every engine one is like a traced lambda: its trace is the expression, its native form runs the interpreter over a
// batch. It travels to other processes as its expression.
//
//   detail::user_function f = function_of("predicate", condition, describe<Trade>(), describe<bool>());
#pragma once

#include <memory>
#include <string_view>

#include <query/detail/plan.hpp>

namespace query::planner {

// role "predicate": a filter of rows; else a function that gives a `result` for each row.
detail::user_function function_of(std::string_view role, ir::traced expression, const ir::type* row, const ir::type* result);
// A function of groups. Its verb has no compiled aggregates: planner and engines keep states by its expression.
detail::user_function function_of_groups(ir::traced expression, const ir::type* result);
// f where only its expression is: what calls it was planned to run by that, and would throw internal_error where it called code.
detail::user_function without_code(detail::user_function f, ir::traced expression);
// The expression of a function of function_of's; null: f is another one.
const ir::traced* expression_of(const detail::user_function& f);

// The loop of a row-wise verb that has such a function, over the rows of `origin`.
std::shared_ptr<const detail::segment> segment_of(const detail::pipe& origin, const detail::user_function& f);

}  // namespace query::planner
