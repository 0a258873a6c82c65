// Records with operators of their own. A traced row has other types than the record, so operators of the plain record do not
// take it: where there is one, the trace gives up and the function stays native, instead of computing something else.
// Operators that take every form of the row, as members in QUERY_MEMBERS do and templates may, trace like other functions.
//
//   struct C { double re, im; friend C operator*(C a, C b); };    // [](auto r) { return (r.c * r.c).re; } is opaque
#pragma once

#include <query/detail/call.hpp>
#include <query/detail/traced_row.hpp>

// Names that hide those of the library, so that only argument-dependent lookup finds operators: the record's own. Written as calls:
// of operators clang 14 also asks those visible where the question comes from, which are the library's own.
namespace query_own_operators {
struct none {};
#define QUERY_DETAIL_OWN(name, sign)                                                                     \
  void operator sign(none, none);                                                                        \
  template <class A, class B> concept name = requires(const A& a, const B& b) { a.operator sign(b); } || \
                                             requires(const A& a, const B& b) { operator sign(a, b); };
QUERY_DETAIL_OWN(has_add, +)
QUERY_DETAIL_OWN(has_sub, -)
QUERY_DETAIL_OWN(has_mul, *)
QUERY_DETAIL_OWN(has_div, /)
QUERY_DETAIL_OWN(has_mod, %)
#undef QUERY_DETAIL_OWN
// Comparisons: the same, of which the library has none for records.
#define QUERY_DETAIL_OWN(name, sign) template <class A, class B> concept name = requires(const A& a, const B& b) { a sign b; };
QUERY_DETAIL_OWN(has_eq, ==)
QUERY_DETAIL_OWN(has_ne, !=)
QUERY_DETAIL_OWN(has_lt, <)
QUERY_DETAIL_OWN(has_le, <=)
QUERY_DETAIL_OWN(has_gt, >)
QUERY_DETAIL_OWN(has_ge, >=)
#undef QUERY_DETAIL_OWN
void operator-(none);
template <class A> concept has_negate = requires(const A& a) { a.operator-(); } || requires(const A& a) { operator-(a); };
}  // namespace query_own_operators

namespace query::detail {

// The record or array of records behind a traced value or a view of columns.
template <class X> struct plain_operand { using type = held_t<X>; };
template <class X> requires requires { typename X::query_row_type; } struct plain_operand<X> { using type = typename X::query_row_type; };
template <class X> using plain_operand_t = typename plain_operand<std::remove_cvref_t<X>>::type;

// The same with records as views, a form of the row that only operators for all forms take.
template <class X> struct view_operand { using type = plain_operand_t<X>; };
template <class X> requires record<plain_operand_t<X>> struct view_operand<X> { using type = row_view<plain_operand_t<X>>; };
template <class X> using view_operand_t = typename view_operand<std::remove_cvref_t<X>>::type;

template <class T> inline constexpr bool holds_record = record<T>;
template <class E, std::size_t N> inline constexpr bool holds_record<std::array<E, N>> = holds_record<E>;
// Operands among which a traced record, or a traced array of records, is.
template <class X> inline constexpr bool traced_record = is_twin_v<X> && holds_record<plain_operand_t<X>>;

// What a function that gave up would have gone on with: the twin of the result, so that the rest of the function compiles.
template <class R> struct given_up { using type = R; };
template <class R> requires(!std::is_same_v<R, bool> && ir::described_v<R>) struct given_up<R> { using type = twin_t<R>; };
template <class R> using given_up_t = typename given_up<std::remove_cvref_t<R>>::type;

template <class R> [[noreturn]] R has_own_operator(const char* sign) {
  ir::give_up(std::string("the record has its own operator") + sign + ", which takes no traced row");
}

// Dates compare as records do: by year, month and day.
template <class X> concept traced_date = is_twin_v<X> && ir::date<plain_operand_t<X>>;
template <class A, class B> concept traced_dates = (traced_date<A> || traced_date<B>) && ir::date<plain_operand_t<A>> &&
                                                   ir::date<plain_operand_t<B>>;
#define QUERY_DETAIL_DATES(sign, name)                                                                                  \
  template <class A, class B> requires traced_dates<A, B> bool operator sign(const A& a, const B& b) {                  \
    return ir::decide(binary(ir::op::name, ir::describe<bool>(), to_node(a), to_node(b)));                              \
  }
QUERY_DETAIL_DATES(==, eq) QUERY_DETAIL_DATES(!=, ne) QUERY_DETAIL_DATES(<, lt)
QUERY_DETAIL_DATES(<=, le) QUERY_DETAIL_DATES(>, gt) QUERY_DETAIL_DATES(>=, ge)
#undef QUERY_DETAIL_DATES
template <class T, class X> T plain_date(tag<T>, const X&) { became_plain<T>(); }

// Found by argument-dependent lookup: the twins of records are templates over detail::to_twin. Return types are deduced:
// clang 14 looks at a declared one before the constraint.
#define QUERY_DETAIL_GIVE_UP(name, sign)                                                                                \
  template <class A, class B> concept generic_##name = (record<plain_operand_t<A>> || record<plain_operand_t<B>>) &&    \
                                                       query_own_operators::name<view_operand_t<A>, view_operand_t<B>>; \
  template <class A, class B> concept own_##name = (traced_record<A> || traced_record<B>) &&                            \
                                                   query_own_operators::name<plain_operand_t<A>, plain_operand_t<B>> && \
                                                   !generic_##name<A, B> && !traced_dates<A, B>;                        \
  template <class A, class B> requires own_##name<A, B> auto operator sign(const A&, const B&) {                        \
    using R = decltype(std::declval<const plain_operand_t<A>&>() sign std::declval<const plain_operand_t<B>&>());       \
    return has_own_operator<given_up_t<R>>(#sign);                                                                      \
  }
QUERY_DETAIL_GIVE_UP(has_add, +)
QUERY_DETAIL_GIVE_UP(has_sub, -)
QUERY_DETAIL_GIVE_UP(has_mul, *)
QUERY_DETAIL_GIVE_UP(has_div, /)
QUERY_DETAIL_GIVE_UP(has_mod, %)
QUERY_DETAIL_GIVE_UP(has_eq, ==)
QUERY_DETAIL_GIVE_UP(has_ne, !=)
QUERY_DETAIL_GIVE_UP(has_lt, <)
QUERY_DETAIL_GIVE_UP(has_le, <=)
QUERY_DETAIL_GIVE_UP(has_gt, >)
QUERY_DETAIL_GIVE_UP(has_ge, >=)
#undef QUERY_DETAIL_GIVE_UP
template <class A> concept generic_has_negate = record<plain_operand_t<A>> && query_own_operators::has_negate<view_operand_t<A>>;
template <class A> concept own_has_negate = traced_record<A> && query_own_operators::has_negate<plain_operand_t<A>> &&
                                            !generic_has_negate<A>;
template <class A> requires own_has_negate<A> auto operator-(const A&) {
  return has_own_operator<given_up_t<decltype(-std::declval<const plain_operand_t<A>&>())>>("-");
}

// Views of columns among the operands become rows for the record's own operator.
template <class... X> inline constexpr bool viewed = (is_row_view<X> || ...);
template <class X> auto plain_row(const X& x) {
  if constexpr (is_row_view<X>) return row_of(x);
  else return x;
}

}  // namespace query::detail
