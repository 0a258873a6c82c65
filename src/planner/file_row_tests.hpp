// The comparisons of single fields with constants in a predicate, which statistics of a file can answer.
//
//   row_tests_of(trace.root, row);     // t.price > 5 && f(t)  ->  {{price > 5}}: all rows that pass the predicate pass one of the lists
#pragma once

#include <query/detail/node.hpp>

#include "data/row_tests.hpp"

namespace query::planner {

// An empty result says nothing of the rows.
data::row_tests row_tests_of(const ir::node* predicate, const ir::type* row);

// Rows that pass both, and rows that pass one of the two.
data::row_tests both(const data::row_tests& a, const data::row_tests& b);
data::row_tests either(const data::row_tests& a, const data::row_tests& b);

// Nobody notices that this part of a predicate was not evaluated for a row: it cannot trap or throw, and reads nothing but the row.
// `tested`: the predicate as a whole takes no value of an optional that may be null.
bool may_be_left_out(const ir::node* part, bool tested);

}  // namespace query::planner
