#include "data/table_columns.hpp"

#include <algorithm>
#include <utility>

namespace query::data {
namespace {

bool is_tuple(const ir::type* t) { return t->k == ir::kind::record && t->name == "tuple"; }

std::string joined(const std::string& name, std::string_view field) { return name + "." + std::string(field); }

table_column part_of(const table_column& whole, const ir::field& f) {
  return {joined(whole.name, f.name), f.of, whole.offset + f.offset, whole.top_field, whole.within};
}

void add_parts(std::vector<table_column>& out, table_column part) {
  if (!is_tuple(part.of)) return out.push_back(std::move(part));
  for (const ir::field& f : part.of->fields()) add_parts(out, part_of(part, f));
}

// A part of a tuple that is a record, or may be one, opened: its fields, known by their own names too.
struct opened {
  table_column column;
  std::string field;  // empty: it has its whole name only
};

void open(std::vector<opened>& out, table_column part) {
  const ir::type* inside = part.of;
  while (inside->k == ir::kind::optional) inside = inside->element;
  const bool opens = inside->k == ir::kind::record && !inside->fields().empty() && inside->counts.what != ir::unit::of::date;
  if (!opens) return out.push_back({std::move(part), {}});
  for (; part.of->k == ir::kind::optional; part.of = part.of->element, part.offset = 0) part.within.push_back({part.of, part.offset});
  for (const ir::field& f : inside->fields()) {
    if (is_tuple(inside)) open(out, part_of(part, f));
    else out.push_back({part_of(part, f), std::string(f.name)});
  }
}

}  // namespace

std::vector<table_column> table_columns(const ir::type* row, std::span<const std::string> names) {
  std::vector<table_column> parts;
  for (std::size_t i = 0; i < row->fields().size(); ++i) {
    const ir::field& f = row->fields()[i];
    table_column part{std::string(f.name), f.of, f.offset, i, {}};
    if (is_tuple(row)) add_parts(parts, std::move(part));
    else parts.push_back(std::move(part));
  }
  for (std::size_t i = 0; i < parts.size() && i < names.size(); ++i) parts[i].name = names[i];
  if (!is_tuple(row)) return parts;

  std::vector<opened> all;
  for (table_column& part : parts) open(all, std::move(part));
  std::vector<table_column> columns;
  for (const opened& o : all) {
    const auto same = [&](const opened& other) { return (other.field.empty() ? other.column.name : other.field) == o.field; };
    columns.push_back(o.column);
    if (!o.field.empty() && std::count_if(all.begin(), all.end(), same) == 1) columns.back().name = o.field;
  }
  return columns;
}

std::string short_type_name(const ir::type* type) {
  switch (type->k) {
    case ir::kind::optional: return short_type_name(type->element) + "?";
    case ir::kind::list: return short_type_name(type->element) + "[]";
    case ir::kind::array: return short_type_name(type->element) + "[" + std::to_string(type->count) + "]";
    default: return std::string(type->name);
  }
}

std::string short_type_name(const table_column& column) {
  return short_type_name(column.of) + (column.within.empty() || column.of->k == ir::kind::optional ? "" : "?");
}

}  // namespace query::data
