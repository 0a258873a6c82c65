// Questions about expression trees that the planner asks, and predicates taken apart and moved.
//
// Between tracing and planning: rules read which rows and fields a function uses, whether it may run ahead of a filter,
// and rewrite it for another place in the plan. All are linear in the number of nodes, however often they are shared.
//
//   for (const node* p : conjuncts(predicate))
//     if (rows_used(p) == std::set<std::uint32_t>{0}) push_left(p);     // reads the left side of a join only
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include <query/detail/node.hpp>

namespace query::ir {

// May the expression be evaluated natively for rows that an earlier filter rejected? Not if it can trap, throw, loop
// without end, or run into what C++ leaves undefined: signed overflow, float to integer. The optimiser believes that
// undefined behaviour does not happen and UBSan reports it (decisions.md 11). The interpreter itself needs no such care.
bool speculatable(const node* n);

// Does the expression hold an integer / or %, which traps for some divisors?
bool divides_integers(const node* n);
// Is the value of an optional taken anywhere without a test of that optional around it (o ? *o : 0, o && *o > 1)?
bool takes_untested_values(const node* n);
// The error's text if such an optional is null.
inline constexpr const char* value_of_null = "a value is taken of a null std::optional; test it first, or write value_or(...)";
// A call that converts an integer which must fit the field of a record that it becomes, "Total.amount" (query::make): that field.
std::optional<std::string_view> narrowed_part(const node* n);
inline constexpr std::string_view narrowing = "narrow ";  // begins the text of such a call
// Can this call neither throw nor take memory? Unless it converts a number that must fit.
bool is_quiet_call(const node* n);

// Marks the top-level fields of row `row` that the expression reads; a read of the whole row, or an aggregate that gives one, marks all.
// `fields` gets as many entries as the row's type has fields, and keeps what is marked already, so that several functions add up.
void fields_used(const node* n, std::uint32_t row, const type* row_type, std::vector<bool>& fields);

// The same of the elements of row `row`, which is a list of rows of type `element`: chunk, window, the matches of group_join.
void element_fields_used(const node* n, std::uint32_t row, const type* element, std::vector<bool>& fields);

// The numbers of the rows that the expression reads (fields, whole rows); those of nested computations are not among them.
std::set<std::uint32_t> rows_used(const node* n);

// Part of row `id` becomes part of row `id` of `to`: numbers rows anew, e.g. the right row of a join as the only one.
const node* renumber_row(arena& a, const node* body, std::uint32_t from, std::uint32_t to);

// `body` with each row i replaced by the tree row_replacements[i] (null: the row stays), which makes that row from the
// rows of an earlier step. Fields are found in `make` nodes or in the rows and fields that they copy. Null where it cannot
// be done: part of a field that is computed as a whole, a field at an offset that no field has.
const node* substitute(arena& a, const node* body, std::span<const node* const> row_replacements);

// p && q && r, taken apart: rows pass if all hold. The order is kept; a later one may rely on an earlier one (q != 0 && p / q
// > 1): only speculatable ones may change places.
std::vector<const node*> conjuncts(const node* n);
// Their conjunction; null for none.
const node* conjunction(arena& a, std::span<const node* const> parts);

// Operations that only name a value or put values side by side: estimates take nothing for them.
constexpr bool costs_nothing(op what) {
  return what == op::literal || what == op::null || what == op::row || what == op::field || what == op::variable || what == op::key ||
         what == op::make || what == op::member;
}

// Can a std::vector of this type be filled with copies of rows?
inline bool can_be_filled(const type* list) {
  return list->k == kind::list && list->get.resize && (list->element->trivial || list->element->life.copy_assign);
}

bool contains(const node* n, op what);
bool has_capture(const node* n);
std::vector<std::uint64_t> captures(const node* n);  // slots of captured collections, in ascending order

// The bare row or a bare field of it: its place in the row. A key that is a field needs no evaluation.
struct row_field {
  std::uint32_t row = 0;
  std::size_t offset = 0;
  const ir::type* type = nullptr;
  std::string_view path;  // "" for the whole row; lives as long as the tree
};
std::optional<row_field> is_row_field(const node* n);

}  // namespace query::ir
