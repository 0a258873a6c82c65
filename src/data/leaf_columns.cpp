#include "data/leaf_columns.hpp"

namespace query::data {
namespace {

void add_leaves(std::vector<leaf_column>& out, const ir::type* t, const std::string& name, std::size_t offset,
                std::size_t top_field) {
  if (t->k == ir::kind::record) {
    for (const ir::field& f : t->fields())
      add_leaves(out, f.of, name + "." + std::string(f.name), offset + f.offset, top_field);
  } else if (t->k == ir::kind::array) {
    for (std::size_t i = 0; i < t->count; ++i)
      add_leaves(out, t->element, name + "_" + std::to_string(i), offset + i * t->element->size, top_field);
  } else {
    out.push_back({name, t, offset, top_field});
  }
}

bool is_tuple(const ir::type* t) { return t->k == ir::kind::record && t->name == "tuple"; }

void add_parts(std::vector<table_field>& out, const ir::type* t, const std::string& name, std::size_t offset, std::size_t top_field) {
  if (!is_tuple(t)) {
    out.push_back({name, t, offset, top_field});
    return;
  }
  for (const ir::field& f : t->fields()) add_parts(out, f.of, name + "." + std::string(f.name), offset + f.offset, top_field);
}

}  // namespace

std::vector<table_field> table_fields(const ir::type* row) {
  std::vector<table_field> fields;
  for (std::size_t i = 0; i < row->fields().size(); ++i) {
    const ir::field& f = row->fields()[i];
    if (is_tuple(row)) add_parts(fields, f.of, std::string(f.name), f.offset, i);
    else fields.push_back({std::string(f.name), f.of, f.offset, i});
  }
  return fields;
}

std::vector<leaf_column> leaf_columns(const ir::type* row, std::span<const std::string> names) {
  std::vector<leaf_column> leaves;
  if (row->k != ir::kind::record) {
    add_leaves(leaves, row, "value", 0, 0);
    return leaves;
  }
  const std::vector<table_field> fields = table_fields(row);
  for (std::size_t i = 0; i < fields.size(); ++i)
    add_leaves(leaves, fields[i].of, i < names.size() ? names[i] : fields[i].name, fields[i].offset, fields[i].top_field);
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

std::string short_type_name(const ir::type* type) {
  switch (type->k) {
    case ir::kind::optional: return short_type_name(type->element) + "?";
    case ir::kind::list: return short_type_name(type->element) + "[]";
    case ir::kind::array: return short_type_name(type->element) + "[" + std::to_string(type->count) + "]";
    default: return std::string(type->name);
  }
}

}  // namespace query::data
