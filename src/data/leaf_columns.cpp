#include "data/leaf_columns.hpp"

#include <utility>

namespace query::data {
namespace {

void add_leaves(std::vector<leaf_column>& out, table_column column) {
  const ir::type* t = column.of;
  const auto opens = [](const ir::type* x) { return x->k == ir::kind::record && x->counts.what != ir::unit::of::date; };
  if (opens(t)) {
    for (const ir::field& f : t->fields())
      add_leaves(out, {column.name + "." + std::string(f.name), f.of, column.offset + f.offset, column.top_field, column.within});
  } else if (t->k == ir::kind::array) {
    for (std::size_t i = 0; i < t->count; ++i)
      add_leaves(out, {column.name + "_" + std::to_string(i), t->element, column.offset + i * t->element->size, column.top_field,
                       column.within});
  } else if (t->k == ir::kind::optional && opens(t->element)) {
    column.within.push_back({t, column.offset});
    add_leaves(out, {std::move(column.name), t->element, 0, column.top_field, std::move(column.within)});
  } else {
    out.push_back({std::move(column)});
  }
}

}  // namespace

std::vector<leaf_column> leaf_columns(const ir::type* row) {
  std::vector<leaf_column> leaves;
  if (row->k != ir::kind::record || row->counts.what == ir::unit::of::date) {
    add_leaves(leaves, {"value", row, 0, 0, {}});
    return leaves;
  }
  for (std::size_t i = 0; i < row->fields().size(); ++i) {
    const ir::field& f = row->fields()[i];
    add_leaves(leaves, {std::string(f.name), f.of, f.offset, i, {}});
  }
  return leaves;
}

std::vector<leaf_column> leaf_columns(const ir::type* row, std::span<const std::string> names) {
  if (row->k != ir::kind::record) return leaf_columns(row);
  std::vector<leaf_column> leaves;
  for (table_column& column : table_columns(row, names)) add_leaves(leaves, std::move(column));
  return leaves;
}

std::string type_name(const ir::type* type) {
  switch (type->k) {
    case ir::kind::optional: return "optional<" + type_name(type->element) + ">";
    case ir::kind::list: return "list<" + type_name(type->element) + ">";
    case ir::kind::array: return "array<" + type_name(type->element) + ", " + std::to_string(type->count) + ">";
    default: return std::string(type->name);
  }
}

}  // namespace query::data
