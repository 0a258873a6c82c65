// Values of a text that is being read, with their types and nulls: what an operator makes of them.
//
// A value of an optional field may be null. Arithmetic and functions of nulls are null; a comparison with a null is neither true nor
// false, `and`, `or` and `not` combine that as SQL's do, and a condition keeps the rows for which it is true. In the expression there is
// no third outcome: a condition carries one expression for "true" and, where nulls are involved, one for "false".
//
//   maker m(arena);
//   operand x = m.compare(op::gt, price, m.integer(3));         // (price > 3.0)
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <query/detail/node.hpp>

#include "ir/typed_text/faults.hpp"

namespace query::ir::typed_text {

struct operand {
  const node* value = nullptr;    // counts where it is present; null: the word `null`
  const node* present = nullptr;  // null: always
  const node* fails = nullptr;    // of a condition that may be neither: where it is false, as `value` is where it is true
  const node* optional = nullptr; // the field that it is the value of
  std::size_t at = 0, end = 0;    // its place in the text
  int depth = 0;                  // of operators within each other

  bool is_literal() const { return value && value->what == op::literal; }
};

class maker {
 public:
  explicit maker(arena& a) : arena_(&a) {}
  arena& nodes() const { return *arena_; }

  // ---- constants
  operand literal(const type* t, std::uint64_t bits, std::string text = {}) const;
  operand boolean(bool x) const;

  // ---- the row and its parts, unwrapped: the part of an optional record is null where that is
  operand whole(const type* row) const;
  operand part(const operand& record, std::size_t i) const;
  operand opened(operand x) const;  // the value of an optional

  // ---- numbers and strings; `at` is the operator's place, for what is wrong with both sides
  operand arithmetic(op what, operand a, operand b, std::size_t at) const;
  operand negated(operand a) const;
  operand called(std::string_view name, std::vector<operand> arguments, std::size_t at, std::size_t length) const;

  // ---- conditions
  operand compare(op what, operand a, operand b, std::size_t at) const;
  operand in(const operand& x, std::span<const operand> values, std::size_t at) const;
  operand like(const operand& x, const operand& pattern, std::size_t at) const;
  operand is_null(const operand& x) const;
  operand condition(operand x) const;  // of a bool; a fault if it is something else
  operand not_of(const operand& x) const;
  operand all_of(std::span<const operand> conditions) const;
  operand any_of(std::span<const operand> conditions) const;

  // ---- results
  const node* outcome(const operand& x) const;  // of a condition: true, or not
  const node* result(const operand& x) const;   // of a value: an optional where it may be null; a fault if there is no such type

 private:
  const node* falsehood() const;
  const node* truth() const;
  const node* both(const node* a, const node* b) const;    // null: always true
  const node* either(const node* a, const node* b) const;
  const node* opposite(const node* x) const;
  const node* cast(const node* x, const type* to) const;
  const node* chain(std::span<const node* const> all, bool any) const;
  operand tested(const node* condition, const node* present, const operand& a, const operand& b) const;
  const node* compared(op what, const operand& a, const operand& b, std::size_t at) const;
  const node* compared_numbers(op what, const node* a, const node* b) const;
  const node* compared_as_any(op what, const node* number, const node* unsigned_one) const;
  operand plain(const operand& x) const;  // a condition as a value that may be null
  operand folded(op what, const operand& a, const operand& b, std::size_t at) const;
  operand joined(operand made, const operand& a, const operand& b) const;
  void need_value(const operand& x) const;

  operand call_of_numbers(std::string_view name, const type* t, std::span<const operand> arguments) const;
  operand call_of_strings(std::string_view name, const type* t, std::span<const operand> arguments) const;
  operand first_present(std::span<const operand> arguments, std::size_t at, std::size_t length) const;
  operand chosen(std::span<const operand> arguments, std::size_t at, std::size_t length) const;

  arena* arena_;
  mutable int joins_ = 0;  // of strings, in the text
};

// "a number", "a string": for messages.
std::string described(const type* t);
// "its parts, born.year, born.month, born.day": for messages that refuse a whole date.
std::string parts_of_date(const node* date);

}  // namespace query::ir::typed_text
