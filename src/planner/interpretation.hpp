// Which functions of a plan run by the interpreter in sessions that ask for it, and why compiled code runs the others: decided
// here alone, for explain() as for the engine that runs the plan.
//
// Every function of rows, pairs or lists of rows (matches, runs) that traces is interpreted: what a verb makes of its result (a key in the
// type that it shares with the other side's, a test's bool) becomes part of the expression, and captured collections are known by value and
// by reference. A chain of verbs whose functions can all be called a batch at a time is split where one is opaque; one with an opaque
// function of row numbers cannot be split and stays the compiled loop.
//
//   interpretation i = interpret(f);
//   if (!i) explain(i.native_because);
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include <query/detail/binding.hpp>

#include "planner/machine_graph.hpp"

namespace query::planner {

using captured = std::vector<std::shared_ptr<const detail::capture>>;

struct interpretation {
  ir::traced expression;       // gives the function's own result type
  captured captures;           // the collections that it names
  std::string native_because;  // empty: the interpreter runs it
  explicit operator bool() const { return native_because.empty(); }
};
// A function of one row.
interpretation interpret(const detail::user_function& f);
// A function of a row-wise verb that takes the row and its number: rows 0 and 1 of its expression.
bool takes_row_number(const detail::user_function& f);
// The lists that a function of select_many gives. Compiled code makes them; before, sessions that check look whether it would end.
interpretation interpret_lists(const detail::user_function& f);

// A function of pairs of rows. seen: the sides' types as the expression sees them, null for a side that it does not read;
// optional: that is an optional of the row, empty where the side is missing.
struct pair_interpretation : interpretation {
  const ir::type* seen[2] = {};
  bool optional[2] = {};
};
pair_interpretation interpret_pair(const detail::user_function& f, const ir::type* left, const ir::type* right);

// The collections that a function captured: copies by value, and those that its trace names.
captured captures_of(const detail::user_function& f);

// Does the function divide integers, or take the value of an optional that it has not tested, which native code does not survive, or
// notice, for some rows? Of divisions in a function of groups, only what its aggregates take of rows counts: the operators of aggregates
// check by themselves.
bool may_trap(const ir::traced& t);

// Gives every stage, prefilter and vertex of the graph its form in a session that interprets, or that checks: there, what has a function
// that may trap. After the rules.
enum class interpreted_functions : std::uint8_t { all, trapping };
void choose_forms(machine_graph& g, interpreted_functions which);

// In any session: what calls one of these functions runs by their expressions. Gives those that have to run as compiled all the same, and
// why.
using function_set = std::unordered_set<const void*>;  // user_function::f
using left_compiled = std::unordered_map<const void*, std::string>;
left_compiled run_by_expression(machine_graph& g, const function_set& functions);

// The same, in any session, of what the CPU takes over from an engine that checks by itself: it must not end, or go on, where that would
// have thrown.
void check_traps(vertex& v);
void check_traps(branch& b);

// Functions of groups run by their expressions in any session if they have no code, or if their states own strings, lists or sets: then
// what these own can be counted, and may go to files.
void run_groups_by_expressions(machine_graph& g);

}  // namespace query::planner
