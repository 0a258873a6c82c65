// What the functions of query::functions share: values that have no value yet, and calls that become nodes.
//
// A `deferred` value is an aggregate of a group while its recorder runs (include/query/aggregates.hpp): a function that
// meets one hands itself and its arguments to `defer`, which is found by argument-dependent lookup.
//
//   query::sqrt(g.sum(...))   ->   defer(detail::sqrt_fn{}, g.sum(...))
#pragma once

#include <query/detail/call.hpp>
#include <query/detail/narrowing.hpp>
#include <query/detail/traced_row.hpp>

namespace query::detail {

template <class X> inline constexpr bool is_deferred = false;
template <class X> concept deferred = is_deferred<std::remove_cvref_t<X>>;
template <class... X> inline constexpr bool any_deferred = (deferred<X> || ...);
template <class... X> inline constexpr bool any_symbolic = (symbolic<X> || ...);

template <class X> concept numeric = deferred<X> || (operand<X> && std::is_arithmetic_v<value_of_t<X>>);
// What min, max and clamp take: numbers, and times or durations.
template <class X> concept ranked = numeric<X> || (operand<X> && ir::ticking<value_of_t<X>>);
template <class X> concept numeric_value = numeric<X> && !deferred<X>;
template <class X> concept textual = deferred<X> || (operand<X> && std::is_same_v<value_of_t<X>, std::string>);

// The common type of two results, as `c ? a : b` and the aggregates see it: numbers meet in their common type.
template <class A, class B> struct common {};
template <class A, class B>
requires(std::is_arithmetic_v<A> && std::is_arithmetic_v<B>) struct common<A, B> {
  using type = std::common_type_t<A, B>;
};
template <class A> requires(!std::is_arithmetic_v<A> && !ir::is_optional_v<A>) struct common<A, A> { using type = A; };
template <class A, class B>
requires(ir::ticking<A> && ir::ticking<B> && !std::is_same_v<A, B> && requires { typename std::common_type_t<A, B>; })
struct common<A, B> { using type = std::common_type_t<A, B>; };
template <class A, class B> requires requires { typename common<A, B>::type; }
struct common<std::optional<A>, std::optional<B>> { using type = std::optional<typename common<A, B>::type>; };
template <class A> requires(!std::is_arithmetic_v<A>) struct common<std::optional<A>, std::optional<A>> { using type = std::optional<A>; };
template <class A, class B> requires(!ir::is_optional_v<B> && requires { typename common<A, B>::type; })
struct common<std::optional<A>, B> { using type = std::optional<typename common<A, B>::type>; };
template <class A, class B> requires(!ir::is_optional_v<A> && requires { typename common<A, B>::type; })
struct common<A, std::optional<B>> { using type = std::optional<typename common<A, B>::type>; };
template <class A> struct common<std::optional<A>, std::nullopt_t> { using type = std::optional<A>; };
template <class A> struct common<std::nullopt_t, std::optional<A>> { using type = std::optional<A>; };
template <class A> requires(!ir::is_optional_v<A>) struct common<A, std::nullopt_t> { using type = std::optional<A>; };
template <class A> requires(!ir::is_optional_v<A>) struct common<std::nullopt_t, A> { using type = std::optional<A>; };

// May a value that stands for V be stored as a T without a question? Numbers convert, optionals take values and nullopt. Cut: from
// floating point to integers, too.
template <class V, class T, bool Cut = true> constexpr bool storable() {
  if constexpr (std::is_same_v<stored_t<V>, T>) return true;  // a list of views becomes one of strings
  else if constexpr (std::is_arithmetic_v<V> && std::is_arithmetic_v<T>) return Cut || std::is_integral_v<V> || !std::is_integral_v<T>;
  else if constexpr (ir::ticking<V> && ir::ticking<T>) return std::is_convertible_v<V, T>;
  else if constexpr (ir::is_optional_v<T>) {
    if constexpr (std::is_same_v<V, std::nullopt_t>) return true;
    else if constexpr (ir::is_optional_v<V>) return storable<typename V::value_type, typename T::value_type, Cut>();
    else return storable<V, typename T::value_type, Cut>();
  } else if constexpr (ir::is_array_v<T> && ir::is_array_v<V>) {
    using to = ir::array_traits<T>;
    using from = ir::array_traits<V>;
    return to::count == from::count && storable<typename from::element, typename to::element, Cut>();
  } else return false;
}

// T without the std::optional around it.
template <class T> struct present { using type = T; };
template <class T> struct present<std::optional<T>> { using type = T; };

// Why a Value cannot become a field of query::make that is a Field: asked of those alone that are not storable.
template <class Value, class Field> struct value_for_field {
  static constexpr bool fits = storable<Value, Field, false>();
  template <class V> static constexpr bool holds_field() {
    if constexpr (ir::is_optional_v<V> && !ir::is_optional_v<Field>) return storable<typename V::value_type, Field>();
    else return std::is_same_v<V, std::nullopt_t>;
  }
  static constexpr bool is_null = !fits && holds_field<Value>();
  static constexpr bool is_cut = !fits && !is_null && storable<Value, Field>();
  static constexpr bool differs = !fits && !is_null && !is_cut;
};

// A field that an integer must fit.
struct made_field {
  std::string_view record, name;
};
template <class T, class X> const ir::node* number_node(const X& x, const made_field* must_fit) {
  using V = held_t<X>;
  if constexpr (may_not_fit<V, T>) {
    if constexpr (!symbolic<X>)
      if (fits<T>(V(x))) return node_as<T>(x);
    if (must_fit) return narrowed_node(node_of(x), ir::describe<T>(), must_fit->record, must_fit->name);
  }
  return node_as<T>(x);
}
// x as a node of type T; storable<held_t<X>, T>(). Integers wrap, unless they must fit.
template <class T, class X> const ir::node* node_of_type(const X& x, const made_field* must_fit = nullptr) {
  auto& a = ir::current_arena();
  using V = held_t<X>;
  if constexpr (std::is_arithmetic_v<T>) return number_node<T>(x, must_fit);
  else if constexpr (ir::ticking<T> && operand<X>) return node_as<T>(x);
  else if constexpr (std::is_same_v<V, std::nullopt_t>) return a.put(ir::op::null, ir::describe<T>());
  else if constexpr (ir::is_optional_v<T> && !ir::is_optional_v<V>)
    return a.put(ir::op::some, ir::describe<T>(), {node_of_type<typename T::value_type>(x, must_fit)});
  else if constexpr (ir::is_optional_v<T> && !std::is_same_v<V, T>) {
    const ir::node* o = to_node(x);
    const auto value = make_twin<typename V::value_type>(a.put(ir::op::value, ir::describe<typename V::value_type>(), {o}));
    return ir::make_select(a, a.put(ir::op::has_value, ir::describe<bool>(), {o}),
                           a.put(ir::op::some, ir::describe<T>(), {node_of_type<typename T::value_type>(value, must_fit)}),
                           a.put(ir::op::null, ir::describe<T>()));
  } else if constexpr (ir::is_array_v<T>) {
    std::vector<const ir::node*> kids;
    for (const auto& e : x) kids.push_back(node_of_type<typename ir::array_traits<T>::element>(e, must_fit));
    return make_array(ir::describe<T>(), std::move(kids));
  } else return to_node(x);
}
// number(std::type_identity<T>(), v): v as a T.
struct wrapping_number {
  template <class T, class V> T operator()(std::type_identity<T>, V v) const { return static_cast<T>(v); }
};
// x as a plain T; storable<X, T>().
template <class T, class X, class Number = wrapping_number> T value_of_type(const X& x, const Number& number = {}) {
  if constexpr (std::is_arithmetic_v<T>) return number(std::type_identity<T>(), x);
  else if constexpr (ir::is_optional_v<T> && !std::is_same_v<X, T>) {
    using E = typename T::value_type;
    if constexpr (std::is_same_v<X, std::nullopt_t>) return T();
    else if constexpr (ir::is_optional_v<X>) return x ? T(value_of_type<E>(*x, number)) : T();
    else return T(value_of_type<E>(x, number));
  } else if constexpr (ir::is_array_v<T> && !std::is_array_v<T>) {
    T to{};
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = value_of_type<typename T::value_type>(x[i], number);
    return to;
  } else return T(as_stored<T>(x));
}
// x as a twin of T where `Traced`, else as a T.
template <bool Traced, class T, class X> auto stored_as(const X& x) {
  if constexpr (Traced) return make_twin<T>(node_of_type<T>(x));
  else return value_of_type<T>(x);
}

// f(x...) as a call of f.name: arguments and result have the type of the native result.
template <class F, class... X> auto call_by_name(const F& f, const X&... x) {
  if constexpr (any_deferred<X...>) {
    return defer(f, x...);
  } else if constexpr (any_symbolic<X...>) {
    using R = decltype(F::native(std::declval<value_of_t<X>>()...));
    return wrap_like<R, X...>(ir::current_arena().put(ir::op::call, ir::describe<R>(), {node_as<R>(x)...}, 0, 0, F::name));
  } else {
    return F::native(x...);
  }
}
// The same for a question about numbers or strings; asks it unless an argument is lazy.
template <class F, class... X> auto ask_by_name(const F& f, const ir::node* (*to)(const X&...), const X&... x) {
  if constexpr (any_deferred<X...>) {
    return defer(f, x...);
  } else if constexpr (any_symbolic<X...>) {
    const ir::node* question = to(x...);
    if constexpr (lazily<X...>) return lazy_bool(question);
    else return ir::decide(question);
  } else {
    return F::native(x...);
  }
}

}  // namespace query::detail
