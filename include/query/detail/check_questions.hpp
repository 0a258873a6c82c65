// What can be asked of a function, a key or a row: the questions that the checks of verbs (check.hpp) put to their arguments.
//
//   static_assert(check::can_call<F, Row>);
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include <query/detail/after_error.hpp>
#include <query/detail/call.hpp>

namespace query {

template <class K, class T> class Group;

namespace check {

template <class T> inline constexpr bool is_group = false;
template <class K, class T> inline constexpr bool is_group<Group<K, T>> = true;

struct with_call { void operator()(); };
template <class F> struct both_call : F, with_call {};
template <class F> inline constexpr bool has_call = !requires { &both_call<F>::operator(); };  // ambiguous where F has one, too
struct any_argument { template <class X> any_argument(const X&); };  // NOLINT: implicit, it stands for every row
template <class> using any_argument_for = any_argument;
template <class F, class... Row> struct beside : F {
  using F::operator();
  void operator()(any_argument_for<Row>...);
};
// Do F's parameters fit, whatever its body is? What fits and cannot be called has a body that does not compile, which the compiler
// has reported: there is nothing to add. Found without a look at the body: the call is ambiguous with an operator() that takes
// worse arguments of a better object.
template <class F, class... Row> inline constexpr bool fits = false;
template <class F, class... Row> requires(std::is_class_v<F> && !std::is_final_v<F> && has_call<F>)
inline constexpr bool fits<F, Row...> = !requires(beside<F, Row...>& f, const Row&... row) { f(row...); };
// To clang a function whose body has failed fits nothing any more: whether it does has to be known first.
template <bool, class F, class... X> inline constexpr bool invocable_then = detail::is_callable<F, X...>;
// A pointer to a member is invocable and has no f(row).
template <class F, class... Row>
inline constexpr bool can_call = invocable_then<fits<F, Row...>, const F&, const Row&...> && !std::is_member_pointer_v<F>;
template <class F, class... Row> inline constexpr bool fails_inside = !can_call<F, Row...> && fits<F, Row...>;
// The same of arguments that are handed on as they are: states, lists. An `auto&` takes no state that is a temporary.
template <class F, class... X> inline constexpr bool fits_as = false;
template <class F, class... X> requires(std::is_class_v<F> && !std::is_final_v<F> && has_call<F>)
inline constexpr bool fits_as<F, X...> = !requires(beside<F, X...>& f) { f(std::declval<X>()...); };
template <class F, class... X> inline constexpr bool can_take = invocable_then<fits_as<F, X...>, const F&, X...>;
template <class F, class... X> inline constexpr bool fails_on = !can_take<F, X...> && fits_as<F, X...>;
// Does f(x...) give an R, or what becomes one?
template <class R, class F, class... X> constexpr bool gives() {
  if constexpr (can_call<F, X...>) return std::is_invocable_r_v<R, const F&, const X&...>;
  else return false;
}
// Is what f gives what a verb inside it gave after its error?
template <class F, class... X> constexpr bool gives_error() {
  if constexpr (can_call<F, X...>) return std::is_same_v<std::remove_cvref_t<std::invoke_result_t<const F&, const X&...>>, after_error>;
  else return false;
}
// Is F a function of the row and its number? One that can do without the number, as by a default argument, never gets it.
template <class F, class Row> constexpr bool needs_number() {
  if constexpr (fits<F, Row>) return false;
  else if constexpr (can_call<F, Row>) return false;
  else return can_call<F, Row, std::int64_t> || fails_inside<F, Row, std::int64_t>;
}
template <class F, class Row> inline constexpr bool takes_number = needs_number<F, Row>();
// Does F take `Row&`?
template <class F, class... Row> inline constexpr bool changes = false;
template <class F, class... Row> requires(!can_call<F, Row...> && !fits<F, Row...> && !std::is_member_pointer_v<F>)
inline constexpr bool changes<F, Row...> = std::is_invocable_v<const F&, Row&...>;
// Is a part of these rows empty where an outer join found no match?
template <class Row> inline constexpr bool may_lack_match = ir::is_optional_v<Row>;
template <class A, class B> inline constexpr bool may_lack_match<std::pair<A, B>> = ir::is_optional_v<A> || ir::is_optional_v<B>;
template <class F, class... Row> constexpr bool gives_value() {
  if constexpr (can_call<F, Row...>) return !std::is_void_v<std::invoke_result_t<const F&, const Row&...>>;
  else return false;
}
// A predicate gives bool, or what passes for one. Numbers, pointers and optionals, which an `if` takes too, say nothing of what is
// asked of them.
template <class R> inline constexpr bool decides = std::is_same_v<R, bool> || (std::is_class_v<R> && std::is_convertible_v<R, bool>);
template <class V> struct without_null { using type = V; };
template <class V> struct without_null<std::optional<V>> { using type = V; };
template <class V> using without_null_t = typename without_null<V>::type;
// Not __int128, which GNU's C++ calls an integer: sums have 64 bits.
template <class V> inline constexpr bool is_number =
    std::is_arithmetic_v<without_null_t<V>> && !(std::is_integral_v<without_null_t<V>> && sizeof(without_null_t<V>) > 8);
template <class V> inline constexpr bool is_number_array = false;
template <class E, std::size_t N> inline constexpr bool is_number_array<std::array<E, N>> = std::is_arithmetic_v<E>;
template <class V> concept less_than = requires(const V& a, const V& b) { { a < b } -> std::convertible_to<bool>; };
template <class V> concept equals = requires(const V& a, const V& b) { { a == b } -> std::convertible_to<bool>; };
template <class A, class B> concept comparable = requires(const A& a, const B& b) { a == b; };
template <class R> concept row_range = requires(R& r) { *r.begin(); ++r.begin() == r.end(); } || requires(R& r) { *r.begin(); r.end(); };
template <class X> inline constexpr bool is_query_v = requires(const X& x) { x.to_pipe(); x.run_settings(); typename X::row; };
template <class X> struct row_of { using type = after_error; };
template <class X> requires is_query_v<X> struct row_of<X> { using type = typename X::row; };
template <class X> using row_of_t = typename row_of<X>::type;
// A state of integers would cut off the fraction of what it is given, row after row, and one of 32 bits the upper half of a sum that its
// function makes with 64. (A sum of narrower ones is an int, whatever they are.)
template <class S, class R> inline constexpr bool cuts_off =
    std::is_integral_v<S> && !std::is_same_v<S, bool> &&
    (std::is_floating_point_v<R> || (std::is_integral_v<R> && sizeof(R) > sizeof(int) && sizeof(R) > sizeof(S)));
template <class S, class F, class... X> constexpr bool gives_state() {
  if constexpr (!can_take<F, X...>) return false;
  else if constexpr (!std::is_invocable_r_v<S, const F&, X...>) return false;
  else return !cuts_off<S, std::remove_cvref_t<std::invoke_result_t<const F&, X...>>>;
}
template <class S, class U, class Row> inline constexpr bool updates = gives_state<S, U, S, const Row&>();
template <class S, class C> inline constexpr bool combines = gives_state<S, C, S, S>();

// A QUERY_RECORD with a mistake is an error of its own, so rows of it are not refused a second time.
template <class T> inline constexpr bool said_or_described = ir::described_v<T> || detail::has_meta<T>;

// A value that stands for a row of T: 2.5 is none of integers, nor of optional ones.
template <class X, class T>
inline constexpr bool becomes_row =
    std::is_convertible_v<const X&, T> && !(std::is_floating_point_v<without_null_t<X>> && std::is_integral_v<without_null_t<T>>);

// Is T a std::variant with one U? Its header is the user's to include: holds_alternative and get_if are found beside T.
template <class U, class T> inline constexpr bool has_alternative = false;
template <class U, template <class...> class V, class... A> requires requires(const V<A...>& v) { holds_alternative<U>(v); }
inline constexpr bool has_alternative<U, V<A...>> = (std::is_same_v<A, U> + ... + 0) == 1;

// Does this compare two keys?
template <class Equal, class K> inline constexpr bool compares = gives<bool, Equal, K, K>();

// Is this a key of rows of any type, [](auto t) { return t.qty; }, in the place of an equality?
template <class F> inline constexpr bool is_key = fits<F, with_call> && !fits<F, with_call, with_call>;

// Does an equality stand where the hash must?
template <class Hash, class K> constexpr bool forgotten() {
  if constexpr (fits<Hash, K>) return false;
  else if constexpr (can_call<Hash, K>) return false;
  else return compares<Hash, K>;
}

// Does this order keys, or the values of keys that may be null? A null never reaches it: where nulls go is the verb's to say.
template <class Less, class K> struct orders : std::bool_constant<gives<bool, Less, K, K>()> {};
template <class Less, class K> struct orders<Less, std::optional<K>>
    : std::disjunction<std::bool_constant<gives<bool, Less, std::optional<K>, std::optional<K>>()>, orders<Less, K>> {};
template <class Less, class K> constexpr bool order_fails() {
  if constexpr (orders<Less, K>::value) return false;
  else return fails_inside<Less, K, K> || fails_inside<Less, without_null_t<K>, without_null_t<K>>;
}

// An order of rows in the place of a function of one row: min(less).
template <class Less, class T> constexpr bool is_order() {
  if constexpr (!std::is_class_v<Less> && !std::is_pointer_v<Less>) return false;
  else if constexpr (fits<Less, T>) return false;
  else return orders<Less, T>::value || order_fails<Less, T>();
}
template <class Less, class T> concept order_of_rows = is_order<Less, T>();
// Of aggregate_by: is the seed a function of the key?
template <class S, class K> concept seed_of_key = std::is_class_v<S> && (fits<S, K> || can_call<S, K>);

// Does R hold a pointer to a Row or to a part of one? Rows end with the call that they are made for.
template <class U, class Row> constexpr bool is_part_of() {
  using T = std::remove_cvref_t<Row>;
  if constexpr (std::is_same_v<U, T> || detail::is_row_view<U>) return true;
  else if constexpr (record<T>) return is_part_of<U, typename meta<T>::types>();
  else if constexpr (ir::is_tuple_v<T>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (is_part_of<U, std::tuple_element_t<I, T>>() || ...);
    }(std::make_index_sequence<std::tuple_size_v<T>>{});
  else if constexpr (ir::is_array_v<T>) return is_part_of<U, typename ir::array_traits<T>::element>();
  else if constexpr (ir::is_optional_v<T> || ir::is_list_v<T>) return is_part_of<U, typename T::value_type>();
  else return false;
}
template <class R, class... Row> inline constexpr bool points_into = false;
template <class U, class... Row> requires(!std::is_pointer_v<Row> && ...)
inline constexpr bool points_into<U*, Row...> = !std::is_same_v<std::remove_cv_t<U>, char> &&
                                                (is_part_of<std::remove_cv_t<U>, Row>() || ...);
// Iterators that are classes: t.marks.begin().
template <class It, class... Row> requires(std::is_class_v<It> && requires(const It& i) { typename It::iterator_category; *i; })
inline constexpr bool points_into<It, Row...> =
    std::is_lvalue_reference_v<decltype(*std::declval<const It&>())> &&
    (is_part_of<std::conditional_t<std::is_same_v<typename It::value_type, char>, std::string, typename It::value_type>, Row>() || ...);
template <class R, class... Row> inline constexpr bool points_into<std::optional<R>, Row...> = points_into<R, Row...>;
template <class R, class... Row> requires(ir::is_list_v<R> || ir::is_array_v<R>)
inline constexpr bool points_into<R, Row...> = points_into<typename R::value_type, Row...>;
template <class A, class B, class... Row>
inline constexpr bool points_into<std::pair<A, B>, Row...> = points_into<A, Row...> || points_into<B, Row...>;
template <class... E, class... Row> inline constexpr bool points_into<std::tuple<E...>, Row...> = (points_into<E, Row...> || ...);
template <class F, class... Row> constexpr bool gives_pointer() {
  if constexpr (!gives_value<F, Row...>()) return false;
  else return points_into<std::remove_cvref_t<detail::given_by<F, Row...>>, Row...>;
}
// The result function of a state made of rows of T.
template <class F, class S, class T> constexpr bool result_points() {
  if constexpr (!gives_value<F, S>()) return false;
  else return points_into<std::remove_cvref_t<detail::given_by<F, S>>, T>;
}
template <class R> constexpr bool keeps_views();
// Does it give views of the state, which ends with the call?
template <class F, class S> constexpr bool result_keeps_views() {
  if constexpr (!gives_value<F, S>()) return false;
  else return !std::is_same_v<detail::result_of<F, S>, S> && keeps_views<detail::result_of<F, S>>();
}

// Does a result look at things that are not its own, where `stored` does not make values of it: std::set<std::string_view>,
// std::variant<int, std::span<int>>, a std::views::transform of a list?
template <class R> constexpr bool looks_elsewhere() {
  if constexpr (std::ranges::enable_view<R> && std::ranges::enable_borrowed_range<R> && requires(R& r) { *r.begin(); })
    return std::is_lvalue_reference_v<decltype(*std::declval<R&>().begin())>;
  else return !std::is_pointer_v<R> && !std::is_array_v<R> && !ir::is_optional_v<R> && !ir::is_tuple_v<R> && detail::stored_as_other<R>;
}
template <class R> constexpr bool keeps_views();
template <class R> concept holds_nothing = requires { sizeof(R); } && std::is_empty_v<R>;  // such as std::less<std::string_view>
template <class R> inline constexpr bool holds_views = false;
template <template <class...> class C, class... A>
inline constexpr bool holds_views<C<A...>> = !holds_nothing<C<A...>> && !ir::is_optional_v<C<A...>> && !ir::is_tuple_v<C<A...>> &&
                                            !ir::is_list_v<C<A...>> &&
                                            ((looks_elsewhere<std::remove_cv_t<A>>() || keeps_views<std::remove_cv_t<A>>()) || ...);
template <template <class, auto> class C, class A, auto N>
inline constexpr bool holds_views<C<A, N>> = std::ranges::enable_view<C<A, N>> && looks_elsewhere<std::remove_cv_t<A>>();
template <class R> constexpr bool keeps_views() {
  if constexpr (std::is_reference_v<R> || !std::is_class_v<R>) return false;
  else if constexpr (ir::is_tuple_v<R>)
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return (keeps_views<std::remove_cvref_t<std::tuple_element_t<I, R>>>() || ...);
    }(std::make_index_sequence<std::tuple_size_v<R>>{});
  else if constexpr (ir::is_array_v<R> || ir::is_optional_v<R> || ir::is_list_v<R>) return keeps_views<typename R::value_type>();
  else return looks_elsewhere<R>() || holds_views<R>;
}

}  // namespace check
}  // namespace query
