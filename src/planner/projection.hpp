// What a traced function of rows means to an engine that keeps rows as columns: which parts of its result are columns of its input under
// another name, and which are computed.
//
// `[](auto l, auto r) { return make<Out>(l.id, r.name, l.x * r.y); }` renames two columns and computes one. A renamed column is not copied:
// no code of the function runs for it.
//
//   column_schema left(row_type), right(other_type);
//   if (auto p = project(function, left, right)) explain(p->renamed());
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "planner/interpretation.hpp"

namespace query::planner {

// The columns that a row of some type is kept in: values of these types, each at its place in the row's type. Bytes of the row that no
// column holds are read by nobody.
struct column_schema {
  struct column {
    std::size_t offset = 0;
    const ir::type* type = nullptr;
  };
  std::vector<column> columns;
  // Rows of an outer join's side that may be missing: what a row is. The last column, behind the row, is a bool: the row is there.
  const ir::type* optional_row = nullptr;

  // Rows side by side: one column that is the row itself.
  static column_schema of_rows(const ir::type* row) { return {{{0, row}}}; }
  // A column for each top-level field that is wanted; empty: for all.
  static column_schema of_fields(const ir::type* row, const std::vector<bool>& wanted);
  // The same columns of rows that may be missing.
  column_schema of_optional(const ir::type* row) const;

  // The column that holds these bytes of the row as a whole; null: none does.
  const column* holding(std::size_t offset, std::size_t size) const;
};

// One column of a function's result.
struct projected_part {
  std::size_t to = 0;               // its place in the result's type
  const ir::type* type = nullptr;
  std::size_t side = 0;             // renamed: which row it is part of (1: the right one of a pair)
  std::size_t column = 0;           //   the column of that row's schema
  std::size_t within = 0;           //   where in the column's values it begins
  const ir::node* computed = nullptr;  // null: renamed
  // Renamed, of a row that may be missing:
  bool wraps = false;                   //   `type` is an optional of the column's values, empty without a row
  const ir::node* otherwise = nullptr;  //   else the value without a row: a constant
};

struct projection {
  interpretation function;
  std::vector<projected_part> parts;

  static projection of_columns(const column_schema& rows);  // as they are

  column_schema schema() const;
  bool renames() const;  // at least one part
};

// Null: the function does not trace, or needs a row as a whole that lies in several columns.
std::optional<projection> project(const detail::user_function& f, const column_schema& left, const column_schema* right = nullptr);

// What the function of a group_by makes of columns of the keys (those that the projection `key` of the rows gives) and, after them, a
// column for each aggregate of `plan`. Null: it needs the key as a whole, which lies in several columns.
std::optional<projection> project_groups(const projection& key, const ir::type* key_type, const ir::group_plan& plan,
                                         const detail::user_function& f);

// A function of one row whose result is a value: a test, a key. Null as above.
std::optional<interpretation> evaluate(const detail::user_function& f, const column_schema& row);
// The same of an expression.
bool readable(const ir::node* expression, const column_schema& left, const column_schema* right = nullptr);

// Marks the columns that an expression of the row reads.
void mark_read(const ir::node* expression, const column_schema& row, std::vector<bool>& read);

// Where a value lies that is a part of one column; nothing if it is computed.
struct column_part {
  std::size_t column = 0;  // of the schema
  std::size_t within = 0;  // where in the column's values it begins
};
std::optional<column_part> part_of_column(const ir::node* expression, const column_schema& row);

}  // namespace query::planner
