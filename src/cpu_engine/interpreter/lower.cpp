// Operators: from nodes to instructions.
#include <algorithm>

#include <cpu_engine/interpreter/compiler.hpp>
#include <cpu_engine/interpreter/instructions.hpp>
#include <query/detail/failure.hpp>

namespace query::interpreter {

using ir::kind;
using ir::node;
using ir::op;

value compiler::lower_node(const node* n) {
  switch (n->what) {
    case op::literal: return lower_literal(n);
    case op::null: return zero(n->type);
    case op::collection: return {};  // read by the computation over it
    case op::row:
    case op::field:
    case op::key:
    case op::aggregate: return lower_row(n);
    case op::variable: {
      const context* c = home_of(n, home_);
      if (c->binder != n->id || n->bits >= c->states.size()) malformed(n, "a variable outside its loop");
      return c->states[n->bits];
    }
    case op::member:
    case op::element: return part(value_of(n->kids[0]), n->bits);
    case op::index: return lower_index(n);
    case op::make: return lower_make(n);
    case op::has_value: return open(value_of(n->kids[0])).parts[0];
    case op::value: {
      const value o = open(value_of(n->kids[0]));
      instruction i;
      i.run = instructions::require_value;
      i.a = full(column(o.parts[0]));
      emit(i, 0);
      return o.parts[1];
    }
    case op::some: {
      value o;
      o.f = value::form::parts;
      o.parts = {number(kind::boolean, 1), convert(value_of(n->kids[0]), n->type->element)};
      return o;
    }
    case op::size: return lower_size(n);
    case op::cast: return convert(value_of(n->kids[0]), n->type);
    case op::negate:
    case op::bit_not:
    case op::logical_not: return negated(n->what, convert(value_of(n->kids[0]), n->type));
    case op::add: case op::sub: case op::mul: case op::div: case op::mod:
    case op::bit_and: case op::bit_or: case op::bit_xor: case op::shl: case op::shr:
      return arithmetic(n->what, n->type, value_of(n->kids[0]), value_of(n->kids[1]));
    case op::lt: case op::le: case op::gt: case op::ge: case op::eq: case op::ne:
      return compare(n->what, value_of(n->kids[0]), value_of(n->kids[1]));
    case op::logical_and:
    case op::logical_or: return lower_logic(n);
    case op::select: return lower_select(n);
    case op::call: return lower_call(n);
    case op::nested: return n->text == "at" || n->text == "size" ? lower_access(n) : lower_nested(n);
    case op::loop: return lower_loop(n);
  }
  malformed(n, "unknown operation");
}

value compiler::lower_literal(const node* n) {
  if (n->type->k == kind::string) return column_value(n->type, text_constant(n->text));
  if (!ir::is_arithmetic(n->type->k)) malformed(n, "a literal of this type");
  return column_value(n->type, constant(n->type->k, n->bits));
}

value compiler::lower_row(const node* n) {
  value v;
  v.f = value::form::place;
  v.type = n->type;
  const bool bound = n->what == op::key || n->what == op::aggregate;
  if (!bound && n->id > 1) {
    const context* c = home_of(n, home_);
    if (c->binder != n->id || !c->element.type) malformed(n, "an element outside its nested computation");
    v = c->element;
    v.type = n->type;
    if (n->what == op::row) return v;
    if (v.f != value::form::place) malformed(n, "a part of an element that is a single value");
    v.at.offset += n->bits;
    return v;
  }
  row_slot s;
  s.from = bound ? row_slot::source::bound : row_slot::source::row;
  s.id = n->id;
  s.bound = bound ? n : nullptr;
  auto& slots = code_->slots;
  const auto at = std::find_if(slots.begin(), slots.end(), [&](const row_slot& o) {
    return o.from == s.from && (bound ? o.bound == s.bound : o.id == s.id);
  });
  v.at.at = static_cast<std::uint32_t>(at - slots.begin());
  if (at == slots.end()) slots.push_back(s);
  v.at.offset = n->what == op::field ? n->bits : 0;
  return v;
}

value compiler::lower_make(const node* n) {
  value v;
  v.f = value::form::parts;
  v.type = n->type;
  const bool array = n->type->k == kind::array;
  if (!array && n->type->k != kind::record) malformed(n, "make of a type that has no parts");
  if (n->kids.size() != (array ? n->type->count : n->type->field_list.size())) malformed(n, "make with the wrong number of parts");
  for (std::size_t i = 0; i < n->kids.size(); ++i)
    v.parts.push_back(convert(value_of(n->kids[i]), array ? n->type->element : n->type->field_list[i].of));
  return v;
}

value compiler::lower_index(const node* n) {
  const value& from = value_of(n->kids[0]);
  if (from.type->k != kind::list && from.type->k != kind::array) malformed(n, "index into a type without elements");
  instruction i;
  i.run = instructions::element_at;
  i.a = address(from);
  i.b = full(column(convert(value_of(n->kids[1]), ir::describe<std::int64_t>())));
  i.type = from.type;
  value v;
  v.f = value::form::place;
  v.at = {place::source::pointer, emit(i, sizeof(void*)), 0};
  return v;
}

value compiler::lower_size(const node* n) {
  const value& of = value_of(n->kids[0]);
  instruction i;
  if (of.type->k == kind::string) {
    i.run = instructions::text;
    i.with.text = text_size();
    i.a = full(column(of));
  } else if (of.type->k == kind::list) {
    i.run = instructions::list_size;
    i.a = full(column(of));
    i.type = of.type;
  } else if (of.type->k == kind::array) {
    return convert(number(kind::u64, of.type->count), n->type);
  } else {
    malformed(n, "size of a type without elements");
  }
  return convert(column_value(ir::describe<std::uint64_t>(), emit(i, 8)), n->type);
}

value compiler::negated(op what, const value& v) {
  const ir::type* t = v.type;
  if (t->k == kind::array) {
    value a;
    a.f = value::form::parts;
    a.type = t;
    for (std::size_t i = 0; i < t->count; ++i) a.parts.push_back(negated(what, part(v, i)));
    return a;
  }
  instruction i;
  i.run = instructions::plain;
  i.with.plain = negation(what, t->k);
  if (!i.with.plain) throw internal_error("interpreter: no " + std::string(ir::name_of(what)) + " of " + std::string(t->name));
  i.a = full(column(v));
  return column_value(t, emit(i, t->size));
}

value compiler::arithmetic(op what, const ir::type* t, const value& a, const value& b) {
  if (t->k == kind::array) {
    // Element by element; a single number counts for every element.
    value v;
    v.f = value::form::parts;
    v.type = t;
    for (std::size_t i = 0; i < t->count; ++i)
      v.parts.push_back(arithmetic(what, t->element, a.type->k == kind::array ? part(a, i) : a, b.type->k == kind::array ? part(b, i) : b));
    return v;
  }
  if (t->k == kind::string) {
    instruction i;
    i.run = instructions::text;
    i.with.text = text_concatenation();
    i.a = full(column(a));
    i.b = full(column(b));
    return column_value(t, emit(i, sizeof(std::string_view)));
  }
  if (!ir::is_arithmetic(t->k)) throw internal_error("interpreter: arithmetic on " + std::string(t->name));
  return column_value(t, binary(what, t->k, column(convert(a, t)), column(convert(b, t))));
}

// Comparisons as C++ defines them: records and arrays in the order of their parts, an empty optional before all others.
value compiler::compare(op what, const value& a, const value& b) {
  const ir::type* boolean = ir::describe<bool>();
  const auto logic = [&](op o, const value& x, const value& y) {
    return column_value(boolean, binary(o, kind::boolean, column(x), column(y)));
  };
  const auto opposite = [&](const value& x) { return negated(op::logical_not, x); };
  const ir::type* t = a.type;
  if (ir::is_arithmetic(t->k)) return column_value(boolean, compare_numbers(what, t->k, column(a), column(convert(b, t))));
  if (t->k == kind::string) {
    instruction i;
    i.run = instructions::text;
    i.with.text = text_comparison(what);
    i.a = full(column(a));
    i.b = full(column(b));
    return column_value(boolean, emit(i, 1));
  }
  if (what == op::ne) return opposite(compare(op::eq, a, b));
  if (what == op::gt) return compare(op::lt, b, a);
  if (what == op::ge) return compare(op::le, b, a);
  if (t->k == kind::optional) {
    const value x = open(a), y = open(b);
    const value &hx = x.parts[0], &hy = y.parts[0];
    const value inner = compare(what, x.parts[1], y.parts[1]);
    const value both = logic(op::bit_and, hx, hy);
    const value decided = logic(op::bit_and, both, inner);
    if (what == op::eq) return logic(op::bit_or, decided, logic(op::bit_and, opposite(hx), opposite(hy)));
    if (what == op::lt) return logic(op::bit_or, decided, logic(op::bit_and, opposite(hx), hy));
    return logic(op::bit_or, decided, opposite(hx));
  }
  if (t->k != kind::record && t->k != kind::array)
    throw detail::unplaced_error("values of this type cannot be compared: " + std::string(t->name));
  const std::size_t n = t->k == kind::array ? t->count : t->field_list.size();
  if (what == op::eq) {
    value all = number(kind::boolean, 1);
    for (std::size_t i = 0; i < n; ++i) {
      const value same = compare(op::eq, part(a, i), part(b, i));
      all = i == 0 ? same : logic(op::bit_and, all, same);
    }
    return all;
  }
  // From the last part to the first: less, or equal and the rest decides. Parts of which one is NaN are neither, as in C++.
  value result = number(kind::boolean, what == op::le);
  for (std::size_t i = n; i-- > 0;) {
    const value x = part(a, i), y = part(b, i);
    const value less = compare(op::lt, x, y), same = compare(op::eq, x, y);
    result = logic(op::bit_or, less, logic(op::bit_and, same, result));
  }
  return result;
}

value compiler::blend_values(reg c, const value& a, const value& b, const ir::type* t) {
  if (a.f == value::form::column || b.f == value::form::column || ir::is_arithmetic(t->k) || t->k == kind::string ||
      t->k == kind::list || t->k == kind::opaque) {
    instruction i;
    i.run = instructions::three;
    i.a = full(c);
    i.b = full(column(convert(a, t)));
    i.c = full(column(convert(b, t)));
    const std::uint32_t width = code_->registers[i.b].width;
    i.with.three = blend(width);
    return column_value(t, emit(i, width));
  }
  value v;
  v.f = value::form::parts;
  v.type = t;
  if (t->k == kind::optional) {
    const value x = open(a), y = open(b);
    v.parts = {blend_values(c, x.parts[0], y.parts[0], ir::describe<bool>()), blend_values(c, x.parts[1], y.parts[1], t->element)};
    return v;
  }
  const std::size_t n = t->k == kind::array ? t->count : t->field_list.size();
  for (std::size_t i = 0; i < n; ++i)
    v.parts.push_back(blend_values(c, part(a, i), part(b, i), t->k == kind::array ? t->element : t->field_list[i].of));
  return v;
}

// A kid that counts in some lanes only: a region, and its value without places, as its pointers are stale elsewhere.
region_id compiler::arm(const node* n, value& result) {
  if (facts_of(n).total) {
    result = value_of(n);
    return none;
  }
  const region_id r = new_region(home_);
  schedule(n, home_, r);
  appended here(*this, r);
  result = settle(value_of(n));
  return r;
}

value compiler::lower_select(const node* n) {
  value x, y;
  const region_id then = arm(n->kids[1], x), other = arm(n->kids[2], y);
  const reg c = full(column(value_of(n->kids[0])));
  if (then != none || other != none) {
    instruction i;
    i.run = instructions::choose;
    i.c = c;
    i.index = then;
    i.extra = other;
    i.a = new_register(1);
    i.b = new_register(1);
    emit(i, 0);
  }
  return blend_values(c, x, y, n->type);
}

value compiler::lower_logic(const node* n) {
  const bool conjunction = n->what == op::logical_and;
  value y;
  const region_id right = arm(n->kids[1], y);
  const reg x = full(column(value_of(n->kids[0])));
  if (right == none)
    return column_value(n->type, binary(conjunction ? op::bit_and : op::bit_or, kind::boolean, x, column(y)));
  instruction i;
  i.run = instructions::choose;
  i.c = x;
  i.index = conjunction ? right : none;
  i.extra = conjunction ? none : right;
  i.a = new_register(1);
  i.b = new_register(1);
  emit(i, 0);
  const value decided = number(kind::boolean, !conjunction);
  return conjunction ? blend_values(x, y, decided, n->type) : blend_values(x, decided, y, n->type);
}

}  // namespace query::interpreter
