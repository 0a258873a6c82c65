// Loops in lambdas whose end depends on the row: natively plain loops, traced one node that engines run as a loop.
//
//   // Mandelbrot: how many steps until |z| > 2
//   auto end = query::loop(std::tuple{t.x * 0, t.x * 0, query::value_t<int, decltype(t)>(0)},
//                          [](auto z) { auto [x, y, n] = z; return n < 100 && x * x + y * y < 4; },
//                          [&](auto z) { auto [x, y, n] = z; return std::tuple{x * x - y * y + t.x, 2 * x * y + t.y, n + 1}; });
//
//   query::sum(t.legs, [](auto l) { return l.qty * l.price; })       // sum, min, max, any, all, count, fold over a field
//
// The functions that a loop takes must not change variables outside: their branches are explored, not run.
#pragma once

#include <query/detail/check_questions.hpp>
#include <query/detail/nested.hpp>
#include <query/detail/stop.hpp>

namespace query {

namespace detail {

template <class S> constexpr std::size_t state_count() {
  if constexpr (ir::is_tuple_v<S>) return std::tuple_size_v<S>;
  else if constexpr (record<S>) return meta<S>::size;
  else return 1;
}

template <class X> inline constexpr ir::kind sequence_kind = ir::kind_of<held_t<X>>();
template <class X> inline constexpr bool is_span = false;
template <class T, std::size_t N> inline constexpr bool is_span<std::span<T, N>> = true;
// A list or an array, of the row or plain; a run of rows.
template <class X>
concept sequence = sequence_kind<X> == ir::kind::list || sequence_kind<X> == ir::kind::array || is_span<std::remove_cvref_t<X>>;
template <class X> struct element_of { using type = typename held_t<X>::value_type; };
template <class X>
requires(std::is_array_v<std::remove_cvref_t<X>>) struct element_of<X> {
  using type = std::remove_cvref_t<decltype(std::declval<X&>()[0])>;
};
template <class X> using element_t = typename element_of<X>::type;
// How a function sees an element of X: as a twin, where X is one.
template <class X> using seen_t = std::conditional_t<is_twin_v<X>, twin_t<element_t<X>>, const element_t<X>&>;
template <class X, class F> using given_t = std::invoke_result_t<const F&, seen_t<X>>;
template <class X, class F> concept judged = sequence<X> && check::can_take<F, seen_t<X>>;
// The compiler has said what is wrong in f.
template <class X, class F> concept misjudged = sequence<X> && check::fails_on<F, seen_t<X>>;
template <class X, class Init> using start_t = std::conditional_t<is_twin_v<X>, twin_t<held_t<Init>>, Init>;
template <class X, class Init, class F> concept misfolds = sequence<X> && check::fails_on<F, const start_t<X, Init>&, seen_t<X>>;

// A local that can hold a V, which may be traced even where the list is not.
template <class X, class F, class V> using local_t = std::conditional_t<is_twin_v<given_t<X, F>>, twin_t<V>, V>;

template <class X, class F> auto extreme(const char* verb, const X& list, const F& f, bool largest) {
  using V = held_t<given_t<X, F>>;
  static_assert(std::is_arithmetic_v<V>, "query: min, max and sum of a list are of numbers: give a function that makes one of an element");
  if constexpr (is_twin_v<X>) {
    return wrap<V>(nested_node<V, V, element_t<X>>(verb, to_node(list), f));
  } else {
    using L = local_t<X, F, V>;
    std::optional<L> best;
    for (const auto& e : list) {
      const L v = f(e);
      if (!best) best.emplace(v);
      else if (largest ? *best < v : v < *best) best.emplace(v);
    }
    if (!best) empty_extreme(verb);
    return L(*best);
  }
}

}  // namespace detail

namespace detail {
[[noreturn]] void endless_loop();  // a row went round too often
}

// Applies `step` to the state as long as `condition` holds; gives the last state. The state is a number, a tuple of numbers
// or a record; where the functions use the row, it must be traced: query::value_t<int, decltype(t)>(0), t.price, or a
// tuple or query::make of such. A row's loop ends with a user_error after 2^24 steps.
template <class State, class Condition, class Step> auto loop(const State& state, const Condition& condition, const Step& step) {
  using S = detail::held_t<State>;
  using Next = std::invoke_result_t<const Step&, std::conditional_t<detail::any_twin<State>, detail::twin_t<S>, S>>;
  static_assert(
      std::is_same_v<detail::held_t<Next>, S>,
      "query::loop(state, condition, step): step must give the type of the state; begin with a state of the type that step gives");
  if constexpr (detail::any_twin<State, Next>) {
    constexpr std::size_t n = detail::state_count<S>();
    const ir::type* t = ir::describe<S>();
    const ir::node* initial = detail::node_of_type<S>(state);
    ir::nested_scope scope;
    const auto current = [&] { return detail::make_twin<S>(detail::loop_state(t, n, scope.id)); };
    const ir::node* go_on = ir::explore([&] { return detail::node_of_type<bool>(condition(current())); });
    const ir::node* next = ir::explore([&] { return detail::node_of_type<S>(step(current())); });
    return detail::make_twin<S>(detail::make_loop(t, n, scope.id, initial, go_on, next));
  } else {
    S s = state;
    for (std::size_t i = 0; condition(s); ++i) {
      if (i == 100000 && ir::tracing()) ir::give_up("a loop over plain values that runs more than 100000 times");
      if (i == std::size_t{1} << 24) detail::endless_loop();
      s = step(s);
      if (i % detail::calls_a_look == detail::calls_a_look - 1) detail::stop_point().check();
    }
    return s;
  }
}

// f(...f(f(init, first), second)..., last); the type of the result is that of f(init, element).
template <class X, class Init, class F> requires(detail::sequence<X> && !detail::misfolds<X, Init, F>)
auto fold(const X& list, const Init& init, const F& f) {
  using Start = detail::start_t<X, Init>;
  using S = detail::held_t<std::invoke_result_t<const F&, const Start&, detail::seen_t<X>>>;
  static_assert(detail::storable<detail::held_t<Init>, S>(), "query::fold(list, init, f): f gives another type than init has");
  if constexpr (detail::is_twin_v<X>) {
    return detail::nested_fold<S, detail::element_t<X>>(detail::to_node(list), init, f);
  } else {
    constexpr bool traced = detail::any_twin<std::invoke_result_t<const F&, const Start&, detail::seen_t<X>>>;
    auto state = detail::stored_as<traced, S>(init);
    for (const auto& e : list) state = detail::stored_as<traced, S>(f(state, e));
    return state;
  }
}

// The sum of f(element); integers add up in 64 bits. Of nothing: 0.
template <class X, class F> requires(detail::judged<X, F>) auto sum(const X& list, const F& f) {
  using V = detail::held_t<detail::given_t<X, F>>;
  static_assert(std::is_arithmetic_v<V>, "query: min, max and sum of a list are of numbers: give a function that makes one of an element");
  using S = detail::sum_t<V>;
  if constexpr (detail::is_twin_v<X>) {
    return detail::wrap<S>(detail::nested_node<S, S, detail::element_t<X>>("sum", detail::to_node(list), f));
  } else {
    constexpr bool traced = detail::is_twin_v<detail::given_t<X, F>>;
    auto total = detail::stored_as<traced, S>(S{});
    for (const auto& e : list) total += detail::stored_as<traced, S>(f(e));
    return total;
  }
}
// The smallest and largest f(element), the first of equals. Throw user_error for an empty list.
template <class X, class F>
requires(detail::judged<X, F>) auto min(const X& list, const F& f) { return detail::extreme("min", list, f, false); }
template <class X, class F>
requires(detail::judged<X, F>) auto max(const X& list, const F& f) { return detail::extreme("max", list, f, true); }
// Lists of numbers are summed and compared themselves.
template <class X>
requires(detail::sequence<X> && detail::sequence_kind<X> != ir::kind::array) auto sum(const X& list) {
  return query::sum(list, [](const auto& e) { return e; });
}
template <class X> requires(detail::sequence<X>) auto min(const X& list) { return query::min(list, [](const auto& e) { return e; }); }
template <class X> requires(detail::sequence<X>) auto max(const X& list) { return query::max(list, [](const auto& e) { return e; }); }

// Does f(element) hold for one element, for all, for how many (std::int64_t, as count() of a query)?
template <class X, class F> requires(detail::judged<X, F>) bool any(const X& list, const F& f) {
  if constexpr (detail::is_twin_v<X>) {
    return ir::decide(detail::nested_node<bool, bool, detail::element_t<X>>("any", detail::to_node(list), f));
  } else {
    for (const auto& e : list)
      if (f(e)) return true;
    return false;
  }
}
template <class X, class F> requires(detail::judged<X, F>) bool all(const X& list, const F& f) {
  if constexpr (detail::is_twin_v<X>) {
    return ir::decide(detail::nested_node<bool, bool, detail::element_t<X>>("all", detail::to_node(list), f));
  } else {
    for (const auto& e : list)
      if (!f(e)) return false;
    return true;
  }
}
template <class X, class F> requires(detail::judged<X, F>) auto count(const X& list, const F& f) {
  if constexpr (detail::is_twin_v<X>) {
    return detail::wrap<std::int64_t>(detail::nested_node<std::int64_t, bool, detail::element_t<X>>("count", detail::to_node(list), f));
  } else {
    std::int64_t n = 0;
    for (const auto& e : list) n += f(e) ? 1 : 0;
    return n;
  }
}

#define QUERY_DETAIL_MISJUDGED(name) \
  template <class X, class F> requires(detail::misjudged<X, F>) check::after_error name(const X&, const F&) { return {}; }
QUERY_DETAIL_MISJUDGED(sum)
QUERY_DETAIL_MISJUDGED(min)
QUERY_DETAIL_MISJUDGED(max)
QUERY_DETAIL_MISJUDGED(any)
QUERY_DETAIL_MISJUDGED(all)
QUERY_DETAIL_MISJUDGED(count)
#undef QUERY_DETAIL_MISJUDGED
template <class X, class Init, class F> requires(detail::misfolds<X, Init, F>)
check::after_error fold(const X&, const Init&, const F&) { return {}; }

}  // namespace query
