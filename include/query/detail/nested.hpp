// Nested computations in traced functions: a body over each element of a list or a captured collection becomes one node.
//
// The body is explored on its own (its branches do not multiply the paths of the function around it) with a symbolic
// element, row number `id`. src/ir/nested.cpp puts loops together.
//
//   query::sum(t.legs, [](auto l) { return l.qty * l.price; })   ->   nested "sum" (field legs, mul(...) over row 2)
#pragma once

#include <query/detail/deferred.hpp>
#include <query/detail/failure.hpp>

namespace query::detail {

// Integers add up in 64 bits, floats in their own type.
template <class V>
using sum_t = std::conditional_t<std::is_floating_point_v<V>, V, std::conditional_t<std::is_signed_v<V>, std::int64_t, std::uint64_t>>;

// nested `verb` of type R; each value of `body(element)` as a V.
template <class R, class V, class E, class Body> const ir::node* nested_node(const char* verb, const ir::node* over, const Body& body) {
  ir::nested_scope scope;
  const ir::node* value = ir::explore([&] { return node_of_type<V>(body(make_twin<E>(row_node(ir::describe<E>(), scope.id)))); });
  return ir::current_arena().put(ir::op::nested, ir::describe<R>(), {over, value}, 0, scope.id, verb);
}

// Folds from `init` with body(state, element); both are kept as an S.
template <class S, class E, class Init, class Body> twin_t<S> nested_fold(const ir::node* over, const Init& init, const Body& body) {
  static_assert(storable<held_t<Init>, S>(), "query::fold(list, init, f): f gives another type than init has");
  const ir::node* first = node_of_type<S>(init);
  ir::nested_scope scope;
  const ir::node* next = ir::explore([&] {
    const ir::node* state = ir::current_arena().put(ir::op::variable, ir::describe<S>(), {}, 0, scope.id);
    return node_of_type<S>(body(make_twin<S>(state), make_twin<E>(row_node(ir::describe<E>(), scope.id))));
  });
  return make_twin<S>(ir::current_arena().put(ir::op::nested, ir::describe<S>(), {over, first, next}, 0, scope.id, "fold"));
}

// The node of a loop over `n` states, which are the parts of one value of type `state` (n > 1) or the value itself.
const ir::node* make_loop(const ir::type* state, std::size_t n, std::uint32_t id, const ir::node* initial, const ir::node* condition,
                          const ir::node* step);
// The loop's state while its functions are explored.
const ir::node* loop_state(const ir::type* state, std::size_t n, std::uint32_t id);

// An element or state of a nested computation that the rest of the function goes on with: the row that it stands for is
// gone. Gives the reason, or nothing.
const char* escaped_row(const ir::node* root);

[[noreturn]] inline void empty_extreme(const char* verb) {
  throw unplaced_error(std::string(verb) + " of an empty list or collection has no value; test its size first");
}

}  // namespace query::detail
