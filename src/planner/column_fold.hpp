// count, sum, min, max and average of a column of numbers, behind filters that are predicates of numbers: the library's own kernels read
// the columns where they lie, and no row is put together.
//
//   if (auto fold = column_fold_of(branch, fold_kind::sum)) branch.stages.front().fold = std::move(fold);
#pragma once

#include <memory>

#include "planner/machine_graph.hpp"
#include "planner/number_predicate.hpp"

namespace query::planner {

struct column_fold {
  column_schema source;    // its columns are what operands name
  number_predicate where;  // no tests: all rows
  number_operand value;    // what is folded, in the kind of the branch's rows; a constant for count, which reads none
};

// Null where the branch does anything else: a function that does not trace, a number that is computed, rows that do not lie in columns.
std::shared_ptr<const column_fold> column_fold_of(const branch& b, detail::fold_kind kind);

}  // namespace query::planner
