// Arrays and records of numbers as vectors: + - * / natively and in traced lambdas, dot, norm, squared_distance, sum.
//
//   using namespace query::operators;                       // + - * / and unary - of std::array and of records
//   .select([](auto p) { return query::make<Point>(p.position + p.velocity * 0.1, query::norm(p.velocity)); })
//
// Operators work member by member, with another array or record of the same shape or with a number. Arrays follow the
// usual conversions (float * double gives double); fields of records keep their types. Sums of products run in lanes, 8
// where the length is a multiple of 8, 4 where of 4, else 1, added up from first to last: natively, interpreted and on
// the GPU alike, so that compilers may vectorise them without changing the result.
#pragma once

#include <query/detail/own_operators.hpp>
#include <query/maths.hpp>

namespace query {

namespace detail {

// Can one calculate with T member by member?
template <class T> constexpr bool algebraic() {
  if constexpr (std::is_arithmetic_v<T>) return true;
  else if constexpr (ir::is_array_v<T>) return algebraic<typename ir::array_traits<T>::element>();
  else if constexpr (record<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) { return (algebraic<field_t<T, I>>() && ...); }(field_indices<T>{});
  else return false;
}
// The row type of a record, its traced twin or its view in columns; else void.
template <class X> struct row_type { using type = void; };
template <record X> struct row_type<X> { using type = X; };
template <class X> requires requires { typename X::query_row_type; } struct row_type<X> { using type = typename X::query_row_type; };
template <class X> using row_type_t = typename row_type<std::remove_cvref_t<X>>::type;

template <class X> concept array_of_numbers = ir::is_array_v<held_t<X>> && algebraic<held_t<X>>();
template <class X> concept record_of_numbers = algebraic<row_type_t<X>>() && record<row_type_t<X>>;
template <class X> concept vector_of_numbers = array_of_numbers<X> || record_of_numbers<X>;
template <class A, class B>
concept vectors = (vector_of_numbers<A> && (vector_of_numbers<B> || numeric_value<B>)) || (numeric_value<A> && vector_of_numbers<B>);
template <class X> constexpr std::size_t array_length() {
  if constexpr (array_of_numbers<X>) return ir::array_traits<held_t<X>>::count;
  else return 0;
}
template <class... X> constexpr std::size_t longest() {
  std::size_t n = 0;
  ((n = array_length<X>() > n ? array_length<X>() : n), ...);
  return n;
}

// Part I of a vector; a number is each of its own parts.
template <std::size_t I, class X> decltype(auto) part(const X& x) {
  if constexpr (array_of_numbers<X>) return (x[I]);
  else if constexpr (record_of_numbers<X>) return std::get<I>(meta<row_type_t<X>>::fields(x));
  else return (x);
}

template <class Op, class... X> auto memberwise(const Op& apply, const X&... x);

template <class R, bool Traced, class Op, class... X> auto memberwise_record(const Op& apply, const X&... x) {
  return [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto field = [&]<std::size_t J>(std::integral_constant<std::size_t, J>) {
      return stored_as<Traced, field_t<R, J>>(memberwise(apply, part<J>(x)...));
    };
    return std::conditional_t<Traced, twin_t<R>, R>{field(std::integral_constant<std::size_t, I>{})...};
  }(field_indices<R>{});
}

template <class Op, class... X> auto memberwise(const Op& apply, const X&... x) {
  constexpr bool traced = any_twin<X...>;
  if constexpr ((record_of_numbers<X> || ...)) {
    // The first record among the operands gives the shape.
    using rows = std::tuple<row_type_t<X>*...>;
    using R = std::remove_pointer_t<std::conditional_t<std::is_void_v<std::remove_pointer_t<std::tuple_element_t<0, rows>>>,
                                                       std::tuple_element_t<sizeof...(X) - 1, rows>, std::tuple_element_t<0, rows>>>;
    static_assert(((std::is_same_v<row_type_t<X>, R> || numeric_value<X>) && ...),
                  "query::operators: the operands are records of different types");
    return memberwise_record<R, traced>(apply, x...);
  } else if constexpr ((array_of_numbers<X> || ...)) {
    constexpr std::size_t n = longest<X...>();
    static_assert(((numeric_value<X> || array_length<X>() == n) && ...), "query::operators: the arrays have different lengths");
    using element = decltype(memberwise(apply, part<0>(x)...));
    using E = held_t<element>;
    std::conditional_t<traced, twin_t<std::array<E, n>>, std::array<E, n>> r{};
    for (std::size_t i = 0; i < n; ++i) {
      const auto at = [&](const auto& v) -> decltype(auto) {
        if constexpr (array_of_numbers<decltype(v)>) return (v[i]);
        else return (v);
      };
      if constexpr (traced) r[i] = make_twin<E>(to_node(memberwise(apply, at(x)...)));
      else r[i] = memberwise(apply, at(x)...);
    }
    return r;
  } else {
    return apply(x...);
  }
}

// ---------------------------------------------------------------- leaves
template <class T> constexpr std::size_t leaves() {
  if constexpr (std::is_arithmetic_v<T>) return 1;
  else if constexpr (ir::is_array_v<T>) return ir::array_traits<T>::count * leaves<typename ir::array_traits<T>::element>();
  else
    return []<std::size_t... I>(std::index_sequence<I...>) { return (leaves<field_t<T, I>>() + ... + std::size_t{0}); }(field_indices<T>{});
}
template <class X> using vector_t = std::conditional_t<record_of_numbers<X>, row_type_t<X>, held_t<X>>;
template <class X> constexpr std::size_t leaf_count = leaves<vector_t<X>>();

template <class X, class F> void each_leaf(const X& x, F&& f) {
  if constexpr (record_of_numbers<X>) std::apply([&](const auto&... p) { (each_leaf(p, f), ...); }, meta<row_type_t<X>>::fields(x));
  else if constexpr (array_of_numbers<X>) {
    for (const auto& e : x) each_leaf(e, f);
  } else f(x);
}
template <class T> struct leaf_type { using type = T; };
template <class T> requires(ir::is_array_v<T>) struct leaf_type<T> : leaf_type<typename ir::array_traits<T>::element> {};
template <class... F> struct leaf_type<std::tuple<F...>> { using type = std::common_type_t<typename leaf_type<F>::type...>; };
template <record T> struct leaf_type<T> : leaf_type<typename meta<T>::types> {};
template <class X> using leaf_t = typename leaf_type<vector_t<X>>::type;
// What products of leaves are summed in.
template <class A, class B> using product_t = decltype(leaf_t<A>{} * leaf_t<B>{});
constexpr std::size_t lanes_for(std::size_t n) { return n % 8 == 0 ? 8 : n % 4 == 0 ? 4 : 1; }

// The leaves side by side as E; an array of E is that already.
template <class E, class X> decltype(auto) flat(const X& x) {
  if constexpr (std::is_same_v<held_t<X>, std::array<E, leaf_count<X>>>) return (x);
  else {
    std::array<std::conditional_t<any_twin<X>, expr<E>, E>, leaf_count<X>> r;
    std::size_t i = 0;
    each_leaf(x, [&](const auto& leaf) {
      if constexpr (any_twin<X>) r[i++] = wrap<E>(node_as<E>(leaf));
      else r[i++] = static_cast<E>(leaf);
    });
    return r;
  }
}
template <class E, std::size_t N, class Term> E sum_in_lanes(const Term& term) {
  constexpr std::size_t lanes = lanes_for(N);
  E s[lanes]{};
  for (std::size_t i = 0; i < N; i += lanes)
    for (std::size_t l = 0; l < lanes; ++l) s[l] += term(i + l);
  E total = s[0];
  for (std::size_t l = 1; l < lanes; ++l) total += s[l];
  return total;
}
// Parts of the row that are no array of the row are gathered into one.
template <class E, class X, class Flat> const ir::node* array_node(const Flat& flat) {
  if constexpr (std::is_same_v<held_t<X>, std::array<E, leaf_count<X>>>) return to_node(flat);
  else {
    ir::node gathered;
    gathered.what = ir::op::make;
    gathered.type = ir::describe<std::array<E, leaf_count<X>>>();
    for (const auto& e : flat) gathered.kids.push_back(to_node(e));
    return ir::current_arena().put(std::move(gathered));
  }
}
// The interpreter and the GPU know the sums of products of floats by name.
template <class Term, class A, class B> auto sum_of_products(const char* name, const Term& term, const A& a, const B& b) {
  static_assert(leaf_count<A> == leaf_count<B>, "query: the two vectors have different lengths");
  using E = product_t<A, B>;
  constexpr std::size_t n = leaf_count<A>;
  decltype(auto) x = flat<E>(a);
  decltype(auto) y = flat<E>(b);
  if constexpr (any_twin<A, B> && std::is_floating_point_v<E>) {
    return wrap<E>(ir::current_arena().put(ir::op::call, ir::describe<E>(), {array_node<E, A>(x), array_node<E, B>(y)}, 0, 0, name));
  } else {
    return sum_in_lanes<std::conditional_t<any_twin<A, B>, expr<E>, E>, n>([&](std::size_t i) { return term(x[i], y[i]); });
  }
}

}  // namespace detail

// The operators are opt-in: a program may have its own for std::array. The own operator of a record comes first: natively
// by overload resolution, of traced rows as detail/own_operators.hpp says, of views of columns by making rows of them.
namespace operators {
#define QUERY_DETAIL_MEMBERWISE(sign, has_own)                                                   \
  template <class A, class B> requires(detail::vectors<A, B> && !detail::own_##has_own<A, B> && !detail::generic_##has_own<A, B>) \
  auto operator sign(const A& a, const B& b) {                                                   \
    const auto apply = [](const auto& x, const auto& y) {                                        \
      using C = decltype(x sign y);                                                              \
      if constexpr (std::is_arithmetic_v<C>) return static_cast<C>(static_cast<C>(x) sign static_cast<C>(y)); \
      else return x sign y;                                                                      \
    };                                                                                           \
    if constexpr (detail::viewed<A, B> && query_own_operators::has_own<detail::plain_operand_t<A>, detail::plain_operand_t<B>>) \
      return detail::plain_row(a) sign detail::plain_row(b);                                     \
    else return detail::memberwise(apply, a, b);                                                 \
  }
QUERY_DETAIL_MEMBERWISE(+, has_add)
QUERY_DETAIL_MEMBERWISE(-, has_sub)
QUERY_DETAIL_MEMBERWISE(*, has_mul)
QUERY_DETAIL_MEMBERWISE(/, has_div)
#undef QUERY_DETAIL_MEMBERWISE
template <class A>
requires(detail::vector_of_numbers<A> && !detail::own_has_negate<A> && !detail::generic_has_negate<A>) auto operator-(const A& a) {
  if constexpr (detail::viewed<A> && query_own_operators::has_negate<detail::plain_operand_t<A>>) return -detail::plain_row(a);
  else return detail::memberwise([](const auto& x) { return -x; }, a);
}
}  // namespace operators

// The sum of a[i] * b[i]. O(length).
template <class A, class B> requires(detail::vector_of_numbers<A> && detail::vector_of_numbers<B>) auto dot(const A& a, const B& b) {
  return detail::sum_of_products("dot", [](const auto& x, const auto& y) { return x * y; }, a, b);
}
// The sum of (a[i] - b[i])^2. O(length).
template <class A, class B>
requires(detail::vector_of_numbers<A> && detail::vector_of_numbers<B>) auto squared_distance(const A& a, const B& b) {
  const auto square = [](const auto& x, const auto& y) {
    const auto d = x - y;
    return d * d;
  };
  return detail::sum_of_products("squared_distance", square, a, b);
}
// The length of the vector, sqrt(dot(a, a)).
template <class A> requires(detail::vector_of_numbers<A>) auto norm(const A& a) {
  return query::sqrt(query::dot(a, a));
}
// The sum of all numbers in a; integers add up in 64 bits. O(length).
template <class A> requires(detail::vector_of_numbers<A>) auto sum(const A& a) {
  using L = detail::leaf_t<A>;
  using E = std::conditional_t<std::is_floating_point_v<L>, L, std::conditional_t<std::is_signed_v<L>, std::int64_t, std::uint64_t>>;
  using T = std::conditional_t<detail::any_twin<A>, expr<E>, E>;
  decltype(auto) x = detail::flat<E>(a);
  return detail::sum_in_lanes<T, detail::leaf_count<A>>([&](std::size_t i) -> const auto& { return x[i]; });
}

}  // namespace query
