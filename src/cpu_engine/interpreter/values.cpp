// Registers, and values of record, array and optional type as trees of registers.
#include <cpu_engine/interpreter/compiler.hpp>
#include <cpu_engine/interpreter/instructions.hpp>

#include <query/detail/failure.hpp>

namespace query::interpreter {

using ir::kind;
using ir::op;

namespace {

bool is_leaf(const ir::type* t) {
  return ir::is_arithmetic(t->k) || t->k == kind::string || t->k == kind::list || t->k == kind::opaque;
}
std::size_t width_of(const ir::type* t) {
  if (ir::is_arithmetic(t->k)) return t->size;
  return t->k == kind::string ? sizeof(std::string_view) : sizeof(void*);
}
std::size_t parts_in(const ir::type* t) { return t->k == kind::array ? t->count : t->field_list.size(); }
const ir::type* part_type(const ir::type* t, std::size_t i) {
  return t->k == kind::array ? t->element : t->field_list.at(i).of;
}
std::size_t part_offset(const ir::type* t, std::size_t i) {
  return t->k == kind::array ? i * t->element->size : t->field_list.at(i).offset;
}
const ir::type* scalar_type(kind k) {
  switch (k) {
    case kind::boolean: return ir::describe<bool>();
    case kind::i8: return ir::describe<std::int8_t>();
    case kind::i16: return ir::describe<std::int16_t>();
    case kind::i32: return ir::describe<std::int32_t>();
    case kind::i64: return ir::describe<std::int64_t>();
    case kind::u8: return ir::describe<std::uint8_t>();
    case kind::u16: return ir::describe<std::uint16_t>();
    case kind::u32: return ir::describe<std::uint32_t>();
    case kind::u64: return ir::describe<std::uint64_t>();
    case kind::f32: return ir::describe<float>();
    default: return ir::describe<double>();
  }
}

}  // namespace

reg compiler::new_register(std::size_t width) {
  register_info r;
  r.width = static_cast<std::uint32_t>(width);
  code_->registers.push_back(r);
  return static_cast<reg>(code_->registers.size() - 1);
}

reg compiler::constant(kind k, std::uint64_t bits) {
  const reg r = new_register(scalar_type(k)->size);
  code_->registers[r].constant = true;
  code_->registers[r].bits = bits;
  return r;
}
reg compiler::text_constant(const std::string& s) {
  const reg r = new_register(sizeof(std::string_view));
  code_->registers[r].constant = true;
  code_->registers[r].text = code_->texts.emplace_back(s);
  return r;
}

reg compiler::emit(instruction i, std::size_t width) {
  if (width > 0) i.to = new_register(width);
  current_->steps.push_back(i);
  return i.to;
}

reg compiler::full(reg r) {
  if (!code_->registers[r].constant) return r;
  instruction i;
  i.run = instructions::broadcast;
  i.a = r;
  return emit(i, code_->registers[r].width);
}

value compiler::column_value(const ir::type* t, reg r) const {
  value v;
  v.type = t;
  v.column = r;
  return v;
}

value compiler::number(kind k, std::uint64_t bits) { return column_value(scalar_type(k), constant(k, bits)); }

value compiler::zero(const ir::type* t) {
  if (ir::is_arithmetic(t->k)) return column_value(t, constant(t->k, 0));
  if (t->k == kind::string) return column_value(t, text_constant(""));
  if (is_leaf(t)) return column_value(t, constant(kind::u64, 0));
  value v;
  v.f = value::form::parts;
  v.type = t;
  if (t->k == kind::optional) {
    v.parts = {number(kind::boolean, 0), zero(t->element)};
    return v;
  }
  for (std::size_t i = 0; i < parts_in(t); ++i) v.parts.push_back(zero(part_type(t, i)));
  return v;
}

value compiler::fresh(const ir::type* t) {
  if (is_leaf(t)) {
    const reg r = new_register(width_of(t));
    states_.insert(r);
    return column_value(t, r);
  }
  value v;
  v.f = value::form::parts;
  v.type = t;
  if (t->k == kind::optional) {
    v.parts = {fresh(ir::describe<bool>()), fresh(t->element)};
    return v;
  }
  for (std::size_t i = 0; i < parts_in(t); ++i) v.parts.push_back(fresh(part_type(t, i)));
  return v;
}

reg compiler::column(const value& v) {
  if (v.f == value::form::column) return v.column;
  if (v.f == value::form::parts || !is_leaf(v.type))
    throw internal_error("interpreter: a single value was expected, not " + std::string(v.type->name));
  if (!ir::is_arithmetic(v.type->k) && v.type->k != kind::string) return address(v);
  const bool text = v.type->k == kind::string;
  instruction i;
  i.offset = v.at.offset;
  if (v.at.from == place::source::row) {
    i.run = text ? instructions::load_text_row : instructions::load_row;
    i.index = v.at.at;
  } else {
    i.run = text ? instructions::load_text_pointer : instructions::load_pointer;
    i.a = v.at.at;
  }
  return emit(i, width_of(v.type));
}

value compiler::settle(const value& v) {
  if (is_leaf(v.type)) return column_value(v.type, column(v));
  value s;
  s.f = value::form::parts;
  s.type = v.type;
  const value whole = v.type->k == kind::optional ? open(v) : v;
  const std::size_t n = v.type->k == kind::optional ? 2 : parts_in(v.type);
  for (std::size_t i = 0; i < n; ++i) s.parts.push_back(settle(part(whole, i)));
  return s;
}

value compiler::part(const value& v, std::size_t i) const {
  if (v.f == value::form::parts) {
    if (i >= v.parts.size()) throw internal_error("interpreter: no such part of " + std::string(v.type->name));
    return v.parts[i];
  }
  if (v.f == value::form::column || i >= parts_in(v.type))
    throw internal_error("interpreter: no such part of " + std::string(v.type->name));
  value p;
  p.f = value::form::place;
  p.type = part_type(v.type, i);
  p.at = v.at;
  p.at.offset += part_offset(v.type, i);
  return p;
}

value compiler::open(const value& v) {
  if (v.f == value::form::parts) return v;
  instruction find;
  find.type = v.type;
  if (v.f == value::form::place && v.at.from == place::source::row) {
    find.run = instructions::optional_row;
    find.index = v.at.at;
    find.offset = v.at.offset;
  } else {
    find.run = instructions::optional_value;
    find.a = address(v);
  }
  const reg pointer = emit(find, sizeof(void*));
  instruction test;
  test.run = instructions::is_set;
  test.a = pointer;
  value inner;
  inner.f = value::form::place;
  inner.type = v.type->element;
  inner.at = {place::source::pointer, pointer, 0};
  value o;
  o.f = value::form::parts;
  o.type = v.type;
  o.parts = {column_value(ir::describe<bool>(), emit(test, 1)), std::move(inner)};
  return o;
}

reg compiler::address(const value& v) {
  if (v.f == value::form::column) return full(v.column);
  instruction i;
  i.type = v.type;
  if (v.f == value::form::parts) {
    if (!v.type->trivial)
      throw detail::unplaced_error("a computed array of this type cannot be indexed by a value of the row: " + std::string(v.type->name));
    i.run = instructions::spill;
    i.index = keep(settle(v));
    i.b = new_register(v.type->size);
    spilled_.push_back(i.b);
    return emit(i, sizeof(void*));
  }
  i.offset = v.at.offset;
  if (v.at.from == place::source::row) {
    i.run = instructions::address_row;
    i.index = v.at.at;
  } else {
    if (v.at.offset == 0) return v.at.at;
    i.run = instructions::address_pointer;
    i.a = v.at.at;
  }
  return emit(i, sizeof(void*));
}

std::uint32_t compiler::keep(value v) {
  code_->values.push_back(std::move(v));
  return static_cast<std::uint32_t>(code_->values.size() - 1);
}

value compiler::convert(const value& v, const ir::type* to) {
  if (v.type == to || v.type->k == kind::string) return v;
  if (ir::is_arithmetic(v.type->k) && ir::is_arithmetic(to->k)) {
    const reg from = column(v);
    if (v.type->k == to->k) return column_value(to, from);
    const kernel k = conversion(v.type->k, to->k);
    if (code_->registers[from].constant) {
      const std::uint64_t bits = code_->registers[from].bits;
      std::uint64_t result = 0;
      k(&result, &bits, nullptr, 1);
      return column_value(to, constant(to->k, result));
    }
    instruction i;
    i.run = instructions::plain;
    i.with.plain = k;
    i.a = from;
    return column_value(to, emit(i, to->size));
  }
  if (v.type->k == kind::array && to->k == kind::array && v.type->count == to->count && v.type->element->k != to->element->k) {
    value a;
    a.f = value::form::parts;
    a.type = to;
    for (std::size_t i = 0; i < to->count; ++i) a.parts.push_back(convert(part(v, i), to->element));
    return a;
  }
  if (v.type->k == kind::optional && to->k == kind::optional) {
    value o = open(v);
    o.parts[1] = convert(o.parts[1], to->element);
    o.type = to;
    return o;
  }
  if (v.type->k != to->k)
    throw internal_error("interpreter: no conversion from " + std::string(v.type->name) + " to " + std::string(to->name));
  return v;
}

reg compiler::binary(op what, kind k, reg a, reg b) {
  const bool ca = code_->registers[a].constant, cb = code_->registers[b].constant;
  if (ca && cb) a = full(a);
  const shape s = cb ? shape::vs : ca ? shape::sv : shape::vv;
  instruction i;
  i.a = a;
  i.b = b;
  bool known = true;
  if ((what == op::div || what == op::mod) && !ir::is_floating(k)) {
    i.run = instructions::checked;
    i.with.checked = division(what, k);
    known = i.with.checked != nullptr;
    i.a = full(a);
    i.b = full(b);
  } else {
    const bool remainder = what == op::mod;
    i.run = instructions::plain;
    i.with.plain = remainder ? binary_math("fmod", k) : interpreter::arithmetic(what, k, s);
    known = i.with.plain != nullptr;
    if (remainder) {
      i.a = full(a);
      i.b = full(b);
    }
  }
  if (!known) throw internal_error("interpreter: no such arithmetic: " + std::string(ir::name_of(what)));
  return emit(i, scalar_type(k)->size);
}

reg compiler::compare_numbers(op what, kind k, reg a, reg b) {
  const bool ca = code_->registers[a].constant, cb = code_->registers[b].constant;
  if (ca && cb) a = full(a);
  if (ca && !cb) {
    std::swap(a, b);
    what = what == op::lt ? op::gt : what == op::le ? op::ge : what == op::gt ? op::lt : what == op::ge ? op::le : what;
  }
  instruction i;
  i.run = instructions::plain;
  i.a = a;
  i.b = b;
  i.with.plain = comparison(what, k, ca || cb ? shape::vs : shape::vv);
  return emit(i, 1);
}

}  // namespace query::interpreter
