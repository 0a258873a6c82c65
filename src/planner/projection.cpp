#include "planner/projection.hpp"

#include "ir/analysis.hpp"
#include "ir/visit.hpp"

namespace query::planner {

column_schema column_schema::of_fields(const ir::type* row, const std::vector<bool>& wanted) {
  column_schema s;
  for (std::size_t f = 0; f < row->field_list.size(); ++f)
    if (wanted.empty() || wanted[f]) s.columns.push_back({row->field_list[f].offset, row->field_list[f].of});
  return s;
}

const column_schema::column* column_schema::holding(std::size_t offset, std::size_t size) const {
  for (const column& c : columns)
    if (c.offset <= offset && offset + size <= c.offset + c.type->size) return &c;
  return nullptr;
}

column_schema projection::schema() const {
  column_schema s;
  for (const projected_part& p : parts) s.columns.push_back({p.to, p.type});
  return s;
}

bool projection::renames() const {
  for (const projected_part& p : parts)
    if (!p.computed) return true;
  return false;
}

namespace {

class projecting {
 public:
  projecting(const column_schema& left, const column_schema* right, std::vector<projected_part>& to) : sides_{&left, right}, to_(&to) {}

  bool add(const ir::node* n, const ir::type* type, std::size_t at) {
    if (n->type != type) return false;
    if (const auto field = ir::is_row_field(n); field && field->row < 2) return rename(*field, at);
    if (n->what == ir::op::make && type->k == ir::kind::record && n->kids.size() == type->field_list.size()) {
      for (std::size_t i = 0; i < n->kids.size(); ++i)
        if (!add(n->kids[i], type->field_list[i].of, at + type->field_list[i].offset)) return false;
      return true;
    }
    if (!readable(n, *sides_[0], sides_[1])) return false;
    to_->push_back({.to = at, .type = type, .computed = n});
    return true;
  }

 private:
  // A value that lies in one column, or a record whose columns each keep their own place.
  bool rename(const ir::row_field& f, std::size_t at) {
    const column_schema* side = sides_[f.row];
    if (!side) return false;
    const std::size_t end = f.offset + f.type->size;
    for (std::size_t c = 0; c < side->columns.size(); ++c) {
      const column_schema::column& from = side->columns[c];
      if (from.offset <= f.offset && end <= from.offset + from.type->size) {
        to_->push_back({.to = at, .type = f.type, .side = f.row, .column = c, .within = f.offset - from.offset});
        return true;
      }
    }
    if (f.type->k != ir::kind::record) return false;
    for (std::size_t c = 0; c < side->columns.size(); ++c) {
      const column_schema::column& from = side->columns[c];
      if (f.offset <= from.offset && from.offset + from.type->size <= end)
        to_->push_back({.to = at + (from.offset - f.offset), .type = from.type, .side = f.row, .column = c, .within = 0});
    }
    return true;
  }

  const column_schema* sides_[2];
  std::vector<projected_part>* to_;
};

}  // namespace

bool readable(const ir::node* expression, const column_schema& left, const column_schema* right) {
  bool all = true;
  ir::each_node(expression, [&](const ir::node* n) {
    const auto field = ir::is_row_field(n);
    if (!field || field->row > 1) return;
    const column_schema* side = field->row ? right : &left;
    all = all && side && side->holding(field->offset, field->type->size);
  });
  return all;
}

void mark_read(const ir::node* expression, const column_schema& row, std::vector<bool>& read) {
  ir::each_node(expression, [&](const ir::node* n) {
    const auto field = ir::is_row_field(n);
    if (!field || field->row != 0) return;
    for (std::size_t c = 0; c < row.columns.size(); ++c) {
      const column_schema::column& held = row.columns[c];
      if (held.offset < field->offset + field->type->size && field->offset < held.offset + held.type->size) read[c] = true;
    }
  });
}

std::optional<column_part> part_of_column(const ir::node* expression, const column_schema& row) {
  const auto field = ir::is_row_field(expression);
  if (!field || field->row != 0 || field->type != expression->type) return std::nullopt;
  for (std::size_t c = 0; c < row.columns.size(); ++c) {
    const column_schema::column& from = row.columns[c];
    if (from.offset <= field->offset && field->offset + field->type->size <= from.offset + from.type->size)
      return column_part{c, field->offset - from.offset};
  }
  return std::nullopt;
}

std::optional<projection> project(const detail::user_function& f, const column_schema& left, const column_schema* right) {
  projection p{interpret(f), {}};
  if (!p.function || !projecting(left, right, p.parts).add(p.function.expression.root, f.result, 0)) return std::nullopt;
  return p;
}

std::optional<interpretation> evaluate(const detail::user_function& f, const column_schema& row) {
  interpretation i = interpret(f);
  if (!i || !readable(i.expression.root, row)) return std::nullopt;
  return i;
}

}  // namespace query::planner
