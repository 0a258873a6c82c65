// A row taken apart into the columns of a table for people. A row that is a pair or tuple, as joins without a function give, has
// a column a field of each record in it; a record inside a record stays one.
//
//   table_columns(describe<std::pair<Trade, std::optional<Stock>>>(), {"left", "right"});
//   // symbol, price, id, name; where both have a field `id`, left.id and right.id
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <query/detail/type.hpp>

namespace query::data {

struct table_column {
  // A record in a row that may be missing, and with it the column's value.
  struct optional_at {
    const ir::type* of = nullptr;
    std::size_t offset = 0;  // bytes from the start of the row, or of the value of the optional around it
  };

  std::string name;  // "price", "key.0"
  const ir::type* of = nullptr;
  std::size_t offset = 0;           // bytes from the start of the row, or of the value of the innermost optional
  std::size_t top_field = 0;        // the field of the row that it is, or is part of
  std::vector<optional_at> within;  // from the outermost

  // Null where an optional around it is empty.
  const void* in(const void* row) const {
    for (const optional_at& o : within)
      if ((row = o.of->get.value(static_cast<const std::byte*>(row) + o.offset)) == nullptr) return nullptr;
    return static_cast<const std::byte*>(row) + offset;
  }
};

// The columns of a row that is a record, in declaration order. `names`: for the parts of a row that is a tuple (those of a tuple in
// it count as its own, as composite keys have them); else their own.
std::vector<table_column> table_columns(const ir::type* row, std::span<const std::string> names = {});

// A type for the heads of tables: "i32?", "f64[3]", "string[]"; that of a column is "i32?" too where a record around it may be missing.
std::string short_type_name(const ir::type* type);
std::string short_type_name(const table_column& column);

}  // namespace query::data
