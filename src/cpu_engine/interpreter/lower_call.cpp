// Functions by name: numbers, strings, small arrays.
#include <optional>
#include <string_view>
#include <utility>

#include <cpu_engine/interpreter/compiler.hpp>
#include <cpu_engine/interpreter/instructions.hpp>
#include <ir/analysis.hpp>
#include <ir/visit.hpp>
#include <query/detail/failure.hpp>
#include <query/errors.hpp>

namespace query::interpreter {

using ir::kind;
using ir::node;
using ir::op;

namespace {

[[noreturn]] void unknown(const node* n) {
  std::string kinds;
  for (const node* k : n->kids) kinds += (kinds.empty() ? "" : ", ") + std::string(k->type->name);
  throw detail::unplaced_error("the interpreter does not know the function " + n->text + "(" + kinds + ")");
}

// Which field of the record that `made` makes is `part`, "Total.amount"?
std::optional<std::size_t> field_of(const node* made, std::string_view part) {
  const ir::type* t = made->type;
  if (made->what != op::make || t->k != kind::record || made->kids.size() != t->field_list.size()) return std::nullopt;
  if (!part.starts_with(t->name) || part.substr(t->name.size(), 1) != ".") return std::nullopt;
  part.remove_prefix(t->name.size() + 1);
  for (std::size_t f = 0; f < t->field_list.size(); ++f)
    if (t->field_list[f].name == part) return f;
  return std::nullopt;
}

// The number that a field of a record is made of, if it may not fit: of a number or an optional.
const node* given_for(const node* field) {
  if (field->what == op::select && field->kids[2]->what == op::null) field = field->kids[1];
  if (field->what == op::some) field = field->kids[0];
  return ir::narrowed_part(field) ? field->kids[0] : nullptr;
}

}  // namespace

// Walked once for all narrowed numbers: an array of a record may have a thousand.
void compiler::find_narrowed() {
  if (std::exchange(narrowed_known_, true)) return;
  ir::each_node(whole_, [&](const node* made) {
    if (made->what != op::make || made->type->k != kind::record) return;
    for (std::size_t f = 0; f < made->kids.size(); ++f)
      ir::each_node(made->kids[f], [&](const node* n) {
        if (const auto part = ir::narrowed_part(n); part && field_of(made, *part) == f) narrowed_.try_emplace(n, made, f);
      });
  });
}

// A message about one number shows the others as they were given, too.
void compiler::find_given() {
  for (std::size_t f = 0; f < root_->kids.size(); ++f)
    if (const node* const x = given_for(root_->kids[f]))
      code_->given.push_back({f, x->type->k, column(find(x, &contexts_.front())->result)});
}

// Where the record has no expression of its own, as an element's in a nested computation, messages go without it.
std::uint32_t compiler::narrowing_of_call(const node* n, std::string_view part) {
  find_narrowed();
  narrowing_of& x = code_->narrowings.emplace_back();
  x.part = part;
  x.to = n->type;
  const auto found = narrowed_.find(n);
  if (found != narrowed_.end()) {
    const auto [made, field] = found->second;
    x.field = field;
    const auto [known, is_new] = records_.try_emplace(made);
    if (is_new) try {
        known->second = compiler(made, made, true).finish();
      } catch (const query::error&) {
      }
    x.record = known->second;
  }
  return static_cast<std::uint32_t>(code_->narrowings.size() - 1);
}

value compiler::lower_call(const node* n) {
  if (n->kids.empty()) unknown(n);
  const std::string& f = n->text;
  // As std::min, std::max and std::clamp: by `<`, the first of equals.
  if (f == "min" && n->kids.size() == 2) {
    const value a = convert(value_of(n->kids[0]), n->type), b = convert(value_of(n->kids[1]), n->type);
    return blend_values(column(compare(op::lt, b, a)), b, a, n->type);
  }
  if (f == "max" && n->kids.size() == 2) {
    const value a = convert(value_of(n->kids[0]), n->type), b = convert(value_of(n->kids[1]), n->type);
    return blend_values(column(compare(op::lt, a, b)), b, a, n->type);
  }
  if (f == "clamp" && n->kids.size() == 3) {
    const value x = convert(value_of(n->kids[0]), n->type), low = convert(value_of(n->kids[1]), n->type),
                high = convert(value_of(n->kids[2]), n->type);
    const value below = blend_values(column(compare(op::lt, high, x)), high, x, n->type);
    return blend_values(column(compare(op::lt, x, low)), low, below, n->type);
  }
  if (const auto part = ir::narrowed_part(n)) {
    const value x = value_of(n->kids[0]);
    if (wraps_) return convert(x, n->type);
    instruction i;
    i.run = instructions::narrow;
    i.with.checked = narrowing(x.type->k, n->type->k);
    if (!i.with.checked) unknown(n);
    i.a = full(column(x));
    i.index = narrowing_of_call(n, *part);
    return column_value(n->type, emit(i, n->type->size));
  }
  if (const text_function* const text = text_call(n)) return call_text(n, *text);
  const kind k = n->kids[0]->type->k;
  if (k == kind::array) return call_array(n);
  if (ir::is_arithmetic(k)) return call_number(n);
  unknown(n);
}

value compiler::call_text(const node* n, const text_function& f) {
  instruction i;
  i.run = instructions::text;
  i.with.text = f.run;
  reg* const operands[] = {&i.a, &i.b, &i.c};
  for (std::size_t p = 0; p < n->kids.size(); ++p) *operands[p] = full(column(value_of(n->kids[p])));
  const bool optional = f.gives == kind::optional;
  const ir::type* const t = optional ? n->type->element : n->type;
  const std::size_t width = t->k == kind::string ? sizeof(std::string_view) : t->k == kind::list ? sizeof(void*) : t->size;
  if (!optional) return column_value(t, emit(i, width));
  value o;
  o.f = value::form::parts;
  i.index = new_register(1);
  o.parts = {column_value(ir::describe<bool>(), i.index), column_value(t, emit(i, width))};
  return o;
}

// The same sums, in the same order, over parts that lie in registers.
value compiler::sum_of_terms(const node* n, const value& a, const value& b) {
  const ir::type* t = a.type->element;
  const std::size_t count = a.type->count, lanes = count % 8 == 0 ? 8 : count % 4 == 0 ? 4 : 1;
  const auto apply = [&](op what, const value& x, const value& y) { return arithmetic(what, t, x, y); };
  std::vector<value> sums(lanes, zero(t));
  for (std::size_t i = 0; i < count; ++i) {
    value x = part(a, i), y = convert(part(b, i), t);
    if (n->text == "squared_distance") x = y = apply(op::sub, x, y);
    sums[i % lanes] = apply(op::add, sums[i % lanes], apply(op::mul, x, y));
  }
  value total = zero(t);
  for (const value& s : sums) total = apply(op::add, total, s);
  return total;
}

value compiler::call_array(const node* n) {
  const bool norm = n->text == "norm", distance = n->text == "squared_distance";
  if ((!norm && !distance && n->text != "dot") || n->kids.size() != (norm ? 1 : 2)) unknown(n);
  const value& a = value_of(n->kids[0]);
  const value& b = value_of(n->kids[norm ? 0 : 1]);
  if (b.type->k != kind::array || a.type->count != b.type->count || !ir::is_arithmetic(a.type->element->k)) unknown(n);
  const kind k = a.type->element->k;
  value result;
  const array_kernel native = distance ? squared_distance(k) : dot_product(k);
  if (native && a.f == value::form::place && b.f == value::form::place && b.type->element->k == k) {
    instruction i;
    i.run = instructions::array;
    i.with.array = native;
    i.index = keep(a);
    i.extra = keep(b);
    i.type = a.type;
    result = column_value(a.type->element, emit(i, a.type->element->size));
  } else {
    result = sum_of_terms(n, a, b);
  }
  if (norm) {
    if (!ir::is_floating(k)) result = convert(result, n->type);
    instruction i;
    i.run = instructions::plain;
    i.with.plain = unary_math("sqrt", result.type->k);
    if (!i.with.plain) unknown(n);
    i.a = full(column(result));
    result = column_value(result.type, emit(i, result.type->size));
  }
  return convert(result, n->type);
}

value compiler::call_number(const node* n) {
  // Predicates compute in the type of their argument, all others in that of the result.
  const bool predicate = n->type->k == kind::boolean;
  const ir::type* t = !predicate ? n->type : ir::is_floating(n->kids[0]->type->k) ? n->kids[0]->type : ir::describe<double>();
  instruction i;
  i.a = full(column(convert(value_of(n->kids[0]), t)));
  if (n->kids.size() > 1) i.b = full(column(convert(value_of(n->kids[1]), t)));
  bool known = false;
  if (n->kids.size() == 3 && n->text == "fma") {
    i.run = instructions::three;
    i.with.three = fused_multiply_add(t->k);
    i.c = full(column(convert(value_of(n->kids[2]), t)));
    known = i.with.three != nullptr;
  } else if (n->kids.size() < 3) {
    i.run = instructions::plain;
    i.with.plain = n->kids.size() == 1 ? unary_math(n->text, t->k) : binary_math(n->text, t->k);
    known = i.with.plain != nullptr;
  }
  if (!known) unknown(n);
  return column_value(n->type, emit(i, predicate ? 1 : t->size));
}

}  // namespace query::interpreter
