// Predicates that the library's own kernels test over columns: comparisons of numbers with constants and with each other, joined by &&,
// || and !. None of their parts can fail, so all of them may be computed for all rows, without branches.
//
//   column_schema rows = ...;
//   if (auto p = number_predicate_of(trace.root, rows)) run(p->tests);   // cpu_engine/number_tests.hpp
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "planner/projection.hpp"

namespace query::planner {

// Is every value of `from` a value of `to`? They are in the same order then.
bool holds_all(ir::kind from, ir::kind to);

// A number of each row, or a constant.
struct number_operand {
  std::size_t column = 0;         // of the rows' schema
  std::size_t within = 0;         // where in the column's values it begins
  const ir::type* lies = nullptr; // as it lies there; null: a constant
  ir::kind as = ir::kind::opaque; // what it is compared or added up as
  std::uint64_t bits = 0;         // a constant's

  bool constant() const { return !lies; }
};

// One instruction of a machine whose stack holds masks, a mark for each row.
struct number_test {
  enum class kind : std::uint8_t {
    compare,  // pushes left `how` right; left is no constant
    negate,   // of the mask on top
    both,     // the two masks on top become one
    either,
  } what = kind::compare;
  ir::op how = ir::op::eq;
  number_operand left = {}, right = {};
  bool decides = false;  // where no row is marked on top now, none is in the end
};

struct number_predicate {
  std::vector<number_test> tests;
  static constexpr std::size_t most_depth = 8;  // masks that are there at once, at most
};

// Nothing: part of it is something else, could fail, or lies in no column.
std::optional<number_predicate> number_predicate_of(const ir::node* root, const column_schema& rows);
// The same behind tests that are there already: rows have to pass both. Where it says no, `to` is of no use any more.
bool add_number_predicate(const ir::node* root, const column_schema& rows, number_predicate& to);
// A column of numbers, or one that is converted; a constant.
std::optional<number_operand> number_operand_of(const ir::node* n, const column_schema& rows);

}  // namespace query::planner
