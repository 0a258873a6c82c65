// Symbolic rows: for each row type a twin with the same member names, whose leaves are expr<T>.
//
//   record -> its shape; std::array -> expr_array; std::optional -> expr_optional; std::vector -> expr_list;
//   std::pair, std::tuple -> the same of twins. make_twin<T>(node) builds one from a node of type T.
#pragma once

#include <query/expr.hpp>

namespace query {

template <class Twin, class E, std::size_t N> class expr_array;
template <class E> class expr_optional;
template <class E> class expr_list;

namespace detail {

template <class T> struct to_twin { using type = expr<T>; };
template <record T> struct to_twin<T> { using type = typename meta<T>::template shape<to_twin>; };
template <class E, std::size_t N> struct to_twin<std::array<E, N>> { using type = expr_array<typename to_twin<E>::type, E, N>; };
template <class E, std::size_t N> struct to_twin<E[N]> { using type = expr_array<typename to_twin<E>::type, E, N>; };
template <class E> struct to_twin<std::optional<E>> { using type = expr_optional<E>; };
template <class E, class A> struct to_twin<std::vector<E, A>> { using type = expr_list<E>; };
template <class... E> struct to_twin<std::tuple<E...>> { using type = std::tuple<typename to_twin<E>::type...>; };
template <class A, class B> struct to_twin<std::pair<A, B>> {
  using type = std::pair<typename to_twin<A>::type, typename to_twin<B>::type>;
};
template <class T> using twin_t = typename to_twin<std::remove_cv_t<T>>::type;

template <class X> inline constexpr bool is_record_twin = has_form<X, to_twin>;

// Is X a traced value of any kind, and which C++ type does it stand for?
template <class X> struct twin_traits : std::false_type {};
template <class X> requires symbolic<X> struct twin_traits<X> : std::true_type {
  using held = typename expr_traits<std::remove_cvref_t<X>>::held;  // references are what std::tie holds
};
template <class W, class E, std::size_t N> struct twin_traits<expr_array<W, E, N>> : std::true_type { using held = std::array<E, N>; };
template <class E> struct twin_traits<expr_optional<E>> : std::true_type { using held = std::optional<E>; };
template <class E> struct twin_traits<expr_list<E>> : std::true_type { using held = std::vector<E>; };
template <class X> requires is_record_twin<X> struct twin_traits<X> : std::true_type { using held = typename X::query_row_type; };
template <class X> inline constexpr bool is_twin_v = twin_traits<std::remove_cvref_t<X>>::value;
template <class E, std::size_t N> inline constexpr bool is_twin_v<std::array<E, N>> = is_twin_v<E>;
template <class E> inline constexpr bool is_twin_v<std::optional<E>> = is_twin_v<E>;
template <class... E> inline constexpr bool is_twin_v<std::tuple<E...>> = (is_twin_v<E> || ...);
template <class A, class B> inline constexpr bool is_twin_v<std::pair<A, B>> = is_twin_v<A> || is_twin_v<B>;
template <class... X> inline constexpr bool any_twin = (is_twin_v<std::remove_cvref_t<X>> || ...);

// The C++ type that a value stands for: twins become what they are twins of, also inside tuples, arrays and optionals.
template <class X> struct held { using type = X; };
template <class X> requires(twin_traits<X>::value) struct held<X> { using type = typename twin_traits<X>::held; };
template <text X> struct held<X> { using type = std::string; };
template <class A, class B> struct held<std::pair<A, B>> { using type = std::pair<typename held<A>::type, typename held<B>::type>; };
template <class... E> struct held<std::tuple<E...>> { using type = std::tuple<typename held<E>::type...>; };
template <class E, std::size_t N> struct held<std::array<E, N>> { using type = std::array<typename held<E>::type, N>; };
template <class E> struct held<std::optional<E>> { using type = std::optional<typename held<E>::type>; };
template <class X> using held_t = typename held<std::remove_cvref_t<X>>::type;

template <class T> twin_t<T> make_twin(const ir::node* n);
template <class X> const ir::node* to_node(const X& x);

// Part number i (a field or an element) of a node that is a record or an array.
const ir::node* part_of(const ir::node* whole, std::size_t i);
// An array of consecutive parts of one value is that value.
const ir::node* make_array(const ir::type* t, std::vector<const ir::node*> elements);
const ir::node* row_node(const ir::type* t, std::uint32_t id);

}  // namespace detail

// Elements are twins themselves: loops, indices, range-for and <algorithm> work as on std::array.
template <class Twin, class E, std::size_t N> class expr_array : public std::array<Twin, N> {
 public:
  using query_element_type = E;
  using std::array<Twin, N>::operator[];
  // Both: a const one alone would be ambiguous with std::array's for arrays that are not const.
  template <detail::symbolic I> auto operator[](const I& i) { return std::as_const(*this)[i]; }
  template <detail::symbolic I> auto operator[](const I& i) const {
    return detail::make_twin<E>(ir::current_arena().put(ir::op::index, ir::describe<E>(),
                                                        {detail::to_node(*this), detail::node_as<std::int64_t>(i)}));
  }
};

// Arrays of the row and plain ones, a literal or a captured one. (Two arrays of the row: std::array's own operators.)
#define QUERY_DETAIL_ARRAYS(op)                                                                                                         \
  template <class W, class Plain, std::size_t N>                                                                                        \
  requires(detail::is_twin_v<W> && !detail::is_twin_v<Plain> && requires(W w, Plain p) { w op p; })                                     \
  bool operator op(const std::array<W, N>& a, const std::array<Plain, N>& b) {                                                          \
    for (std::size_t i = 0; i < N; ++i)                                                                                                 \
      if (!(a[i] == b[i])) return a[i] op b[i];                                                                                       \
    return 0 op 0;                                                                                                                      \
  }                                                                                                                                     \
  template <class W, class Plain, std::size_t N>                                                                                        \
  requires(detail::is_twin_v<W> && !detail::is_twin_v<Plain> && requires(W w, Plain p) { p op w; })                                     \
  bool operator op(const std::array<Plain, N>& a, const std::array<W, N>& b) {                                                          \
    for (std::size_t i = 0; i < N; ++i)                                                                                                 \
      if (!(a[i] == b[i])) return a[i] op b[i];                                                                                       \
    return 0 op 0;                                                                                                                      \
  }
QUERY_DETAIL_ARRAYS(<) QUERY_DETAIL_ARRAYS(<=) QUERY_DETAIL_ARRAYS(>) QUERY_DETAIL_ARRAYS(>=)
#undef QUERY_DETAIL_ARRAYS
#define QUERY_DETAIL_ARRAYS(op, differ)                                                                                                 \
  template <class W, class Plain, std::size_t N>                                                                                        \
  requires(detail::is_twin_v<W> && !detail::is_twin_v<Plain> && requires(W w, Plain p) { w == p; })                                     \
  bool operator op(const std::array<W, N>& a, const std::array<Plain, N>& b) {                                                          \
    for (std::size_t i = 0; i < N; ++i)                                                                                                 \
      if (!(a[i] == b[i])) return differ;                                                                                               \
    return !differ;                                                                                                                     \
  }                                                                                                                                     \
  template <class W, class Plain, std::size_t N>                                                                                        \
  requires(detail::is_twin_v<W> && !detail::is_twin_v<Plain> && requires(W w, Plain p) { w == p; })                                     \
  bool operator op(const std::array<Plain, N>& a, const std::array<W, N>& b) {                                                          \
    return b op a;                                                                                                                      \
  }
QUERY_DETAIL_ARRAYS(==, false) QUERY_DETAIL_ARRAYS(!=, true)
#undef QUERY_DETAIL_ARRAYS

// std::optional<E> as functions see it.
template <class E> class expr_optional {
 public:
  using value_type = E;
  explicit expr_optional(const ir::node* n) : node_(n) {}
  expr_optional() : node_(ir::current_arena().put(ir::op::null, ir::describe<std::optional<E>>())) {}
  expr_optional(std::nullopt_t) : expr_optional() {}  // NOLINT: implicit as std::optional's
  template <class X> requires(detail::operand<X>)
  expr_optional(const X& x)  // NOLINT
      : node_(ir::current_arena().put(ir::op::some, ir::describe<std::optional<E>>(), {detail::node_as<E>(x)})) {}

  bool has_value() const { return ir::decide(has()); }
  explicit operator bool() const { return has_value(); }
  operator std::optional<E>() const { detail::became_plain<std::optional<E>>(); }
  auto value() const { return detail::make_twin<E>(ir::current_arena().put(ir::op::value, ir::describe<E>(), {node_})); }
  auto operator*() const { return value(); }
  template <class X> auto value_or(const X& other) const {
    auto& a = ir::current_arena();
    if constexpr (detail::operand<X>)
      return detail::make_twin<E>(ir::make_select(a, has(), a.put(ir::op::value, ir::describe<E>(), {node_}), detail::node_as<E>(other)));
    else
      return detail::make_twin<E>(ir::make_select(a, has(), a.put(ir::op::value, ir::describe<E>(), {node_}), detail::to_node(other)));
  }
  // *o and o->field: the arrow gives the twin a home for the length of the expression.
  struct arrow {
    detail::twin_t<E> twin;
    const detail::twin_t<E>* operator->() const { return &twin; }
  };
  arrow operator->() const { return {value()}; }
  const ir::node* get() const { return node_; }
  const ir::node* has() const { return ir::current_arena().put(ir::op::has_value, ir::describe<bool>(), {node_}); }

  friend bool operator==(const expr_optional& a, std::nullopt_t) { return !a.has_value(); }
#define QUERY_DETAIL_OPTIONAL(op)                                                                                     \
  friend bool operator op(const expr_optional& a, const expr_optional& b) {                                           \
    const bool x = a.has_value(), y = b.has_value();                                                                  \
    return x && y ? static_cast<bool>(*a op *b) : static_cast<bool>(x op y);                                          \
  }                                                                                                                   \
  /* a plain optional: std::optional's own operators would compare the traced one as if it were a value */            \
  friend bool operator op(const expr_optional& a, const std::optional<E>& b) requires detail::operand<E> {            \
    return a op (b ? expr_optional(*b) : expr_optional());                                                            \
  }                                                                                                                   \
  friend bool operator op(const std::optional<E>& a, const expr_optional& b) requires detail::operand<E> {            \
    return (a ? expr_optional(*a) : expr_optional()) op b;                                                            \
  }                                                                                                                   \
  template <class X> requires detail::operand<X> friend bool operator op(const expr_optional& a, const X& b) {        \
    return a.has_value() ? static_cast<bool>(*a op b) : static_cast<bool>(0 op 1);                                    \
  }                                                                                                                   \
  template <class X> requires detail::operand<X> friend bool operator op(const X& a, const expr_optional& b) {        \
    return b.has_value() ? static_cast<bool>(a op *b) : static_cast<bool>(1 op 0);                                    \
  }
  QUERY_DETAIL_OPTIONAL(==) QUERY_DETAIL_OPTIONAL(!=) QUERY_DETAIL_OPTIONAL(<)
  QUERY_DETAIL_OPTIONAL(<=) QUERY_DETAIL_OPTIONAL(>) QUERY_DETAIL_OPTIONAL(>=)
#undef QUERY_DETAIL_OPTIONAL

 private:
  const ir::node* node_;
};

// std::vector<E> as functions see it: its size and elements; loops over it by query::fold and its kin.
template <class E> class expr_list {
 public:
  using value_type = E;
  explicit expr_list(const ir::node* n) : node_(n) {}
  operator std::vector<E>() const { detail::became_plain<std::vector<E>>(); }
  expr<std::size_t> size() const {
    return detail::wrap<std::size_t>(ir::current_arena().put(ir::op::size, ir::describe<std::size_t>(), {node_}));
  }
  bool empty() const { return size() == std::size_t{0}; }
  template <detail::operand I> auto operator[](const I& i) const {
    return detail::make_twin<E>(ir::current_arena().put(ir::op::index, ir::describe<E>(), {node_, detail::node_as<std::int64_t>(i)}));
  }
  auto front() const { return (*this)[0]; }
  auto back() const { return (*this)[cast_size() - std::int64_t{1}]; }
  template <class I> auto at(const I& i) const { return (*this)[i]; }
  // A loop over a list ends where the row says: it cannot be unrolled while tracing.
  class iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = detail::twin_t<E>;
    using difference_type = std::ptrdiff_t;
    using pointer = const value_type*;
    using reference = const value_type&;
    reference operator*() const { loop_over_list(); }
    pointer operator->() const { loop_over_list(); }
    iterator& operator++() { loop_over_list(); }
    iterator operator++(int) { loop_over_list(); }
    bool operator==(const iterator&) const { loop_over_list(); }
  };
  iterator begin() const { return {}; }
  iterator end() const { return {}; }
  const ir::node* get() const { return node_; }

#define QUERY_DETAIL_LISTS(op)                                                                         \
  friend bool operator op(const expr_list&, const expr_list&) { compared_lists(); }                    \
  friend bool operator op(const expr_list&, const std::vector<E>&) { compared_lists(); }               \
  friend bool operator op(const std::vector<E>&, const expr_list&) { compared_lists(); }
  QUERY_DETAIL_LISTS(==) QUERY_DETAIL_LISTS(!=) QUERY_DETAIL_LISTS(<)
  QUERY_DETAIL_LISTS(<=) QUERY_DETAIL_LISTS(>) QUERY_DETAIL_LISTS(>=)
#undef QUERY_DETAIL_LISTS

 private:
  [[noreturn]] static void compared_lists() {
    ir::give_up("lists are compared as a whole: compare their sizes, or elements by query::all and query::any");
  }
  [[noreturn]] static void loop_over_list() {
    ir::give_up("a loop over a list field: use query::fold(list, init, f), query::sum(list, f), query::any(list, f)...");
  }
  expr<std::int64_t> cast_size() const { return detail::wrap<std::int64_t>(detail::node_as<std::int64_t>(size())); }
  const ir::node* node_;
};

namespace detail {

template <class T> twin_t<T> make_twin(const ir::node* n) {
  using U = std::remove_cv_t<T>;
  if constexpr (record<U>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return twin_t<U>{make_twin<field_t<U, I>>(part_of(n, I))...};
    }(field_indices<U>{});
  } else if constexpr (ir::is_tuple_v<U>) {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return twin_t<U>{make_twin<std::tuple_element_t<I, U>>(part_of(n, I))...};
    }(std::make_index_sequence<std::tuple_size_v<U>>{});
  } else if constexpr (ir::is_array_v<U>) {
    twin_t<U> a;
    for (std::size_t i = 0; i < ir::array_traits<U>::count; ++i) a[i] = make_twin<typename ir::array_traits<U>::element>(part_of(n, i));
    return a;
  } else if constexpr (ir::is_optional_v<U> || ir::is_list_v<U>) {
    return twin_t<U>(n);
  } else {
    return wrap<U>(n);
  }
}

// Any result of a traced function, as a node of the type that it stands for.
template <class X> const ir::node* to_node(const X& x) {
  if constexpr (operand<X>) return node_of(x);
  else if constexpr (ir::is_optional_v<X>) {
    auto& a = ir::current_arena();
    if (!x) return a.put(ir::op::null, ir::describe<held_t<X>>());
    return a.put(ir::op::some, ir::describe<held_t<X>>(), {to_node(*x)});
  } else if constexpr (is_record_twin<X>) {
    using R = typename X::query_row_type;
    std::vector<const ir::node*> kids;
    std::apply([&](const auto&... f) { (kids.push_back(to_node(f)), ...); }, meta<R>::fields(x));
    return make_array(ir::describe<R>(), std::move(kids));
  } else if constexpr (requires { typename X::query_element_type; }) {
    std::vector<const ir::node*> kids;
    for (const auto& e : x) kids.push_back(to_node(e));
    return make_array(ir::describe<typename twin_traits<X>::held>(), std::move(kids));
  } else if constexpr (twin_traits<X>::value) {
    return x.get();
  } else if constexpr (ir::is_array_v<X> && ir::described_v<held_t<X>>) {
    std::vector<const ir::node*> kids;
    for (const auto& e : x) kids.push_back(to_node(e));
    return make_array(ir::describe<held_t<X>>(), std::move(kids));
  } else if constexpr (ir::is_tuple_v<X> && ir::described_v<held_t<X>>) {
    std::vector<const ir::node*> kids;
    std::apply([&](const auto&... f) { (kids.push_back(to_node(f)), ...); }, x);
    return make_array(ir::describe<held_t<X>>(), std::move(kids));
  } else if constexpr (record<X>) {  // a plain record among traced values
    std::vector<const ir::node*> kids;
    std::apply([&](const auto&... f) { (kids.push_back(to_node(f)), ...); }, meta<X>::fields(x));
    return make_array(ir::describe<X>(), std::move(kids));
  } else {
    ir::give_up("the function gives a type that cannot be traced (use query::make<Record>(...), a tuple or a value)");
  }
}

}  // namespace detail

// value_t<T, X...>: T in native code, a traced local of T where any of X is traced.
template <class T, class... X>
using value_t = std::conditional_t<detail::any_twin<X...>, local<T>, T>;

}  // namespace query

template <class W, class E, std::size_t N> struct std::tuple_size<query::expr_array<W, E, N>> : std::integral_constant<std::size_t, N> {};
template <std::size_t I, class W, class E, std::size_t N> struct std::tuple_element<I, query::expr_array<W, E, N>> { using type = W; };
