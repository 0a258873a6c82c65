// Loops and nested computations: bodies that run again and again over states.
#include <algorithm>

#include <cpu_engine/interpreter/compiler.hpp>
#include <cpu_engine/interpreter/instructions.hpp>
#include <query/detail/failure.hpp>

namespace query::interpreter {

using ir::kind;
using ir::node;
using ir::op;

void compiler::carry(nest& x, const value& state, const value& initial, const value& next) {
  if (state.f == value::form::parts) {
    for (std::size_t i = 0; i < state.parts.size(); ++i) carry(x, state.parts[i], part(initial, i), part(next, i));
    return;
  }
  reg then = column(next);
  if (states_.contains(then)) {  // (a, b) -> (b, a): states are assigned one after the other
    instruction copy;
    copy.run = instructions::copy;
    copy.a = then;
    then = emit(copy, code_->registers[then].width);
  }
  x.states.push_back({state.column, column(initial), then});
}

void compiler::close_nest(std::uint32_t index, nest x) {
  x.forget = std::move(code_->nests[index].forget);
  code_->nests[index] = std::move(x);
  instruction i;
  i.run = instructions::iterate;
  i.index = index;
  emit(i, 0);
}

value compiler::lower_loop(const node* n) {
  const std::size_t count = n->bits;
  if (count == 0 || n->kids.size() != 2 * count + 1) malformed(n, "a loop needs initial values, a condition and as many steps");
  const auto index = static_cast<std::uint32_t>(code_->nests.size());
  code_->nests.emplace_back();
  nest x;
  x.what = nest::over::loop;
  context* const outer = home_;
  context* const body = new_context(outer, n->id, index);
  std::vector<value> initial;
  for (std::size_t i = 0; i < count; ++i) {
    body->states.push_back(fresh(n->kids[i]->type));
    initial.push_back(settle(value_of(n->kids[i])));
  }
  x.prelude = body->prelude;
  x.body = body->root;
  x.steps = new_region(body);
  x.active = new_register(1);
  x.stepping = new_register(1);
  for (std::size_t i = count; i < n->kids.size(); ++i) lower(n->kids[i], body);
  schedule(n->kids[count], body, x.body);
  home_ = body;
  {
    appended here(*this, x.body);
    x.condition = full(column(convert(value_of(n->kids[count]), ir::describe<bool>())));
  }
  for (std::size_t i = 0; i < count; ++i) schedule(n->kids[count + 1 + i], body, x.steps);
  {
    appended here(*this, x.steps);
    for (std::size_t i = 0; i < count; ++i) {
      // Later steps see the states before this round: all are computed, then all are assigned.
      const value next = settle(convert(value_of(n->kids[count + 1 + i]), n->kids[i]->type));
      carry(x, body->states[i], initial[i], next);
    }
  }
  home_ = outer;
  close_nest(index, std::move(x));
  if (count == 1) return body->states[0];
  value v;
  v.f = value::form::parts;
  v.parts = body->states;
  return v;
}

std::uint32_t compiler::collection_index(std::uint64_t slot) {
  auto& all = code_->collections;
  const auto at = std::find(all.begin(), all.end(), slot);
  const auto index = static_cast<std::uint32_t>(at - all.begin());
  if (at == all.end()) all.push_back(slot);
  return index;
}

// Where the elements come from; gives the place of one element.
value compiler::open_source(const node* n, nest& x, context* body) {
  value element;
  element.f = value::form::place;
  const node* from = n->kids.at(0);
  if (from->what == op::collection) {
    x.what = nest::over::collection;
    x.collection = collection_index(from->bits);
    x.element = from->type;
    x.row = static_cast<std::uint32_t>(code_->slots.size());
    row_slot s;
    s.from = row_slot::source::element;
    code_->slots.push_back(s);
    element.at = {place::source::row, x.row, 0};
  } else {
    const value source = value_of(from);
    if (source.type->k != kind::list && source.type->k != kind::array) malformed(n, "not a collection");
    const bool list = source.type->k == kind::list;
    x.what = list ? nest::over::list : nest::over::pointer;
    x.source = address(source);
    x.list = source.type;
    x.element = source.type->element;
    x.count = list ? 0 : source.type->count;
    x.pointer = new_register(sizeof(void*));
    element.at = {place::source::pointer, x.pointer, 0};
  }
  element.type = x.element;
  body->element = element;
  return element;
}

value compiler::lower_nested(const node* n) {
  const std::string& verb = n->text;
  const bool smallest = verb == "min" || verb == "arg_min", largest = verb == "max" || verb == "arg_max";
  const bool index_wanted = verb == "arg_min" || verb == "arg_max", fold = verb == "fold";
  if (n->kids.empty() || n->kids.size() > (fold ? 3u : 2u) || (fold && n->kids.size() != 3)) malformed(n, "wrong number of parts");
  const auto index = static_cast<std::uint32_t>(code_->nests.size());
  code_->nests.emplace_back();
  nest x;
  x.verb = verb;
  context* const outer = home_;
  context* const body = new_context(outer, n->id, index);
  const value element = open_source(n, x, body);
  x.prelude = body->prelude;
  x.body = body->root;
  x.active = new_register(1);
  x.position = new_register(8);
  x.sizes = new_register(8);

  const ir::type* boolean = ir::describe<bool>();
  const auto filled = [&] { return column_value(boolean, compare_numbers(op::gt, kind::i64, x.sizes, constant(kind::i64, 0))); };
  const node* expression = fold ? n->kids[2] : n->kids.size() > 1 ? n->kids[1] : nullptr;
  const ir::type* of = expression ? expression->type : element.type;
  const ir::type* result_type = n->type->k == kind::optional && (smallest || largest) ? n->type->element : n->type;

  value initial, state;
  if (fold) initial = settle(convert(value_of(n->kids[1]), n->type));
  else if (verb == "sum") initial = zero(n->type);
  else if (verb == "count") initial = number(kind::i64, 0);
  else if (verb == "any" || verb == "all") initial = number(kind::boolean, verb == "all");
  else if (smallest || largest) initial = zero(of);
  else throw detail::unplaced_error("the interpreter does not know the nested verb " + verb);
  state = fresh(initial.type);
  if (fold) body->states.push_back(state);
  value best_index = fresh(ir::describe<std::int64_t>());

  if (expression) {
    lower(expression, body);
    schedule(expression, body, body->root);
  }
  home_ = body;
  {
    appended here(*this, body->root);
    value v = expression ? value_of(expression) : element;
    if (fold) {
      carry(x, state, initial, settle(convert(v, n->type)));
    } else if (verb == "sum") {
      carry(x, state, initial, settle(arithmetic(op::add, n->type, state, settle(v))));
    } else if (verb == "count") {
      const value one = expression ? convert(v, ir::describe<std::int64_t>()) : number(kind::i64, 1);
      carry(x, state, initial, arithmetic(op::add, ir::describe<std::int64_t>(), state, one));
    } else if (verb == "any" || verb == "all") {
      const bool any = verb == "any";
      const value holds = expression || !any ? convert(v, boolean) : number(kind::boolean, 1);
      carry(x, state, initial, holds);
      x.condition = full(any ? column(holds) : compare_numbers(op::eq, kind::boolean, column(holds), constant(kind::boolean, 0)));
    } else {
      v = settle(v);
      const value first = column_value(boolean, compare_numbers(op::eq, kind::i64, x.position, constant(kind::i64, 0)));
      const value less = smallest ? compare(op::lt, v, state) : compare(op::lt, state, v);
      const reg better = binary(op::bit_or, kind::boolean, column(first), column(less));
      carry(x, state, initial, blend_values(better, v, state, of));
      if (index_wanted) {
        const value position = column_value(ir::describe<std::int64_t>(), x.position);
        carry(x, best_index, number(kind::i64, ~std::uint64_t{0}), blend_values(better, position, best_index, position.type));
      }
    }
  }
  home_ = outer;
  close_nest(index, std::move(x));
  if (!smallest && !largest) return convert(state, n->type);
  const value result = convert(index_wanted ? best_index : state, result_type);
  if (n->type->k == kind::optional) {
    value o;
    o.f = value::form::parts;
    o.parts = {filled(), result};
    return o;
  }
  if (index_wanted) return result;  // -1 of an empty collection
  instruction check;
  check.run = instructions::require_elements;
  check.a = column(filled());
  check.index = index;
  emit(check, 0);
  return result;
}

value compiler::lower_access(const node* n) {
  const node* from = n->kids.at(0);
  const bool captured = from->what == op::collection;
  instruction i;
  if (n->text == "size") {
    if (!captured) return lower_size(n);
    i.run = instructions::collection_size;
    i.index = collection_index(from->bits);
    return convert(column_value(ir::describe<std::uint64_t>(), emit(i, 8)), n->type);
  }
  if (!captured) return lower_index(n);
  i.run = instructions::collection_at;
  i.index = collection_index(from->bits);
  i.b = full(column(convert(value_of(n->kids.at(1)), ir::describe<std::int64_t>())));
  i.type = from->type;
  value v;
  v.f = value::form::place;
  v.at = {place::source::pointer, emit(i, sizeof(void*)), 0};
  return v;
}

}  // namespace query::interpreter
