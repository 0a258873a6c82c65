// Prints the answer of a cookbook program as a table, and compares it with the expected rows.
#pragma once

#include <iostream>
#include <vector>

#include <query/query.hpp>

#include "../same_rows.hpp"

// Returns the exit status for main: 0 if `rows` are the `expected` ones, in this order.
template <class Row> int answer(const query::Query<Row>& rows, const std::vector<Row>& expected) {
  rows.print();
  if (same_rows(rows.to_vector(), expected)) return 0;
  std::cerr << "These rows were expected:\n" << query::from(expected).table();
  return 1;
}
