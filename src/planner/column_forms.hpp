// Which stages of a branch run over columns instead of records: decided here alone, for explain() as for the CPU engine.
//
// A stage can, if every function of it traces and reads no more of a row than a column holds. It does where records would cost: rows that
// hold strings or lists would be put together only to be taken apart, and a join would copy every field of both sides. Rows of plain
// numbers stay with the loops that the user's compiler made. A group_by or aggregate behind such stages takes columns too, if its key
// and what its aggregates take can be read of them. The expressions and the layout of the source decide, never the number of rows.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "planner/machine_graph.hpp"
#include "planner/projection.hpp"

namespace query::planner {

// Marks the stages (form::columns) of all branches that the CPU runs, the groups that take columns (vertex::over_columns) and the
// build sides that are read where they lie (vertex::in_place). After the vertices have been placed on engines.
struct column_options {
  bool to_columns = false;  // the terminal verb wants columns
  bool interpret = false;   // the session interprets: all that can over columnar sources, as far as it can
  std::optional<detail::fold_kind> fold = {};  // the terminal verb folds on the CPU
};
void choose_columns(machine_graph& g, const column_options& options);

// The branch with all of its stages over columns, for an operator that keeps columns of rows that lie in memory; null: it has joins, a
// function of it does not trace, or its rows are trivial records, which are copied as fast.
std::unique_ptr<branch> over_columns(const branch& b);

// Of schemas of one type of rows the one with most columns, each of which all others hold, too; null: there is none.
const column_schema* shared_schema(const std::vector<column_schema>& all);

// The columns that a branch begins with.
column_schema source_schema(const branch& b);
// A vertex that only names a source, or a branch that only reads one: its readers take the source's columns.
bool is_bare_source(const vertex& v);
bool is_bare_source(const branch& b);

}  // namespace query::planner
