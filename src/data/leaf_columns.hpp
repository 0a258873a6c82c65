// A row taken apart into the scalar columns of a flat table, as files and describe() see it.
//
//   struct Point { double x, y; };  struct Shot { Point at; std::array<int, 2> hits; };
//   leaf_columns(describe<Shot>());   // at.x, at.y, hits_0, hits_1
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <query/detail/type.hpp>

namespace query::data {

struct leaf_column {
  std::string name;
  const ir::type* of = nullptr;  // scalar, string, optional, list or opaque: never record or array
  std::size_t offset = 0;        // bytes from the start of the row
  std::size_t top_field = 0;     // the field of the row that it is, or is part of

  bool optional() const { return of->k == ir::kind::optional; }
  const ir::type* value_type() const { return optional() ? of->element : of; }
};

// A column of a table of rows: a field of the row, or a part of one that is a pair or tuple in a pair or tuple, as composite keys are.
struct table_field {
  std::string name;  // "price", "key.0"
  const ir::type* of = nullptr;
  std::size_t offset = 0;
  std::size_t top_field = 0;
};
std::vector<table_field> table_fields(const ir::type* row);

// The columns in declaration order; a row that is neither record nor array is one column named `value`. `names`: for its
// table_fields; else their own.
std::vector<leaf_column> leaf_columns(const ir::type* row, std::span<const std::string> names = {});

// A type as users know it: "i32", "Trade", "optional<i32>", "array<f64, 3>", "list<string>".
std::string type_name(const ir::type* type);

// The same for the heads of tables: "i32?", "f64[3]", "string[]".
std::string short_type_name(const ir::type* type);

}  // namespace query::data
