// A row taken apart into the scalar columns of a flat table, as files and describe() see it.
//
//   struct Point { double x, y; };  struct Shot { Point at; std::array<int, 2> hits; };
//   leaf_columns(describe<Shot>());   // at.x, at.y, hits_0, hits_1
#pragma once

#include <span>
#include <string>
#include <vector>

#include <query/detail/type.hpp>

#include "data/table_columns.hpp"

namespace query::data {

// `of` is a scalar, string, optional, list or opaque: never record or array, nor an optional of a record.
struct leaf_column : table_column {
  bool optional() const { return of->k == ir::kind::optional; }
  bool may_be_null() const { return optional() || !within.empty(); }
  const ir::type* value_type() const { return optional() ? of->element : of; }
  // Of a row; null where there is none.
  const void* value(const void* row) const {
    const void* at = in(row);
    return at != nullptr && optional() ? of->get.value(at) : at;
  }
};

// The columns in declaration order; a row that is neither record nor array is one column named `value`. The name of each is its
// whole path, which a file needs to be read again: "first.price".
std::vector<leaf_column> leaf_columns(const ir::type* row);

// Those of table_columns(row, names), by the names that they have in tables.
std::vector<leaf_column> leaf_columns(const ir::type* row, std::span<const std::string> names);

// A type as users know it: "i32", "Trade", "optional<i32>", "array<f64, 3>", "list<string>".
std::string type_name(const ir::type* type);

}  // namespace query::data
