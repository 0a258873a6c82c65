// Fields of rows that aggregates give: g.arg_max(f).price, g.first().name.
//
// While a group function is recorded, such a row is a struct of the row's member names whose fields are aggregates themselves: each
// keeps that field of the row, not the row. The whole stands for the aggregate that it was made of.
//
//   auto row = agg::with_fields<Trade>(agg::arg_extreme<true, F>{{}, f});    // row.price: row_part<arg_extreme<true, F>, Trade, double>
#pragma once

#include <optional>

#include <query/detail/aggregate_expression.hpp>

namespace query::agg {

// A field of type U of the record Row that A gives.
template <class A, class Row, class U> struct row_part : expression {
  std::optional<A> of;  // empty only until with_fields() has filled it
  std::size_t offset = 0;

  template <class T> static constexpr bool needs_rows = A::template needs_rows<T>;
  template <class T> using state = typename A::template state_of_part<T, U>;
  template <class S, class T> QUERY_INLINE void step(S& s, const T& t) const {
    of->step_part(s, t, [at = offset](const Row& row) QUERY_INLINE -> const U& {
      return *reinterpret_cast<const U*>(reinterpret_cast<const std::byte*>(&row) + at);
    });
  }
  template <class S> static void merge(S& a, S& b) { A::merge(a, b); }
  template <class T, class K, class S> auto value(const K&, S& s) const { return A::part(s); }
};

// A record in the record is a struct of its fields in turn.
template <class A, class Row> struct parts_of {
  template <class U> struct part { using type = row_part<A, Row, U>; };
  template <record U> struct part<U> { using type = typename meta<U>::template shape<part>; };
};

template <class X> inline constexpr bool is_row_part = false;
template <class A, class Row, class U> inline constexpr bool is_row_part<row_part<A, Row, U>> = true;
template <class Form> inline constexpr bool makes_row_parts = false;
template <template <class> class W> inline constexpr bool makes_row_parts<detail::row_form<W>> = is_row_part<typename W<int>::type>;
template <class X> requires requires { typename X::query_form; }
inline constexpr bool is_row_shape<X> = makes_row_parts<typename X::query_form>;

template <class A, class Shape> void fill_parts(Shape& shape, const A& a, std::size_t offset) {
  using R = typename Shape::query_row_type;
  auto parts = meta<R>::fields(shape);
  const auto fill = [&](auto& part, std::size_t at) {
    if constexpr (is_row_shape<std::remove_reference_t<decltype(part)>>) {
      fill_parts(part, a, at);
    } else {
      part.of.emplace(a);
      part.offset = at;
    }
  };
  [&]<std::size_t... I>(std::index_sequence<I...>) { (fill(std::get<I>(parts), offset + meta<R>::offsets[I]), ...); }(field_indices<R>{});
}

// What an aggregate that gives a Row is while it is recorded; itself, if the row has no fields by name.
template <class Row, class A> auto with_fields(A a) {
  if constexpr (record<Row>) {
    typename meta<Row>::template shape<parts_of<A, Row>::template part> shape;
    fill_parts(shape, a, 0);
    return shape;
  } else {
    return a;
  }
}

// The aggregate that such a row, or a record in it, stands for as a whole.
template <class R, class A, class Row, class U> auto whole_from(const row_part<A, Row, U>& first) {
  if constexpr (std::is_same_v<R, Row>) return *first.of;
  else return row_part<A, Row, R>{{}, first.of, first.offset};
}
template <class R, class X> auto whole_from(const X& shape) {
  const auto parts = meta<typename X::query_row_type>::fields(shape);
  return whole_from<R>(std::get<0>(parts));
}
template <class X> auto whole_of(const X& shape) { return whole_from<typename X::query_row_type>(shape); }

template <class X> requires is_row_shape<X> struct operand_of<X> {
  using whole = decltype(whole_of(std::declval<const X&>()));
  struct type : whole {
    explicit type(const X& x) : whole(whole_of(x)) {}
  };
};

}  // namespace query::agg

namespace query::detail {
template <agg::aggregate X> inline constexpr bool is_deferred<X> = true;
template <class X> requires agg::is_row_shape<X> inline constexpr bool is_deferred<X> = true;
}  // namespace query::detail
