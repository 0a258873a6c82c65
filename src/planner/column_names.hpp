// What the columns of rows that are pairs or tuples are called in tables: such rows have no field names of their own.
//
//   trades.group_by(symbol).aggregate(sum(price), count())    key, sum(price), count
//   trades.count_by(symbol and venue)                         symbol, venue, count
//   trades.join(symbols, symbol, id)                          left, right; tables open records, and need these where names are shared
//   trades.count_by(symbol).join(symbols, first, id)          key, count, right
//
// Found in the traced function that makes the rows, through verbs that only choose or sort them.
#pragma once

#include <string>
#include <vector>

#include <query/detail/plan.hpp>

namespace query::planner {

// A name for each part of such rows, those of tuples in them too (data::table_columns); empty: their own names are all there is to say.
std::vector<std::string> column_names(const detail::logical& n);

}  // namespace query::planner
