#include "ir/typed_text/operands.hpp"

#include <algorithm>
#include <limits>

#include "ir/time_text.hpp"
#include "ir/typed_text/numbers.hpp"

namespace query::ir::typed_text {

namespace {

constexpr int most_depth = 400, most_joins = 16;

std::string between_ticks(std::string_view s) { return "`" + std::string(s) + "`"; }

}  // namespace

std::string described(const type* t) {
  switch (t->counts.what) {
    case unit::of::duration: return "a duration";
    case unit::of::time: return "a time";
    case unit::of::date: return "a date";
    case unit::of::date_part: return "a part of a date";
    case unit::of::nothing: break;
  }
  if (t->is_enum) return "an enum";
  switch (t->k) {
    case kind::boolean: return "true or false";
    case kind::string: return "a string";
    case kind::record: return "a record";
    case kind::array: return "an array";
    case kind::list: return "a list";
    case kind::optional: return "an optional";
    default: return t->name == "char" ? "a character" : "a number";
  }
}

std::string parts_of_date(const node* date) {
  const std::string_view name = date->what == op::value ? date->kids[0]->text : date->text;
  if (name.empty()) return "its year, month and day";
  std::string all = "its parts";
  for (const field& f : date->type->field_list) all += ", " + std::string(name) + "." + std::string(f.name);
  return all;
}

// ---------------------------------------------------------------- constants and parts
operand maker::literal(const type* t, std::uint64_t bits, std::string text) const {
  operand x;
  x.value = arena_->put(op::literal, t, {}, bits, 0, std::move(text));
  return x;
}
operand maker::boolean(bool b) const { return literal(describe<bool>(), b ? 1 : 0); }
const node* maker::falsehood() const { return boolean(false).value; }
const node* maker::truth() const { return boolean(true).value; }

operand maker::whole(const type* row) const {
  operand x;
  x.value = arena_->put(op::row, row);
  return opened(x);
}

operand maker::opened(operand x) const {
  while (x.value->type->k == kind::optional) {
    const node* const o = x.value;
    x.present = both(x.present, arena_->put(op::has_value, describe<bool>(), {o}));
    x.optional = x.optional ? x.optional : o;
    x.value = arena_->put(op::value, o->type->element, {o});
  }
  return x;
}

// As detail::part_of names the parts of a traced row.
operand maker::part(const operand& record, std::size_t i) const {
  const node* const whole = record.value;
  const type* const t = whole->type;
  const bool array = t->k == kind::array;
  const type* const of = array ? t->element : t->field_list[i].of;
  operand x = record;
  x.optional = nullptr;
  if (whole->what == op::row || whole->what == op::field) {
    std::string path = whole->text;
    if (array) path += "[" + std::to_string(i) + "]";
    else path += (path.empty() ? "" : ".") + std::string(t->field_list[i].name);
    x.value = arena_->put(op::field, of, {}, whole->bits + (array ? i * of->size : t->field_list[i].offset), whole->id, std::move(path));
  } else {
    x.value = arena_->put(array ? op::element : op::member, of, {whole}, i);
  }
  if (of->k != kind::optional) return x;
  const bool simple = !record.present;
  x = opened(x);
  if (!simple) x.optional = nullptr;
  return x;
}

// ---------------------------------------------------------------- logic
const node* maker::opposite(const node* x) const {
  if (x->what == op::literal) return boolean((x->bits & 1) == 0).value;
  return make_not(*arena_, x);
}
const node* maker::both(const node* a, const node* b) const {
  if (!a || !b) return a ? a : b;
  return make_select(*arena_, a, b, falsehood());
}
const node* maker::either(const node* a, const node* b) const { return make_select(*arena_, a, truth(), b); }

// In the order of the text, nested to the right as a lambda's trace is; of very many, as a balanced tree.
const node* maker::chain(std::span<const node* const> all, bool any) const {
  constexpr std::size_t few = 32;
  if (all.size() > few) {
    const std::size_t half = all.size() / 2;
    const node *const left = chain(all.first(half), any), *const right = chain(all.subspan(half), any);
    return any ? either(left, right) : both(left, right);
  }
  const node* n = all.back();
  for (std::size_t i = all.size() - 1; i-- > 0;) n = any ? either(all[i], n) : both(all[i], n);
  return n;
}

operand maker::condition(operand x) const {
  if (!x.value)
    throw fault{x.at, x.end - x.at, "a condition is needed here, not null"};
  if (x.value->type != describe<bool>()) {
    std::string why = "a condition is needed here, and this is " + described(x.value->type);
    if (is_number(x.value->type)) why += "; compare it, as in `... <> 0`";
    throw fault{x.at, x.end - x.at, std::move(why)};
  }
  if (!x.present) return x;
  operand c = x;
  c.value = both(x.present, x.value);
  c.fails = both(x.present, opposite(x.value));
  c.present = c.optional = nullptr;
  return c;
}

operand maker::not_of(const operand& x) const {
  const operand c = condition(x);
  operand n = c;
  n.value = c.fails ? c.fails : opposite(c.value);
  n.fails = c.fails ? c.value : nullptr;
  n.optional = nullptr;
  return n;
}

operand maker::all_of(std::span<const operand> conditions) const {
  if (conditions.size() == 1) return condition(conditions[0]);
  std::vector<const node*> hold, fail;
  bool nulls = false;
  operand all;
  all.at = conditions.front().at;
  all.end = conditions.back().end;
  for (const operand& given : conditions) {
    const operand c = condition(given);
    hold.push_back(c.value);
    fail.push_back(c.fails ? c.fails : opposite(c.value));
    nulls = nulls || c.fails;
    all.depth = std::max(all.depth, c.depth);
  }
  all.value = chain(hold, false);
  if (nulls) all.fails = chain(fail, true);
  return all;
}

operand maker::any_of(std::span<const operand> conditions) const {
  if (conditions.size() == 1) return condition(conditions[0]);
  std::vector<operand> opposites;
  bool nulls = false;
  for (const operand& c : conditions) {
    opposites.push_back(not_of(c));
    nulls = nulls || opposites.back().fails;
  }
  operand any = opposites.front();
  any.end = conditions.back().end;
  std::vector<const node*> hold, fail;
  for (const operand& o : opposites) {
    hold.push_back(o.fails ? o.fails : opposite(o.value));
    fail.push_back(o.value);
    any.depth = std::max(any.depth, o.depth);
  }
  any.value = chain(hold, true);
  any.fails = nulls ? chain(fail, false) : nullptr;
  return any;
}

operand maker::plain(const operand& x) const {
  if (!x.fails) return x;
  operand v = x;
  v.present = either(x.value, x.fails);
  v.fails = nullptr;
  return v;
}

operand maker::tested(const node* condition, const node* present, const operand& a, const operand& b) const {
  operand c;
  c.value = both(present, condition);
  if (present) c.fails = both(present, opposite(condition));
  return joined(c, a, b);
}

operand maker::is_null(const operand& given) const {
  const operand x = plain(given);
  need_value(x);
  operand c = x;
  c.value = x.present ? opposite(x.present) : falsehood();
  c.present = c.fails = c.optional = nullptr;
  return c;
}

// ---------------------------------------------------------------- operators
void maker::need_value(const operand& x) const {
  if (!x.value) throw fault{x.at, x.end - x.at, "null has no value: write `... is null`, `... is not null`, or coalesce(a, b)"};
}

operand maker::joined(operand made, const operand& a, const operand& b) const {
  made.at = a.at;
  made.end = std::max(a.end, b.end);
  made.depth = std::max(a.depth, b.depth) + 1;
  if (made.depth > most_depth)
    throw fault{a.at, b.end - a.at, "more than " + std::to_string(most_depth) + " operators within each other"};
  return made;
}

const node* maker::cast(const node* x, const type* to) const {
  if (x->type == to) return x;
  if (x->what == op::literal) return arena_->put(op::literal, to, {}, converted(x->bits, x->type->k, to->k));
  return make_cast(*arena_, x, to);
}

operand maker::arithmetic(op what, operand a, operand b, std::size_t at) const {
  a = plain(a);
  b = plain(b);
  need_value(a);
  need_value(b);
  const type *const ta = a.value->type, *const tb = b.value->type;
  operand made;
  made.present = both(a.present, b.present);
  if (what == op::add && ta->k == kind::string && tb->k == kind::string) {
    // Each writes its string anew, for every row.
    if (++joins_ > most_joins) throw fault{at, 1, "more than " + std::to_string(most_joins) + " strings are joined by + in one text"};
    made.value = arena_->put(op::add, describe<std::string>(), {a.value, b.value});
    return joined(made, a, b);
  }
  for (const operand* x : {&a, &b})
    if (!is_number(x->value->type))
      throw fault{x->at, x->end - x->at,
                  "arithmetic takes numbers, and this is " + described(x->value->type) +
                      (what == op::add && x->value->type->k == kind::string ? "; + joins two strings" : "")};
  const type* const t = type_of_sum(ta, tb);
  if (what == op::mod && is_floating(t->k)) throw fault{at, 1, "% takes integers; of others, write fmod(a, b)"};
  if ((what == op::div || what == op::mod) && !is_floating(t->k) && b.is_literal() && integer_of(b.value->bits, tb->k) == 0)
    throw fault{b.at, b.end - b.at, "an integer is divided by 0"};
  if (a.is_literal() && b.is_literal()) return folded(what, a, b, at);
  made.value = arena_->put(what, t, {cast(a.value, t), cast(b.value, t)});
  return joined(made, a, b);
}

// Of two constants, as the compiler does it; integers that grow out of int become std::int64_t.
operand maker::folded(op what, const operand& a, const operand& b, std::size_t at) const {
  const type *const ta = a.value->type, *const tb = b.value->type, *const t = type_of_sum(ta, tb);
  if (t->k == kind::f64) {
    const double x = floating_of(a.value->bits, ta->k), y = floating_of(b.value->bits, tb->k);
    const double r = what == op::add ? x + y : what == op::sub ? x - y : what == op::mul ? x * y : x / y;
    return joined(literal(t, bits_of(r)), a, b);
  }
  if (t->k == kind::f32 || t->k == kind::u64 || ta->k == kind::u64 || tb->k == kind::u64) {
    operand made;
    made.value = arena_->put(what, t, {cast(a.value, t), cast(b.value, t)});
    return joined(made, a, b);
  }
  const std::int64_t x = integer_of(a.value->bits, ta->k), y = integer_of(b.value->bits, tb->k);
  std::int64_t r = 0;
  bool overflows = false;
  switch (what) {
    case op::add: overflows = __builtin_add_overflow(x, y, &r); break;
    case op::sub: overflows = __builtin_sub_overflow(x, y, &r); break;
    case op::mul: overflows = __builtin_mul_overflow(x, y, &r); break;
    default:
      overflows = y == -1 && x == std::numeric_limits<std::int64_t>::min();
      if (!overflows) r = what == op::div ? x / y : x % y;
  }
  if (overflows) throw fault{at, 1, "the result is no 64-bit integer"};
  const std::uint64_t bits = static_cast<std::uint64_t>(r);
  const bool fits = integer_of(converted(bits, kind::i64, t->k), t->k) == r;
  const type* const as = fits ? t : describe<long>();
  return joined(literal(as, converted(bits, kind::i64, as->k)), a, b);
}

operand maker::negated(operand a) const {
  a = plain(a);
  need_value(a);
  if (!is_number(a.value->type)) throw fault{a.at, a.end - a.at, "- takes a number, and this is " + described(a.value->type)};
  const type* const t = promoted(a.value->type);
  operand made;
  made.present = a.present;
  if (a.is_literal() && (is_floating(t->k) || is_signed_integer(t->k))) {
    operand zero = literal(t, 0);
    if (t->k == kind::f64) return joined(literal(t, bits_of(-floating_of(a.value->bits, a.value->type->k))), a, a);
    if (t->k != kind::f32) return folded(op::sub, joined(zero, a, a), a, a.at);
  }
  constexpr std::uint64_t beyond = std::uint64_t{1} << 63;
  if (a.is_literal() && t->k == kind::u64 && a.value->bits == beyond) return joined(literal(describe<long>(), beyond), a, a);
  made.value = arena_->put(op::negate, t, {cast(a.value, t)});
  return joined(made, a, a);
}

// ---------------------------------------------------------------- comparisons
operand maker::compare(op what, operand a, operand b, std::size_t at) const {
  a = plain(a);
  b = plain(b);
  need_value(a);
  need_value(b);
  return tested(compared(what, a, b, at), both(a.present, b.present), a, b);
}

const node* maker::compared(op what, const operand& a, const operand& b, std::size_t at) const {
  const node *x = a.value, *y = b.value;
  // 'A' stands for a character, a whole number for a value of an enum.
  const auto as_character = [&](const node* character, const node* string) {
    if (character->type->name != "char" || string->type->k != kind::string || string->what != op::literal || string->text.size() != 1)
      return string;
    return literal(character->type, static_cast<unsigned char>(string->text[0])).value;
  };
  const auto as_enum = [&](const node* of, const node* number) {
    if (!of->type->is_enum || of->type->counts.ticks()) return number;
    if (number->what != op::literal || !is_integer(number->type->k) || number->type->is_enum) return number;
    const kind from = number->type->k, to = of->type->k;
    const std::uint64_t bits = converted(number->bits, from, to);
    const bool same = converted(bits, to, from) == number->bits && is_negative(bits, to) == is_negative(number->bits, from);
    return same ? literal(of->type, bits).value : number;
  };
  // '2024-02-29' stands for a time.
  const auto as_time = [&](const node* of, const node* string) {
    if (!of->type->counts.ticks() || string->type->k != kind::string || string->what != op::literal) return string;
    std::uint64_t bits = 0;
    return parse_counted(of->type, string->text, {}, &bits) == text_of_time::ok ? literal(of->type, bits).value : string;
  };
  y = as_enum(x, as_time(x, as_character(x, y)));
  x = as_enum(y, as_time(y, as_character(y, x)));
  const type *const tx = x->type, *const ty = y->type;
  if (is_number(tx) && is_number(ty)) return compared_numbers(what, x, y);
  if (tx == ty && (tx->k == kind::string || tx->is_enum)) return arena_->put(what, describe<bool>(), {x, y});
  for (const operand* side : {&a, &b}) {
    const type* const t = side->value->type;
    if (!is_arithmetic(t->k) && t->k != kind::string)
      throw fault{side->at, side->end - side->at,
                  "this is " + described(t) + ", which is not compared as a whole" +
                      (t->counts.what == unit::of::date ? "; compare " + parts_of_date(side->value)
                       : t->k == kind::record           ? "; name a field of it"
                       : t->k == kind::array            ? "; name an element, as in `x[0]`"
                                                        : "")};
  }
  std::string why = described(tx) + " is not compared with " + described(ty);
  if ((tx->name == "char") != (ty->name == "char") && (tx->k == kind::string || ty->k == kind::string))
    why += "; a character is written 'A'";
  else if (tx->counts.ticks() || ty->counts.ticks())
    why += "; a time is written as in '2024-02-29T13:45:00', without more digits than its type counts, and a duration as in 'PT90S'";
  else if (tx->is_enum || ty->is_enum) why += "; write the value of an enum as a whole number";
  else if (tx->k == kind::string || ty->k == kind::string) why += "; strings stand in quotes, 'abc', and numbers do not";
  throw fault{at, 1, std::move(why)};
}

// By their values, where C++ would turn negative numbers into large ones.
const node* maker::compared_numbers(op what, const node* a, const node* b) const {
  const type* t = common_type(a->type, b->type);
  const auto is_unsigned = [](const node* n) { return is_integer(n->type->k) && !is_signed_integer(n->type->k); };
  if (is_integer(t->k) && !is_signed_integer(t->k) && is_unsigned(a) != is_unsigned(b) && a->type->k != kind::boolean &&
      b->type->k != kind::boolean) {
    const node* const number = is_unsigned(a) ? b : a;
    const bool constant = number->what == op::literal && !is_negative(number->bits, number->type->k);
    if (!constant && t->k == kind::u64) {
      if (!is_unsigned(a)) return compared_as_any(what, a, b);
      constexpr op turned[] = {op::gt, op::ge, op::lt, op::le, op::eq, op::ne};
      return compared_as_any(turned[static_cast<int>(what) - static_cast<int>(op::lt)], b, a);
    }
    if (!constant) t = describe<long>();
  }
  return arena_->put(what, describe<bool>(), {cast(a, t), cast(b, t)});
}

// A signed number with a u64: a negative one is smaller than any.
const node* maker::compared_as_any(op what, const node* a, const node* b) const {
  const bool for_negative = what == op::lt || what == op::le || what == op::ne;
  if (a->what == op::literal) return boolean(for_negative).value;  // it is negative
  const node* const negative = arena_->put(op::lt, describe<bool>(), {a, cast(boolean(false).value, a->type)});
  const node* const otherwise = arena_->put(what, describe<bool>(), {cast(a, b->type), b});
  return for_negative ? either(negative, otherwise) : both(opposite(negative), otherwise);
}

operand maker::in(const operand& given, std::span<const operand> values, std::size_t at) const {
  const operand x = plain(given);
  need_value(x);
  std::vector<operand> equal;
  std::vector<const node*> tests;
  bool nulls = false;
  for (const operand& v : values) {
    equal.push_back(compare(op::eq, x, v, at));
    nulls = nulls || plain(v).present;
    if (!nulls) tests.push_back(compared(op::eq, x, plain(v), at));
  }
  if (nulls) return any_of(equal);
  return tested(chain(tests, true), x.present, x, values.back());
}

operand maker::like(const operand& given, const operand& pattern, std::size_t at) const {
  const operand x = plain(given);
  need_value(x);
  if (x.value->type->k != kind::string)
    throw fault{x.at, x.end - x.at, "like takes a string, and this is " + described(x.value->type)};
  if (!pattern.is_literal() || pattern.value->type->k != kind::string)
    throw fault{pattern.at, pattern.end - pattern.at, "like takes a pattern in quotes: 'a%', '%a', '%a%'"};
  const std::string_view p = pattern.value->text;
  const auto test = [&](const char* name, std::string_view s) {
    return arena_->put(op::call, describe<bool>(), {x.value, literal(describe<std::string>(), 0, std::string(s)).value}, 0, 0, name);
  };
  const node* condition = nullptr;
  if (p.find('_') != p.npos) {
    condition = test("like", p);
  } else if (const std::size_t first = p.find('%'); first == p.npos) {
    condition = arena_->put(op::eq, describe<bool>(), {x.value, pattern.value});
  } else {
    const std::size_t last = p.rfind('%');
    const std::string_view before = p.substr(0, first), after = p.substr(last + 1);
    std::string_view middle = p.substr(first, last - first);
    while (!middle.empty() && middle.front() == '%') middle.remove_prefix(1);
    while (!middle.empty() && middle.back() == '%') middle.remove_suffix(1);
    if (middle.find('%') != middle.npos || (!middle.empty() && (!before.empty() || !after.empty()))) {
      condition = test("like", p);
      return tested(condition, x.present, x, operand{.at = at, .end = pattern.end});
    }
    if (!middle.empty()) condition = test("contains", middle);
    if (!before.empty()) condition = test("starts_with", before);
    if (!after.empty()) condition = both(condition, test("ends_with", after));
    if (!before.empty() && !after.empty()) {  // which must not overlap
      const node* const size = arena_->put(op::size, describe<std::size_t>(), {x.value});
      const node* const least = literal(describe<std::size_t>(), before.size() + after.size()).value;
      condition = both(condition, arena_->put(op::ge, describe<bool>(), {size, least}));
    }
    if (!condition) condition = truth();
  }
  return tested(condition, x.present, x, operand{.at = at, .end = pattern.end});
}

// ---------------------------------------------------------------- results
const node* maker::outcome(const operand& x) const { return condition(x).value; }

const node* maker::result(const operand& given) const {
  const operand x = plain(given);
  need_value(x);
  if (!x.present) return x.value;
  if (x.optional) return x.optional;
  const type* const t = optional_of(x.value->type);
  if (!t)
    throw fault{x.at, x.end - x.at,
                "this may be null, and is " + described(x.value->type) + " (" + between_ticks(x.value->type->name) +
                    "): write coalesce(..., value)"};
  return make_select(*arena_, x.present, arena_->put(op::some, t, {x.value}), arena_->put(op::null, t));
}

}  // namespace query::ir::typed_text
