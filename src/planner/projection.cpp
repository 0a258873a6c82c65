#include "planner/projection.hpp"

#include <unordered_map>

#include "ir/analysis.hpp"
#include "ir/present_rows.hpp"
#include "ir/visit.hpp"

namespace query::planner {

column_schema column_schema::of_fields(const ir::type* row, const std::vector<bool>& wanted) {
  column_schema s;
  for (std::size_t f = 0; f < row->field_list.size(); ++f)
    if (wanted.empty() || wanted[f]) s.columns.push_back({row->field_list[f].offset, row->field_list[f].of});
  return s;
}

column_schema column_schema::of_optional(const ir::type* row) const {
  column_schema s = *this;
  s.columns.push_back({row->size, ir::describe<bool>()});
  s.optional_row = row;
  return s;
}

const column_schema::column* column_schema::holding(std::size_t offset, std::size_t size) const {
  for (const column& c : columns)
    if (c.offset <= offset && offset + size <= c.offset + c.type->size) return &c;
  return nullptr;
}

projection projection::of_columns(const column_schema& rows) {
  projection p;
  for (const auto& c : rows.columns) p.parts.push_back({.to = c.offset, .type = c.type, .column = p.parts.size()});
  return p;
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

bool is_constant(const ir::node* n) {
  bool constant = ir::speculatable(n);
  ir::each_node(n, [&](const ir::node* k) {
    const bool varies =
        k->what == ir::op::row || k->what == ir::op::field || k->what == ir::op::variable || k->what == ir::op::collection;
    constant = constant && !varies;
  });
  return constant;
}

// Parts of such a value cannot be renamed by themselves: it is read whole, where it lies or as what stands for it.
bool is_whole(const ir::type* t) { return ir::is_arithmetic(t->k) || t->k == ir::kind::string || t->k == ir::kind::optional; }

bool can_be_wrapped(const ir::type* optional) {
  return optional->get.emplace && (optional->element->trivial || optional->element->life.copy_assign);
}

class projecting {
 public:
  projecting(ir::arena& a, const column_schema& left, const column_schema* right, std::vector<projected_part>& to)
      : arena_(&a), sides_{&left, right}, to_(&to) {}

  bool add(const ir::node* n, const ir::type* type, std::size_t at) {
    if (n->type != type) return false;
    if (const auto field = ir::is_row_field(n); field && field->row < 2) return rename(*field, at);
    if (n->what == ir::op::make && type->k == ir::kind::record && n->kids.size() == type->field_list.size()) {
      for (std::size_t i = 0; i < n->kids.size(); ++i)
        if (!add(n->kids[i], type->field_list[i].of, at + type->field_list[i].offset)) return false;
      return true;
    }
    if (is_of_optional(n)) {
      if (rename_optional(n, at)) return true;
      if (type->k == ir::kind::record && can_be_split(n)) {
        for (std::size_t i = 0; i < type->field_list.size(); ++i)
          if (!add(part_of_choice(n, i), type->field_list[i].of, at + type->field_list[i].offset)) return false;
        return true;
      }
    }
    if (!readable(n, *sides_[0], sides_[1]) && !is_optional_of_parts(n)) return false;
    to_->push_back({.to = at, .type = type, .computed = n});
    return true;
  }

 private:
  bool is_presence(const ir::node* n) const {
    const column_schema* side = n->id < 2 ? sides_[n->id] : nullptr;
    return side && side->optional_row && ir::is_presence(n, n->id, side->optional_row);
  }
  // A choice by whether a row is there.
  bool is_of_optional(const ir::node* n) const { return n->what == ir::op::select && is_presence(n->kids[0]); }

  // Choices between records that the function makes: each part is a choice of its own, or no choice where it is the same in all of them.
  static bool can_be_split(const ir::node* n) {
    if (n->what == ir::op::select) return ir::speculatable(n->kids[0]) && can_be_split(n->kids[1]) && can_be_split(n->kids[2]);
    if (n->what != ir::op::make || n->kids.size() != n->type->field_list.size()) return false;
    for (std::size_t i = 0; i < n->kids.size(); ++i)
      if (n->kids[i]->type != n->type->field_list[i].of) return false;
    return true;
  }
  const ir::node* part_of_choice(const ir::node* n, std::size_t i) {
    if (n->what == ir::op::make) return n->kids[i];
    const ir::node *x = part_of_choice(n->kids[1], i), *y = part_of_choice(n->kids[2], i);
    // Where one row of a pair is missing, the other is there: by choosing between its parts the other's choice is made.
    if (is_presence(n->kids[0]) && is_of_optional(x) && x->kids[0] != n->kids[0] && x->kids[1] == y) return x;
    return ir::make_select(*arena_, n->kids[0], x, y);
  }

  // A part of the row where it is there, and nothing or a constant where it is not.
  bool rename_optional(const ir::node* n, std::size_t at) {
    const ir::node *there = n->kids[1], *missing = n->kids[2];
    const bool wraps = there->what == ir::op::some && missing->what == ir::op::null;
    const auto field = ir::is_row_field(wraps ? there->kids[0] : there);
    if (!field || field->row != n->kids[0]->id) return false;
    if (wraps ? field->type != n->type->element || !can_be_wrapped(n->type) : !is_whole(n->type) || !is_constant(missing)) return false;
    const auto& columns = sides_[field->row]->columns;
    for (std::size_t c = 0; c < columns.size(); ++c) {
      if (columns[c].offset > field->offset || field->offset + field->type->size > columns[c].offset + columns[c].type->size) continue;
      to_->push_back({.to = at,
                      .type = n->type,
                      .side = field->row,
                      .column = c,
                      .within = field->offset - columns[c].offset,
                      .wraps = wraps,
                      .otherwise = wraps ? nullptr : missing});
      return true;
    }
    return false;
  }
  // An optional of a whole row that lies in several columns: its parts are read one by one.
  bool is_optional_of_parts(const ir::node* n) const {
    if (!is_of_optional(n) || n->kids[1]->what != ir::op::some || n->kids[2]->what != ir::op::null) return false;
    const auto field = ir::is_row_field(n->kids[1]->kids[0]);
    return field && field->row < 2 && parts_are_held(*sides_[field->row], field->offset, field->type);
  }
  static bool parts_are_held(const column_schema& s, std::size_t offset, const ir::type* t) {
    if (s.holding(offset, t->size)) return true;
    if (t->k != ir::kind::record) return false;
    for (const ir::field& f : t->field_list)
      if (!parts_are_held(s, offset + f.offset, f.of)) return false;
    return true;
  }
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

  ir::arena* arena_;
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
  if (!p.function) return std::nullopt;
  ir::traced& t = p.function.expression;
  try {
    const column_schema* const sides[2] = {&left, right};
    for (std::uint32_t s = 0; s < 2; ++s)
      if (sides[s] && sides[s]->optional_row)
        t.root = ir::over_present_rows(*t.owner, t.root, s, sides[s]->optional_row, sides[1 - s] ? sides[1 - s]->optional_row : nullptr);
    if (!projecting(*t.owner, left, right, p.parts).add(t.root, f.result, 0)) return std::nullopt;
  } catch (const untraceable&) {  // too many nodes
    return std::nullopt;
  }
  return p;
}

namespace {

// The finishing expression over one row: the key, and behind it the values of the aggregates at these places.
const ir::node* over_key_and_aggregates(ir::arena& a, const ir::group_plan& plan, const std::vector<std::size_t>& places) {
  std::unordered_map<const ir::node*, const ir::node*> made;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const ir::node* source = plan.calls[i].source;
    made.emplace(source, a.put(ir::op::field, source->type, {}, places[i], 0, source->text));
  }
  const auto part = [&](const ir::node* whole, const ir::type* t, std::size_t within) {
    return a.put(ir::op::field, t, {}, (whole->what == ir::op::field ? whole->bits : 0) + within, 0, "part of the key");
  };
  ir::each_node(plan.finish, [&](const ir::node* n) {
    if (made.contains(n)) return;
    if (n->what == ir::op::key) {
      made.emplace(n, a.put(ir::op::row, n->type));
      return;
    }
    ir::node copy = *n;
    for (const ir::node*& k : copy.kids)
      if (const auto found = made.find(k); found != made.end()) k = found->second;
    const ir::node* const whole = copy.kids.empty() ? nullptr : copy.kids[0];
    const bool of_row = whole && (whole->what == ir::op::row || whole->what == ir::op::field) && whole->id == 0;
    if (n->what == ir::op::member && of_row && n->bits < whole->type->field_list.size())
      made.emplace(n, part(whole, n->type, whole->type->field_list[static_cast<std::size_t>(n->bits)].offset));
    else if (n->what == ir::op::element && of_row) made.emplace(n, part(whole, n->type, static_cast<std::size_t>(n->bits) * n->type->size));
    else made.emplace(n, a.put(std::move(copy)));
  });
  return made.at(plan.finish);
}

}  // namespace

std::optional<projection> project_groups(const projection& key, const ir::type* key_type, const ir::group_plan& plan,
                                         const detail::user_function& f) {
  column_schema columns = key.schema();
  std::vector<std::size_t> places;
  std::size_t end = key_type->size;
  for (const ir::aggregate_call& c : plan.calls) {
    places.push_back(end);
    columns.columns.push_back({end, c.source->type});
    end += c.source->type->size;
  }
  projection p;
  try {
    // Others plan from the nodes of `plan` meanwhile: these go into an arena of their own.
    const auto owner = std::make_shared<ir::arena>();
    p.function.expression.owner = owner;
    p.function.expression.root = over_key_and_aggregates(*owner, plan, places);
    if (!projecting(*owner, columns, nullptr, p.parts).add(p.function.expression.root, f.result, 0)) return std::nullopt;
  } catch (const untraceable&) {  // too many nodes
    return std::nullopt;
  }
  p.function.captures = captures_of(f);
  return p;
}

std::optional<interpretation> evaluate(const detail::user_function& f, const column_schema& row) {
  interpretation i = interpret(f);
  if (!i || !readable(i.expression.root, row)) return std::nullopt;
  return i;
}

}  // namespace query::planner
